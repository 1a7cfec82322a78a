#include "cli/adapters_folder.h"

#include "base/own_parts.h"
#include "router/elf_file.h"

namespace cli {

std::string adapters_folder() {
  const char* part = router::kHasCheckpoint ? "libcgibridge_checkpoint.so" : "cgibridge-step-down";
  return base::own_folder_with(part, {"../adapters", "../lib/cgibridge/adapters"}).string();
}

}  // namespace cli
