// Tells when the file that a path leads to becomes another, or is written.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "loop/fd_watch.h"

namespace loop {

// Watches the file itself, each link on the way to it and, as long as it is not there, the folder
// in which it is looked for: what happens to other files beside it wakes nobody. A file that is
// written, replaced, removed, made again, a link on the way that leads elsewhere, a folder that is
// moved: all are told. Not told: what a mount hides or shows, and what another machine does on a
// network file system.
class PathWatch {
 public:
  // on_change runs on the loop, and may destroy the watch. watching: an error if the kernel gives
  // no more watches; nothing is told any more then, until start().
  PathWatch(Loop& loop, std::function<void(const base::Status& watching)> on_change);
  ~PathWatch();
  PathWatch(const PathWatch&) = delete;
  PathWatch& operator=(const PathWatch&) = delete;

  // The file need not be there. Fails where the kernel gives no watch (the limit of inotify
  // instances or watches, no right to read the file).
  base::Status start(const std::string& path);

 private:
  class Walk;

  base::Status arm();
  void on_events();
  enum class Heard { nothing, written, moved };
  Heard read_events();

  Loop& loop_;
  std::function<void(const base::Status&)> on_change_;
  std::string path_;
  base::UniqueFd inotify_;
  bool found_ = false;   // at the last look
  std::string awaited_;  // what shall appear in its folder
  std::unique_ptr<FdWatch> events_;
};

}  // namespace loop
