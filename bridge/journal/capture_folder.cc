#include "journal/capture_folder.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <vector>

#include "base/unique_fd.h"
#include "base/write_all.h"

namespace journal {
namespace {

constexpr std::string_view kEnding = ".capture.json";
constexpr std::string_view kUnfinished = ".new";  // suffix until the file is complete
constexpr std::size_t kLabelBytesMax = 64;

std::string plain_label(std::string_view label) {
  std::string out;
  for (const char c : label.substr(0, kLabelBytesMax)) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_';
    out += fine ? c : '-';
  }
  return out;
}

struct Kept {
  std::string path;  // begins with its time, so the smallest is the oldest
  std::uint64_t bytes;
};

std::vector<Kept> kept_in(const std::string& folder) {
  std::vector<Kept> found;
  std::error_code ignored;
  for (const auto& file : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string path = file.path().string();
    std::string_view whole = path;
    if (whole.ends_with(kUnfinished)) whole.remove_suffix(kUnfinished.size());
    if (!whole.ends_with(kEnding)) continue;
    const std::uint64_t bytes = file.file_size(ignored);
    found.push_back({path, ignored ? 0 : bytes});
  }
  std::sort(found.begin(), found.end(),
            [](const Kept& a, const Kept& b) { return a.path < b.path; });
  return found;
}

}  // namespace

base::Status CaptureFolder::use(const std::string& folder) {
  if (folder == folder_) return base::Done{};
  folder_.clear();
  if (folder.empty()) return base::Done{};
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return base::errno_error("cannot make " + folder, errno);
  }
  struct stat found;
  if (::lstat(folder.c_str(), &found) != 0) return base::errno_error(folder, errno);
  if (!S_ISDIR(found.st_mode)) return base::Error{folder + " is no folder"};
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return base::Error{folder + " may be written to by others than its owner"};
  }
  folder_ = folder;
  return base::Done{};
}

base::Result<std::string> CaptureFolder::add(std::string_view text, std::string_view label,
                                             std::int64_t unix_ms, const Limits& limits) {
  if (text.size() > limits.bytes) {
    return base::Error{fmt::format("{} bytes are more than all captures may have", text.size())};
  }
  make_room(text.size(), limits);
  const std::string path =
      fmt::format("{}/{:%Y%m%dT%H%M%S}.{:03}-{:06}-{}{}", folder_,
                  fmt::gmtime(static_cast<std::time_t>(unix_ms / 1000)), unix_ms % 1000,
                  number_++ % 1'000'000, plain_label(label), kEnding);
  const std::string unfinished = path + std::string(kUnfinished);
  base::UniqueFd fd(
      ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return base::errno_error("cannot make " + unfinished, errno);
  if (const auto written = base::write_all(fd.get(), text, unfinished); !written) {
    ::unlink(unfinished.c_str());
    return written.error();
  }
  if (::rename(unfinished.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(unfinished.c_str());
    return base::errno_error("cannot rename " + unfinished, error);
  }
  return path;
}

void CaptureFolder::make_room(std::uint64_t bytes, const Limits& limits) {
  const std::vector<Kept> kept = kept_in(folder_);
  std::uint64_t all = bytes;
  for (const Kept& one : kept) all += one.bytes;
  std::size_t count = kept.size() + 1;
  for (const Kept& oldest : kept) {
    if (count <= limits.files && all <= limits.bytes) return;
    ::unlink(oldest.path.c_str());
    all -= oldest.bytes;
    count -= 1;
  }
}

}  // namespace journal
