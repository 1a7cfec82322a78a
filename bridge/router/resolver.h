// From the path that a web server names to the program that answers it.
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
  std::vector<LinkOnPath> links;  // on the program's path; a remade one is a different link

  bool operator==(const ProgramFile&) const = default;
};

struct Resolution {
  std::string program;    // the path that it runs by: absolute, without doubled slashes
  ProgramFile file;       // what is executed, or what its interpreter reads
  std::string script;     // the leading part of the given path that named it
  std::string path_info;  // the rest of the given path: "" or "/..."
};

// Whether links in the roots may lead out of them, if only root can have made them or can move
// them.
enum class RootLinks { stay_inside, may_leave };

// Finds the first regular file on a path and decides, by the real file, whether it may run. The
// file system is queried with blocking calls: three for a program seen before, or four plus one for
// each link if there are links on its path, and about ten for a new one. Not thread-safe.
//
// A program runs by the path that named it, links and all, if those links can be trusted to lead
// to the same place when its interpreter opens the script: each is in the roots, or can only be
// moved by root or the bridge's own user, and none is remade while it is being checked (which takes
// up to 50 ms for a link younger than that). Otherwise it runs by its real path.
//
// Seen programs are remembered by the path that named them (without path info, so clients cannot
// fill the memory with inventions), least recently used forgotten first. A remembered program
// counts only while that path leads to the very same file, through the same links, at the same
// place: a changed, replaced, moved or relinked one is resolved again. A folder above it that lost
// its x bit is noticed too.
class Resolver {
 public:
  // Whether a program, given its path, is run by an interpreter that the settings name: then it
  // needs no x bit. Called when a program is new; if the answer changes, a new Resolver is needed.
  using HasInterpreter = std::function<bool(const std::string& program)>;

  // clock: outlives it.
  Resolver(const loop::Clock& clock, const std::vector<std::string>& roots,
           HasInterpreter has_interpreter = {}, std::size_t programs_max = 4096,
           RootLinks root_links = RootLinks::stay_inside);
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // path: as cgi::script_path() returns it; only read during the call.
  // Refuses with 404: nothing there, too long. With 403: outside the roots, "." or ".." in the
  // path, a folder, anything except a regular file, no x bit (which WebAssembly needs not), no
  // permission to look.
  cgi::OrRefusal<Resolution> resolve(std::string_view path);

  const Roots& roots() const { return roots_; }

 private:
  struct Seen {
    std::string script;
    std::string program;
    ProgramFile file;
    std::vector<LinkOnPath> links;  // on script; file has none if it runs by its real path
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
  std::vector<base::TimePoint> waits_;  // when links were too young recently
  base::TimePoint restless_until_{};    // a link was remade while it was being checked
  struct Change {
    LinkOnPath link;
    base::TimePoint seen;
  };
  std::vector<Change> changes_;  // recent changes of known links
  SeenList seen_;
  std::unordered_map<std::string_view, SeenList::iterator> by_script_;  // views of Seen::script
  std::size_t longest_script_ = 0;  // no longer prefix of a path can have been seen
};

}  // namespace router
