#include "worker/program_streams.h"

#include <fcntl.h>

#include <cerrno>

namespace worker {

base::Result<std::array<int, 3>> ProgramStreams::descriptors() {
  if (!out_) {
    if (const auto made = make(); !made) return made.error();
  }
  return std::array<int, 3>{file_ ? file_.get() : in_.get(), out_.get(), err_.get()};
}

bool ProgramStreams::reuse(base::FdPair& outputs) {
  if (has_body_ || file_ || out_) return false;
  outputs_ = std::move(outputs);
  return true;
}

base::Result<base::UniqueFd> ProgramStreams::body() {
  if (const auto made = make_body_pipe(); !made) return made.error();
  const int fd = has_body_ ? in_.get() : file_.get();
  if (fd < 0) return base::UniqueFd();
  base::UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy) return base::errno_error("cannot copy a descriptor", errno);
  return copy;
}

base::Status ProgramStreams::make_body_pipe() {
  if (!has_body_ || in_) return base::Done{};
  auto in = base::make_pipe(base::NonblockingEnd::writing);
  if (!in) return in.error();
  in_ = std::move(in.value().first);
  body_end_ = std::move(in.value().second);
  return base::Done{};
}

base::Status ProgramStreams::make() {
  auto out = base::make_pipe(base::NonblockingEnd::reading);
  if (!out) return out.error();
  auto err = base::make_pipe(base::NonblockingEnd::reading);
  if (!err) return err.error();
  if (const auto made = make_body_pipe(); !made) return made.error();
  if (!in_ && !file_) {
    auto in = base::make_empty_input();
    if (!in) return in.error();
    in_ = in.take();
  }
  outputs_ = {std::move(out.value().first), std::move(err.value().first)};
  out_ = std::move(out.value().second);
  err_ = std::move(err.value().second);
  return base::Done{};
}

}  // namespace worker
