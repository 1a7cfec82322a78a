#include "migrate/config_files.h"
#include "migrate/include_stack.h"
#include "migrate/nginx_text.h"

namespace migrate {
namespace {

class NginxReader {
 public:
  NginxReader(Tree& tree, ConfigFiles& files, const ReadLimits& limits, std::string folder)
      : tree_(tree), files_(files), stack_(tree, files, limits), folder_(std::move(folder)) {}

  std::vector<Directive> read(const std::string& path, const Directive* from) {
    const auto file = stack_.enter(path, from);
    if (!file) return {};
    Parsed parsed = parse_nginx(tree_.files[*file].text);
    if (!parsed.why.empty()) {
      tree_.problems.push_back(
          {tree_.files[*file].path, parsed.line, parsed.why + "; the file is left out"});
    }
    follow(parsed.directives, *file);
    stack_.leave();
    return std::move(parsed.directives);
  }

 private:
  void follow(std::vector<Directive>& directives, std::size_t file) {
    for (Directive& directive : directives) {
      directive.file = file;
      follow(directive.children, file);
      if (directive.name == "include" && directive.args.size() == 1) include(directive);
    }
  }

  void include(Directive& directive) {
    const std::string path = below_folder(folder_, directive.args[0]);
    const bool is_pattern = path.find_first_of("*?[") != path.npos;
    for (const std::string& name : is_pattern ? files_.matching(path) : std::vector{path}) {
      for (Directive& included : read(name, &directive)) {
        directive.children.push_back(std::move(included));
      }
    }
  }

  Tree& tree_;
  ConfigFiles& files_;
  IncludeStack stack_;
  const std::string folder_;
};

}  // namespace

std::string below_folder(const std::string& folder, const std::string& path) {
  return path.starts_with('/') ? path : folder + "/" + path;
}

Tree read_nginx(const std::string& main, ConfigFiles& files, const ReadLimits& limits) {
  Tree tree;
  const std::string folder = main.substr(0, std::min(main.rfind('/'), main.size()));
  tree.directives = NginxReader(tree, files, limits, folder).read(main, nullptr);
  return tree;
}

}  // namespace migrate
