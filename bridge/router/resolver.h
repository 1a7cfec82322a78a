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
#include "loop/clock.h"
#include "router/path_walk.h"
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

// What the path of a program leads to.
struct ProgramFile {
  std::string path;  // the real path: absolute, no links
  FileIdentity identity;
  std::vector<LinkOnPath> links;  // on the program's path; one made anew is another one

  bool operator==(const ProgramFile&) const = default;
};

struct Resolution {
  std::string program;    // the path that it runs by: absolute, without doubled slashes
  ProgramFile file;       // what is executed, or what its interpreter reads
  std::string script;     // the leading part of the given path that named it
  std::string path_info;  // the rest of the given path: "" or "/..."
};

// Whether links in the roots may lead out of them, if nobody but root can have made or can move
// them.
enum class RootLinks { stay_inside, may_leave };

// Finds the first regular file on a path and decides whether it may run: that is asked of the real
// file. The file system is asked with blocking calls: three for a program seen before, four and one
// for each link if there are links on its path, some ten for a new one. Not thread-safe.
//
// A program runs by the path that named it, links and all, if those links can be trusted to lead
// to the same place when its interpreter opens the script: each lies in the roots, or can only be
// moved by root or the bridge's own user, and none is made anew while it is looked at (which takes
// up to 50 ms for a link that is younger than that). Else by its real path.
//
// Seen programs are remembered by the path that named them (without path info, so clients cannot
// fill the memory with inventions), least recently used forgotten first. What is remembered counts
// only while that path leads to the very same file, by the same links, at the same place: a
// changed, replaced, moved or relinked one is resolved anew. A folder above it that lost its x bit
// shows as well.
class Resolver {
 public:
  // Whether a program, by its path, is run by an interpreter that the settings name: then it needs
  // no x bit. Asked when a program is new; another answer needs another Resolver.
  using HasInterpreter = std::function<bool(const std::string& program)>;

  // clock: outlives it.
  Resolver(const loop::Clock& clock, const std::vector<std::string>& roots,
           HasInterpreter has_interpreter = {}, std::size_t programs_max = 4096,
           RootLinks root_links = RootLinks::stay_inside);
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
    ProgramFile file;
    std::vector<LinkOnPath> links;  // on script; file's are none if it runs by its real path
  };
  using SeenList = std::list<Seen>;  // most recently used first

  const Seen* recall(std::string_view path);
  cgi::OrRefusal<Resolution> look_up(std::string_view path);
  std::optional<cgi::Refusal> refuse_place(const std::string& script, const PathWalk& walk) const;
  std::optional<cgi::Refusal> refuse_file(const std::string& program, const std::string& path,
                                          mode_t mode) const;
  bool may_wait(base::TimePoint now);
  void note_changes(const Seen& seen);
  bool may_run_by_name(const PathWalk& walk) const;
  bool lies_in_a_root(const LinkOnPath& link) const;
  void remember(const Resolution& resolution, std::vector<LinkOnPath> links);
  void forget(SeenList::iterator seen);

  const loop::Clock& clock_;
  Roots roots_;
  HasInterpreter has_interpreter_;
  std::size_t programs_max_;
  RootLinks root_links_;
  std::vector<base::TimePoint> waits_;  // when links were too young, lately
  base::TimePoint restless_until_{};    // a link was made anew while it was looked at
  struct Change {
    LinkOnPath link;
    base::TimePoint seen;
  };
  std::vector<Change> changes_;  // of links that were known, lately
  SeenList seen_;
  std::unordered_map<std::string_view, SeenList::iterator> by_script_;  // views of Seen::script
  std::size_t longest_script_ = 0;  // no longer prefix of a path can have been seen
};

}  // namespace router
