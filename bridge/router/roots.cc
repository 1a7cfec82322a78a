#include "router/roots.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace router {

Roots::Roots(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    char real_path[PATH_MAX];
    struct stat found = {};
    if (!path.starts_with('/')) {
      problems_.push_back("root " + path + ": not an absolute path; left out");
    } else if (!realpath(path.c_str(), real_path) || stat(real_path, &found) != 0) {
      problems_.push_back("root " + path + ": " + std::strerror(errno) + "; left out");
    } else if (S_ISDIR(found.st_mode)) {
      folders_.emplace_back(real_path);
    } else if (S_ISREG(found.st_mode)) {
      files_.emplace_back(real_path);
    } else {
      problems_.push_back("root " + path + ": neither a folder nor a file; left out");
    }
  }
}

bool Roots::contain(std::string_view real_path) const {
  if (std::find(files_.begin(), files_.end(), real_path) != files_.end()) return true;
  return std::any_of(folders_.begin(), folders_.end(), [&](const std::string& folder) {
    if (folder == "/") return real_path.size() > 1;
    return real_path.size() > folder.size() && real_path.starts_with(folder) &&
           real_path[folder.size()] == '/';
  });
}

}  // namespace router
