#include "loop/folder_watch.h"

#include "loop/loop_impl.h"

namespace loop {
namespace {
using FsHusk = Husk<uv_fs_event_t, std::function<void(const std::string&)>>;
}

FolderWatch::FolderWatch(Loop& loop, std::function<void(const std::string&)> on_change)
    : on_change_(std::move(on_change)) {
  auto* husk = new_husk<uv_fs_event_t>(&on_change_);
  uv_fs_event_init(&loop.impl().uv, &husk->uv);
  husk_ = husk;
}

FolderWatch::~FolderWatch() {
  close_husk(static_cast<FsHusk*>(husk_));
}

base::Status FolderWatch::start(const std::string& folder) {
  const auto on_uv = [](uv_fs_event_t* handle, const char* name, int, int) {
    auto* owner = static_cast<FsHusk*>(handle->data)->owner;
    if (owner != nullptr) (*owner)(name == nullptr ? std::string() : std::string(name));
  };
  const int outcome = uv_fs_event_start(&static_cast<FsHusk*>(husk_)->uv, on_uv, folder.c_str(), 0);
  if (outcome < 0) return base::Error{"cannot watch " + folder + ": " + uv_strerror(outcome)};
  return base::Done{};
}

}  // namespace loop
