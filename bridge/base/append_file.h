// A file that lines are appended to, and that may be rotated under it.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/unique_fd.h"

namespace base {

// Never waits for room: what a full disk (or a pipe that nobody empties) does not take is dropped
// and counted, and a line that it took half of is ended before the next one. Writers in other
// processes may append to the same file.
class AppendFile {
 public:
  enum class Outcome { written, dropped };

  // Makes the file if it is not there, readable by its owner and group. On failure what was open
  // stays open.
  Status open(const std::string& path);
  // The same path again, which may be another file by now.
  Status reopen() { return open(path_); }
  void close();

  bool is_open() const { return bool(fd_); }
  const std::string& path() const { return path_; }

  // lines: whole ones, each with its end.
  Outcome append(ByteView lines);
  // Why the last append() was dropped.
  int error_number() const { return error_number_; }
  std::uint64_t lines() const { return lines_; }      // written so far
  std::uint64_t dropped() const { return dropped_; }  // lines

 private:
  std::string path_;
  UniqueFd fd_;
  bool cut_ = false;  // the last line in the file has no end
  int error_number_ = 0;
  std::uint64_t lines_ = 0, dropped_ = 0;
};

}  // namespace base
