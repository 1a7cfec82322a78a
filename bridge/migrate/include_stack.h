// What the readers of both servers share: which files have been read, and which are being read.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "migrate/config_files.h"

namespace migrate {

// Owned by a reader for the time of one reading; tree and files must outlive it.
class IncludeStack {
 public:
  IncludeStack(Tree& tree, ConfigFiles& files, const ReadLimits& limits)
      : tree_(tree), files_(files), limits_(limits) {}

  // Reads a file and notes it as the innermost one. Returns its place in the tree's files; nullopt:
  // it is not read, which is a problem of the directive that includes it (or of the file itself, if
  // from is nullptr).
  std::optional<std::size_t> enter(const std::string& path, const Directive* from) {
    if (open_.size() >= limits_.depth) return refuse(path, from, "includes are nested too deeply");
    if (tree_.files.size() >= limits_.files) {
      return refuse(path, from, fmt::format("{} files have been read already", limits_.files));
    }
    auto read = files_.read(path);
    if (!read) return refuse(path, from, read.error().message);
    const auto is_open = [&](std::size_t file) {
      return tree_.files[file].path == read.value().path;
    };
    if (std::ranges::any_of(open_, is_open)) return refuse(path, from, "it includes itself");
    tree_.files.push_back(read.take());
    open_.push_back(tree_.files.size() - 1);
    return open_.back();
  }

  void leave() { open_.pop_back(); }

  void complain(const Directive& about, std::string why) {
    tree_.problems.push_back({tree_.files[about.file].path, about.line, std::move(why)});
  }

 private:
  std::optional<std::size_t> refuse(const std::string& path, const Directive* from,
                                    const std::string& why) {
    if (from == nullptr) {
      tree_.problems.push_back({path, 0, "it cannot be read: " + why});
    } else {
      complain(*from, fmt::format("{} cannot be read, and is left out: {}", path, why));
    }
    return std::nullopt;
  }

  Tree& tree_;
  ConfigFiles& files_;
  const ReadLimits limits_;
  std::vector<std::size_t> open_;
};

}  // namespace migrate
