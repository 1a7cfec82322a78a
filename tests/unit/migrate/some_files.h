// Configuration files that a test makes up.
#pragma once

#include <fnmatch.h>

#include <map>
#include <string>
#include <vector>

#include "migrate/config_files.h"

namespace migrate {

using Texts = std::map<std::string, std::string>;

class SomeFiles : public ConfigFiles {
 public:
  explicit SomeFiles(Texts texts) : texts_(std::move(texts)) {}

  base::Result<SourceFile> read(const std::string& path) override {
    const auto found = texts_.find(path);
    if (found == texts_.end()) return base::Error{"No such file or directory"};
    return SourceFile{.path = path, .text = found->second};
  }

  std::vector<std::string> matching(const std::string& pattern) override {
    std::vector<std::string> paths;
    for (const auto& [path, text] : texts_) {
      if (::fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME) == 0) paths.push_back(path);
    }
    return paths;
  }

  std::vector<std::string> below(const std::string& folder) override {
    std::vector<std::string> paths;
    for (const auto& [path, text] : texts_) {
      if (path.starts_with(folder + "/")) paths.push_back(path);
    }
    return paths;
  }

 private:
  Texts texts_;
};

// Names and words in brackets, one directive after another: "server[] {listen[80] }".
inline std::string outline_of_tree(const std::vector<Directive>& directives) {
  std::string text;
  for (const Directive& directive : directives) {
    text += (text.empty() ? "" : " ") + directive.name + "[";
    for (const std::string& arg : directive.args) {
      text += (&arg == &directive.args.front() ? "" : "|") + arg;
    }
    text += "]";
    if (directive.is_block || !directive.children.empty()) {
      text += "{" + outline_of_tree(directive.children) + "}";
    }
  }
  return text;
}

}  // namespace migrate
