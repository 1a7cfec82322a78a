// The folders that programs may be in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace router {

// Nothing outside of these is ever run. Roots are resolved once, when this is made: a root that is
// a link means the folder that it pointed to then.
class Roots {
 public:
  explicit Roots(const std::vector<std::string>& paths);

  // True if real_path, which holds no links, "." or "..", is below a root (not a root itself).
  bool contain(std::string_view real_path) const;

  // The resolved roots that exist.
  const std::vector<std::string>& folders() const { return folders_; }

  // One sentence for each root that was left out: missing, not a folder, not absolute.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<std::string> folders_;
  std::vector<std::string> problems_;
};

}  // namespace router
