// A file to which lines are appended, and which may be rotated meanwhile.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/unique_fd.h"

namespace base {

// Never waits for space: lines that a full disk (or a pipe that nobody reads) does not accept are
// dropped and counted. A partly written line is ended before the next one is written, also if the
// file was reopened in between or another process left the line so. Other processes may append to
// the same file.
class AppendFile {
 public:
  enum class Outcome { written, dropped };

  // Creates the file if it is missing, readable by its owner and group. On failure the file that
  // was open stays open.
  Status open(const std::string& path);
  // Opens the same path again, which may now lead to another file.
  Status reopen() { return open(path_); }
  void close();

  bool is_open() const { return bool(fd_); }
  const std::string& path() const { return path_; }

  // lines: complete lines, each with its newline.
  Outcome append(ByteView lines);
  // The errno of the last append() that was dropped.
  int error_number() const { return error_number_; }
  std::uint64_t lines() const { return lines_; }      // written so far
  std::uint64_t dropped() const { return dropped_; }  // lines

 private:
  std::string path_;
  UniqueFd fd_;
  bool cut_ = false;  // the last line in the file has no newline
  int error_number_ = 0;
  std::uint64_t lines_ = 0, dropped_ = 0;
};

}  // namespace base
