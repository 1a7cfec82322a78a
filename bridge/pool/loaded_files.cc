#include "pool/loaded_files.h"

#include <sys/stat.h>

namespace pool {
namespace {

// All zero for a file that is not there, which differs from any that was.
router::FileIdentity look_at(const std::string& path) {
  struct stat file;
  return ::stat(path.c_str(), &file) == 0 ? router::identity_of(file) : router::FileIdentity{};
}

}  // namespace

void LoadedFiles::add(std::string_view paths) {
  while (!paths.empty()) {
    const std::string path(paths.substr(0, paths.find('\n')));
    paths.remove_prefix(std::min(path.size() + 1, paths.size()));
    if (path.starts_with('/') && files_.size() < kFilesMax) files_.emplace(path, look_at(path));
  }
}

std::string LoadedFiles::changed(base::TimePoint now) {
  if (now - checked_ < kCheckInterval) return {};
  checked_ = now;
  for (const auto& [path, identity] : files_) {
    if (look_at(path) != identity) return path;
  }
  return {};
}

}  // namespace pool
