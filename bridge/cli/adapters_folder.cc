#include "cli/adapters_folder.h"

#include "base/own_parts.h"

namespace cli {

std::string adapters_folder() {
  return base::own_folder_with("libcgibridge_checkpoint.so",
                               {"../adapters", "../lib/cgibridge/adapters"})
      .string();
}

}  // namespace cli
