// Reports when a path comes to lead to another file, or when its file is written.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "loop/fd_watch.h"

namespace loop {

// Watches the file itself, each link and folder on the way to it and, while the file is missing,
// the folder in which it should appear; changes to files beside it do not wake anybody. Reported
// are: the file is written, replaced, removed or created again, a link on the way leads elsewhere,
// a folder on the way is moved. Not reported are: what a mount hides or reveals, and what another
// machine does on a network file system.
class PathWatch {
 public:
  // on_change runs on the loop, and may destroy the watch. watching: an error if the kernel gives
  // no more watches; nothing more is reported then, until start() is called again.
  PathWatch(Loop& loop, std::function<void(const base::Status& watching)> on_change);
  ~PathWatch();
  PathWatch(const PathWatch&) = delete;
  PathWatch& operator=(const PathWatch&) = delete;

  // The file need not exist. Fails if the kernel gives no watch (the limit on inotify instances or
  // watches is reached, or the file may not be read).
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
  bool found_ = false;   // when last checked
  std::string awaited_;  // the name that should appear in its folder
  std::unique_ptr<FdWatch> events_;
};

}  // namespace loop
