#include "limits/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <set>

#include "base/unique_fd.h"

namespace limits {

std::string read_small_file(const std::string& path) {
  const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> piece;
  while (file) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

base::Status write_small_file(const std::string& path, std::string_view text) {
  const base::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) < 0) {
    return base::errno_error("cannot write \"" + std::string(text) + "\" to " + path, errno);
  }
  return base::Done{};
}

Cgroup::Cgroup(std::vector<Branch> branches) : branches_(std::move(branches)) {
  // A v1 tree accepts a single thread, which avoids a kernel lock that makes every fork and exit on
  // the machine wait (cgroup_threadgroup_rwsem).
  for (const Branch& branch : branches_) {
    if (branch.version == Version::v1) {
      tasks_files_.push_back(branch.folder + "/tasks");
    } else {
      unified_ = branch.folder;
      unified_procs_ = branch.folder + "/cgroup.procs";
    }
  }
}

Cgroup Cgroup::below(std::string_view name) const {
  std::vector<Branch> branches = branches_;
  for (Branch& branch : branches) branch.folder += "/" + std::string(name);
  return Cgroup(std::move(branches));
}

base::Status Cgroup::make() {
  bool made = false;
  for (const Branch& branch : branches_) {
    if (::mkdir(branch.folder.c_str(), 0755) == 0) {
      made = true;
    } else if (errno != EEXIST) {
      return base::errno_error("cannot make the cgroup " + branch.folder, errno);
    }
  }
  if (made && held_.any()) (void)hold(held_);
  return base::Done{};
}

std::vector<std::string> Cgroup::hold(const config::CgroupLimits& limits) {
  held_ = limits;
  std::vector<std::string> problems;
  for (const Branch& branch : branches_) {
    for (const Controller controller : branch.controllers) {
      for (const FileText& text : texts_of(branch.version, controller, limits)) {
        const auto written =
            write_small_file(branch.folder + "/" + std::string(text.file), text.text);
        if (!written && text.needed) problems.push_back(written.error().message);
      }
    }
  }
  return problems;
}

bool Cgroup::remove() const {
  bool gone = true;
  for (const Branch& branch : branches_) {
    if (::rmdir(branch.folder.c_str()) != 0 && errno != ENOENT) gone = false;
  }
  return gone;
}

std::vector<std::string> Cgroup::names_below() const {
  std::set<std::string> names;
  for (const Branch& branch : branches_) {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(branch.folder.c_str()), ::closedir);
    if (folder == nullptr) continue;
    while (const dirent* entry = ::readdir(folder.get())) {
      const std::string name = entry->d_name;
      if (entry->d_type == DT_DIR && name != "." && name != "..") names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

Figures Cgroup::figures() const {
  Figures figures;
  for (const Branch& branch : branches_) {
    for (const Controller controller : branch.controllers) {
      for (const FigureSource& source : figure_sources()) {
        if (source.version != branch.version || source.controller != controller) continue;
        const std::string text = read_small_file(branch.folder + "/" + std::string(source.file));
        figures.*source.figure = number_in(text, source.key).value_or(0) / source.divisor;
      }
    }
  }
  return figures;
}

}  // namespace limits
