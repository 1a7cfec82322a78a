// Opens files that others have named.
#pragma once

#include <string>

#include "base/unique_fd.h"

namespace router {

// Opens a regular file for reading, and nothing else: a script's first line may name anything,
// opening a FIFO would wait, and opening a device might do something. Nor does it wait for somebody
// who holds a lease on the file. None, with errno, if it cannot be opened; EACCES for what is not
// regular, as from execve(2).
base::UniqueFd open_regular(const std::string& path);

}  // namespace router
