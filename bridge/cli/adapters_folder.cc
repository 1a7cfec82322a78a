#include "cli/adapters_folder.h"

#include <filesystem>

namespace cli {

std::string adapters_folder() {
  std::error_code ignored;
  const std::filesystem::path here =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  std::filesystem::path candidate;
  for (const char* relative : {"../adapters", "../lib/cgibridge/adapters"}) {
    candidate = (here / relative).lexically_normal();
    if (std::filesystem::exists(candidate / "libcgibridge_checkpoint.so", ignored)) break;
  }
  return candidate.string();
}

}  // namespace cli
