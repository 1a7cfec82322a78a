// From the path that a web server means to the program that answers it.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cgi/refusal.h"
#include "router/roots.h"

namespace router {

// Tells one version of a file from another.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  off_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  mode_t mode = 0;
  uid_t owner = 0;
  gid_t group = 0;

  bool operator==(const FileIdentity&) const = default;
};

FileIdentity identity_of(const struct stat& file);

struct Resolution {
  std::string program;    // the real path: absolute, no links
  std::string script;     // the leading part of the given path that named it
  std::string path_info;  // the rest of the given path: "" or "/..."
  FileIdentity identity;
};

// Finds the first regular file on a path and decides whether it may run. The file system is asked
// with blocking calls: one stat() for a program seen before, some ten for a new one. Not
// thread-safe.
//
// Seen programs are remembered by the path that named them (without path info, so clients cannot
// fill the memory with inventions), least recently used forgotten first. What is remembered counts
// only while stat() of that path shows the very same file: a changed, replaced or relinked file is
// resolved anew. A folder above it that lost its x bit shows in stat() as well.
class Resolver {
 public:
  // Whether a file, by its real path, is run by an interpreter that the settings name: then it
  // needs no x bit. Asked when a program is new; another answer needs another Resolver.
  using HasInterpreter = std::function<bool(const std::string& program)>;

  explicit Resolver(const std::vector<std::string>& roots, HasInterpreter has_interpreter = {},
                    std::size_t programs_max = 4096);
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // path: as cgi::script_path() gives it; only read during the call.
  // Refuses with 404: nothing there, too long. With 403: outside the roots, "." or ".." in the
  // path, a folder, anything but a regular file, no x bit, not allowed to look.
  cgi::OrRefusal<Resolution> resolve(std::string_view path);

  const Roots& roots() const { return roots_; }

 private:
  struct Seen {
    std::string script;
    std::string program;
    FileIdentity identity;
  };
  using SeenList = std::list<Seen>;  // most recently used first

  const Seen* recall(std::string_view path);
  cgi::OrRefusal<Resolution> look_up(std::string_view path);
  std::optional<cgi::Refusal> refuse_file(const std::string& path, mode_t mode) const;
  void remember(const Resolution& resolution);
  void forget(SeenList::iterator seen);

  Roots roots_;
  HasInterpreter has_interpreter_;
  std::size_t programs_max_;
  SeenList seen_;
  std::unordered_map<std::string_view, SeenList::iterator> by_script_;  // views of Seen::script
  std::size_t longest_script_ = 0;  // no longer prefix of a path can have been seen
};

}  // namespace router
