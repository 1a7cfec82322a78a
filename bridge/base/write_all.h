// Writes the whole of something to a file.
#pragma once

#include "base/bytes.h"
#include "base/result.h"

namespace base {

// All of bytes into fd, a file or a memfd: nothing that a write could find full. what names the
// deed in the error.
Status write_all(int fd, ByteView bytes, const std::string& what);

}  // namespace base
