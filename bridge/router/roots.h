// The folders that programs may be in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace router {

// Nothing outside these is ever run. A root is a folder or a single file. Roots are resolved once,
// at construction: a root that is a link means what it pointed to then.
class Roots {
 public:
  explicit Roots(const std::vector<std::string>& paths);

  // True if real_path, which contains no links, "." or "..", is below a root, or is itself a root
  // that is a file.
  bool contain(std::string_view real_path) const;

  // The resolved roots that exist.
  const std::vector<std::string>& folders() const { return folders_; }
  const std::vector<std::string>& files() const { return files_; }

  // One sentence for each root that was left out: missing, neither a folder nor a file, or not
  // absolute.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<std::string> folders_;
  std::vector<std::string> files_;
  std::vector<std::string> problems_;
};

}  // namespace router
