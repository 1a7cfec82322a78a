// Writes all of something to a file.
#pragma once

#include "base/bytes.h"
#include "base/result.h"

namespace base {

// Writes all of bytes to fd: a file or a memfd, never something that may be full, such as a pipe.
// what names the action in the error message.
Status write_all(int fd, ByteView bytes, const std::string& what);

}  // namespace base
