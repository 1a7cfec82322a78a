#include "base/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace base {
namespace {

std::uint64_t lines_in(ByteView text) {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

bool same_file(int a, int b) {
  struct stat of_a = {}, of_b = {};
  return ::fstat(a, &of_a) == 0 && ::fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
         of_a.st_ino == of_b.st_ino;
}

enum class LastLine { whole, cut, not_known };

LastLine last_line_of(const std::string& path, int open_for_writing) {
  struct stat file = {};
  if (::fstat(open_for_writing, &file) != 0 || !S_ISREG(file.st_mode)) return LastLine::not_known;
  if (file.st_size == 0) return LastLine::whole;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  char last = 0;
  if (!fd || !same_file(fd.get(), open_for_writing) ||
      ::pread(fd.get(), &last, 1, file.st_size - 1) != 1) {
    return LastLine::not_known;
  }
  return last == '\n' ? LastLine::whole : LastLine::cut;
}

}  // namespace

Status AppendFile::open(const std::string& path) {
  // O_NONBLOCK is for pipes; it has no effect on a regular file.
  UniqueFd fd(::open(path.c_str(),
                     O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640));
  if (!fd) return errno_error("cannot open " + path, errno);
  // The disk may have become full before a rotation that left the file in place, or before this
  // process was started.
  const LastLine last_line = last_line_of(path, fd.get());
  const bool still_cut = cut_ && fd_ && same_file(fd_.get(), fd.get());
  cut_ = last_line == LastLine::not_known ? still_cut : last_line == LastLine::cut;
  fd_ = std::move(fd);
  path_ = path;
  return Done{};
}

void AppendFile::close() {
  fd_.reset();
  path_.clear();
}

AppendFile::Outcome AppendFile::append(ByteView lines) {
  while (!lines.empty()) {
    if (cut_ && ::write(fd_.get(), "\n", 1) == 1) cut_ = false;
    const ssize_t written = cut_ ? -1 : ::write(fd_.get(), lines.data(), lines.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      error_number_ = errno;
      dropped_ += lines_in(lines);
      return Outcome::dropped;
    }
    const ByteView taken = lines.substr(0, static_cast<std::size_t>(written));
    lines_ += lines_in(taken);
    lines.remove_prefix(taken.size());
    // The rest of a partly written line would not be a line, so it counts as dropped.
    if (taken.empty() || taken.ends_with('\n') || lines.empty()) continue;
    cut_ = true;
    dropped_ += 1;
    lines.remove_prefix(std::min(lines.find('\n'), lines.size() - 1) + 1);
    error_number_ = ENOSPC;
    if (lines.empty()) return Outcome::dropped;
  }
  return Outcome::written;
}

}  // namespace base
