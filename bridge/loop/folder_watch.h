// Tells when something in a folder changes: a file written, created, replaced or removed.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "loop/loop.h"

namespace loop {

class FolderWatch {
 public:
  // on_change gets the changed entry's name, or an empty one if the kernel does not say.
  FolderWatch(Loop& loop, std::function<void(const std::string& name)> on_change);
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  // Fails where the kernel gives no watch (a missing folder, the limit of inotify watches).
  base::Status start(const std::string& folder);

 private:
  void* husk_;
  std::function<void(const std::string&)> on_change_;
};

}  // namespace loop
