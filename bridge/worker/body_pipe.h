// A request's body on its way into the program's standard input.
#pragma once

#include <functional>
#include <memory>

#include "base/out_buffer.h"
#include "base/unique_fd.h"
#include "loop/fd_watch.h"

namespace worker {

// Takes the body's pieces as they arrive, even before there is a program to read them, and never
// passes on more than CONTENT_LENGTH. A program may read nothing, or stop reading: what it does not
// read is dropped.
class BodyPipe {
 public:
  // Above this, the connection is not read any further until the program has taken some.
  static constexpr std::size_t kHeldMax = 64 * base::kKiB;

  // bytes_max: CONTENT_LENGTH, how many bytes the program may see.
  // on_room runs on the loop when full() has become false again.
  BodyPipe(loop::Loop& loop, std::uint64_t bytes_max, std::function<void()> on_room);

  // The program's end is ready: writing starts. writing_end, which is our end, must not block.
  void connect(base::UniqueFd writing_end);

  void write(base::ByteView piece);
  // The body is complete.
  void end();
  // Nobody reads any more: what is held, and what still arrives, is dropped.
  void close();

  bool full() const { return held_.size() >= kHeldMax; }
  std::uint64_t received() const { return received_; }

 private:
  void close_pipe();
  void flush();
  void write_held();
  void set_asked();

  loop::Loop& loop_;
  std::uint64_t rest_;  // bytes that the program may still see
  std::function<void()> on_room_;
  std::uint64_t received_ = 0;
  bool ended_ = false;
  bool closed_ = false;
  base::OutBuffer held_;
  base::UniqueFd fd_;
  std::unique_ptr<loop::FdWatch> watch_;  // made only when the pipe is full
};

}  // namespace worker
