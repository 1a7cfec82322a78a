// Finds out what a running program is doing, using a separate process: `cgibridge-stack PID`.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "loop/fd_watch.h"
#include "loop/timer.h"
#include "worker/processes.h"

namespace journal {

// One examination of one program. Owned by the journal. Destroying it ends the reader, which lets
// go of the program as soon as it has put it back.
class StackReader {
 public:
  static constexpr std::size_t kTextBytesMax = 64 * 1024;
  static constexpr std::chrono::seconds kPatience{20};

  // on_over: runs once, on the loop; may destroy this only at the end of the turn. text: the
  // stack's lines, or why there are none.
  StackReader(loop::Loop& loop, worker::Processes& processes,
              std::function<void(const std::string& text)> on_over);
  ~StackReader();
  StackReader(const StackReader&) = delete;
  StackReader& operator=(const StackReader&) = delete;

  // file: the reader's.
  base::Status start(pid_t program, const std::string& file);
  bool over() const { return over_; }

 private:
  void read();
  void finish();

  loop::Loop& loop_;
  worker::Processes& processes_;
  std::function<void(const std::string&)> on_over_;
  base::UniqueFd fd_;
  std::string text_;
  pid_t pid_ = -1;
  bool over_ = false;
  std::unique_ptr<loop::FdWatch> watch_;
  loop::Timer patience_;
};

// Next to this process's executable, where the build and the installation put it.
std::string stack_reader_path();

}  // namespace journal
