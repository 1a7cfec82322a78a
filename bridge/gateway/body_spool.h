// A body whose length was not announced, kept until it is complete.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/unique_fd.h"

namespace gateway {

// RFC 3875 §4.1.2: a program that gets a body gets its CONTENT_LENGTH. If the web server passes on
// a chunked body as it arrives (Apache's mod_proxy_fcgi does), the length is known only at its end.
// The body waits in a file without a name, in /tmp or, where that has none, in memory; limits.body
// bounds it.
class BodySpool {
 public:
  static base::Result<BodySpool> make();

  base::Status write(base::ByteView piece);
  std::uint64_t size() const { return size_; }

  // The whole body, to be read from its start: the program's standard input.
  base::UniqueFd take();

 private:
  explicit BodySpool(base::UniqueFd fd) : fd_(std::move(fd)) {}

  base::UniqueFd fd_;
  std::uint64_t size_ = 0;
};

}  // namespace gateway
