#include <set>

#include "migrate/apache_text.h"
#include "migrate/config_files.h"
#include "migrate/include_stack.h"

namespace migrate {
namespace {

// Those that are part of the executable in Debian and Fedora.
constexpr const char* kBuiltIn[] = {"core.c",           "mod_so.c",      "http_core.c",
                                    "mod_log_config.c", "mod_logio.c",   "mod_version.c",
                                    "mod_unixd.c",      "mod_watchdog.c"};

class ApacheReader {
 public:
  ApacheReader(ApacheTree& tree, ConfigFiles& files, const ReadLimits& limits,
               const std::map<std::string, std::string>& variables)
      : tree_(tree), files_(files), stack_(tree, files, limits), environment_(variables) {
    for (const char* name : kBuiltIn) modules_.insert(name);
  }

  std::vector<Directive> read(const std::string& path, const Directive* from) {
    const auto file = stack_.enter(path, from);
    if (!file) return {};
    Parsed parsed = parse_apache(tree_.files[*file].text);
    if (!parsed.why.empty()) {
      tree_.problems.push_back(
          {tree_.files[*file].path, parsed.line, parsed.why + "; the file is left out"});
    }
    std::vector<Directive> done;
    evaluate(std::move(parsed.directives), *file, done);
    stack_.leave();
    return done;
  }

  std::vector<std::string> modules() const { return {modules_.begin(), modules_.end()}; }

 private:
  // In the order of the file, as Apache does: what a directive defines holds from there on.
  void evaluate(std::vector<Directive> directives, std::size_t file, std::vector<Directive>& into) {
    for (Directive& directive : directives) {
      directive.file = file;
      for (std::string& arg : directive.args) arg = with_values(arg);
      if (is_condition(directive)) {
        if (holds(directive)) evaluate(std::move(directive.children), file, into);
      } else if (same_name(directive.name, "Macro")) {
        stack_.complain(directive,
                        "macros (mod_macro) are not expanded; what uses this one is "
                        "missing here");
      } else {
        std::vector<Directive> children = std::move(directive.children);
        directive.children.clear();
        note(directive);
        evaluate(std::move(children), file, directive.children);
        include(directive);
        into.push_back(std::move(directive));
      }
    }
  }

  static bool is_condition(const Directive& directive) {
    return directive.is_block &&
           (same_name(directive.name, "IfModule") || same_name(directive.name, "IfDefine") ||
            same_name(directive.name, "IfVersion") || same_name(directive.name, "IfFile") ||
            same_name(directive.name, "IfDirective") || same_name(directive.name, "IfSection"));
  }

  // If a condition is not known, such as the version, both sides are read.
  bool holds(const Directive& condition) {
    if (condition.args.empty()) return false;
    std::string what = condition.args[0];
    const bool negated = what.starts_with('!');
    if (negated) what.erase(0, 1);
    if (same_name(condition.name, "IfModule")) return modules_.contains(what) != negated;
    if (same_name(condition.name, "IfDefine")) return defined_.contains(what) != negated;
    if (same_name(condition.name, "IfFile")) {
      return files_.matching(below_folder(tree_.server_root, what)).empty() == negated;
    }
    return true;
  }

  void note(const Directive& directive) {
    const std::vector<std::string>& args = directive.args;
    if (args.empty()) return;
    if (same_name(directive.name, "Define")) {
      defined_[args[0]] = args.size() > 1 ? args[1] : "";
    } else if (same_name(directive.name, "UnDefine")) {
      defined_.erase(args[0]);
    } else if (same_name(directive.name, "ServerRoot")) {
      tree_.server_root = args[0];
    } else if (same_name(directive.name, "LoadModule") && args.size() > 1) {
      // LoadModule cgid_module modules/mod_cgid.so: conditions use either name.
      std::string source = args[1].substr(args[1].rfind('/') + 1);
      modules_.insert(source.substr(0, source.rfind('.')) + ".c");
      modules_.insert(args[0]);
    }
  }

  void include(Directive& directive) {
    const bool optional = same_name(directive.name, "IncludeOptional");
    if ((!optional && !same_name(directive.name, "Include")) || directive.args.empty()) return;
    const std::string path = below_folder(tree_.server_root, directive.args[0]);
    std::vector<std::string> names;
    const bool is_pattern = path.find_first_of("*?[") != path.npos;
    for (const std::string& name : is_pattern ? files_.matching(path) : std::vector{path}) {
      std::vector<std::string> inside = files_.below(name);
      if (inside.empty()) inside = {name};
      names.insert(names.end(), inside.begin(), inside.end());
    }
    if (optional && !is_pattern && files_.matching(path).empty()) return;
    for (const std::string& name : names) {
      for (Directive& included : read(name, &directive)) {
        directive.children.push_back(std::move(included));
      }
    }
  }

  // ${NAME}, if it is known; otherwise it stays, as in Apache.
  std::string with_values(const std::string& arg) const {
    std::string text;
    for (std::size_t at = 0; at < arg.size();) {
      const std::size_t end = arg.compare(at, 2, "${") == 0 ? arg.find('}', at) : arg.npos;
      if (end == arg.npos) {
        text += arg[at++];
        continue;
      }
      const std::string name = arg.substr(at + 2, end - at - 2);
      const auto defined = defined_.find(name);
      const auto inherited = environment_.find(name);
      text += defined != defined_.end()         ? defined->second
              : inherited != environment_.end() ? inherited->second
                                                : arg.substr(at, end + 1 - at);
      at = end + 1;
    }
    return text;
  }

  ApacheTree& tree_;
  ConfigFiles& files_;
  IncludeStack stack_;
  const std::map<std::string, std::string>& environment_;
  std::map<std::string, std::string> defined_;
  std::set<std::string> modules_;
};

}  // namespace

ApacheTree read_apache(const std::string& main, ConfigFiles& files,
                       const std::map<std::string, std::string>& variables,
                       const ReadLimits& limits) {
  ApacheTree tree;
  tree.server_root = main.substr(0, std::min(main.rfind('/'), main.size()));
  if (tree.server_root.ends_with("/conf")) tree.server_root.resize(tree.server_root.size() - 5);
  ApacheReader reader(tree, files, limits, variables);
  tree.directives = reader.read(main, nullptr);
  tree.modules = reader.modules();
  return tree;
}

std::map<std::string, std::string> exported_variables(std::string_view text) {
  std::map<std::string, std::string> variables;
  constexpr std::string_view kExport = "export ", kSuffix = "$SUFFIX";
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const std::size_t equals = line.find('=');
    if (!line.starts_with(kExport) || equals == line.npos) continue;
    std::string value(line.substr(equals + 1));
    // Only a second instance of Apache has a suffix.
    if (value.ends_with(kSuffix)) value.resize(value.size() - kSuffix.size());
    if (value.size() > 1 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0]) {
      value = value.substr(1, value.size() - 2);
    }
    if (value.find_first_of("$`\\\"'; ") != value.npos) continue;
    variables.emplace(line.substr(kExport.size(), equals - kExport.size()), value);
  }
  return variables;
}

}  // namespace migrate
