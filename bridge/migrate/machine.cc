#include "migrate/machine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/unique_fd.h"

namespace migrate {
namespace {

namespace fs = std::filesystem;

base::UniqueFd open_to_read(const std::string& path) {
  // A pipe or a device must not make it wait.
  return base::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

std::string real_path(const std::string& path) {
  std::error_code failed;
  const fs::path real = fs::canonical(path, failed);
  return failed ? "" : real.string();
}

bool begins_like_a_program(const std::string& path) {
  std::array<char, 4> start{};
  const base::UniqueFd fd = open_to_read(path);
  const ssize_t got = fd ? ::read(fd.get(), start.data(), start.size()) : -1;
  // A file that may be executed but not read is an executable.
  if (!fd) return errno == EACCES;
  return got >= 2 && ((start[0] == '#' && start[1] == '!') || std::memcmp(start.data(),
                                                                          "\x7f"
                                                                          "ELF",
                                                                          4) == 0);
}

bool is_program(const std::string& path) {
  struct ::stat facts = {};
  return ::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
         (facts.st_mode & 0111) != 0 && begins_like_a_program(path);
}

class Walk {
 public:
  Walk(const Place& place, std::size_t number, const WalkLimits& limits,
       std::vector<FoundProgram>& programs)
      : place_(place), number_(number), limits_(limits), programs_(programs) {}

  PlaceFiles run() {
    const std::string& path = place_.programs.path;
    const bool is_pattern = path.find_first_of("*?[") != path.npos;
    for (const std::string& name : is_pattern ? MachineFiles().matching(path) : std::vector{path}) {
      start(name);
    }
    if (found_.roots.empty() && found_.problem.empty()) {
      found_.problem = "there is no " + path.substr(0, path.find_last_not_of('/') + 1);
    }
    return std::move(found_);
  }

 private:
  // path is a program or a folder, or how the names of some begin.
  void start(const std::string& path) {
    std::error_code failed;
    if (is_file(path)) {
      found_.roots.push_back(path);
      add(path);
    } else if (fs::is_directory(path, failed)) {
      const std::string folder =
          path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
      found_.roots.push_back(folder);
      look_into(folder, "", 0);
    } else if (!place_.programs.whole && path.find('/') != path.npos && !path.ends_with('/')) {
      const fs::path above = fs::path(path).parent_path();
      if (above == "/" || !fs::is_directory(above, failed)) return;
      found_.roots.push_back(above);
      look_into(above, fs::path(path).filename(), 0);
    }
  }

  void look_into(const fs::path& folder, const std::string& beginning, unsigned depth) {
    if (depth > limits_.depth) return stop("folders are nested too deeply");
    std::error_code failed;
    std::vector<fs::path> paths;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
         entry.increment(failed)) {
      if (++entries_ > limits_.entries) return stop("there are too many files");
      const std::string name = entry->path().filename();
      if (!name.starts_with('.') && name.starts_with(beginning)) paths.push_back(entry->path());
    }
    if (failed) stop(fmt::format("{}: {}", folder.string(), failed.message()));
    std::ranges::sort(paths);
    for (const fs::path& path : paths) {
      const auto status = fs::symlink_status(path, failed);
      if (fs::is_directory(status)) {
        look_into(path, "", depth + 1);
      } else if (has_suffix(path)) {
        add(path);
      }
    }
  }

  bool has_suffix(const std::string& path) const {
    const auto& suffixes = place_.programs.suffixes;
    return suffixes.empty() || std::ranges::any_of(suffixes, [&](const std::string& suffix) {
             return path.ends_with(suffix);
           });
  }

  void add(const std::string& path) {
    if (!is_program(path)) return;
    if (count_ == limits_.programs) return stop("there are too many programs");
    ++count_;
    const auto known = std::ranges::find(programs_, path, &FoundProgram::path);
    if (known == programs_.end()) {
      programs_.push_back({.path = path, .real = real_path(path), .places = {number_}});
    } else if (known->places.back() != number_) {
      known->places.push_back(number_);
    }
  }

  void stop(std::string why) {
    if (found_.problem.empty()) found_.problem = "not all are listed: " + std::move(why);
  }

  const Place& place_;
  const std::size_t number_;
  const WalkLimits& limits_;
  std::vector<FoundProgram>& programs_;
  PlaceFiles found_;
  std::size_t entries_ = 0, count_ = 0;
};

}  // namespace

base::Result<SourceFile> MachineFiles::read(const std::string& path) {
  const base::UniqueFd fd = open_to_read(path);
  if (!fd) return base::Error{std::strerror(errno)};
  struct ::stat facts = {};
  if (::fstat(fd.get(), &facts) != 0) return base::Error{std::strerror(errno)};
  if (!S_ISREG(facts.st_mode)) return base::Error{"it is no file"};
  SourceFile file{.path = real_path(path), .text = {}};
  std::array<char, 65536> bytes;
  for (ssize_t got = 1; got > 0 && file.text.size() <= kBytesMax;) {
    got = ::read(fd.get(), bytes.data(), bytes.size());
    if (got < 0) return base::Error{std::strerror(errno)};
    file.text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  if (file.text.size() > kBytesMax) return base::Error{"it is larger than 1 MiB"};
  return file;
}

std::vector<std::string> MachineFiles::matching(const std::string& pattern) {
  ::glob_t found = {};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  return paths;
}

std::vector<std::string> MachineFiles::below(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code failed;
  if (!fs::is_directory(folder, failed)) return paths;
  for (fs::recursive_directory_iterator entry(folder, failed), end;
       !failed && entry != end && paths.size() < ReadLimits{}.files; entry.increment(failed)) {
    if (is_file(entry->path())) paths.push_back(entry->path());
  }
  std::ranges::sort(paths);
  return paths;
}

bool is_file(const std::string& path) {
  struct ::stat facts = {};
  return ::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

PlaceFiles find_programs(const Place& place, std::size_t number, const WalkLimits& limits,
                         std::vector<FoundProgram>& programs) {
  return Walk(place, number, limits, programs).run();
}

}  // namespace migrate
