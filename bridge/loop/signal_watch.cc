#include "loop/signal_watch.h"

#include "base/assert.h"
#include "loop/loop_impl.h"

namespace loop {
namespace {
using SignalHusk = Husk<uv_signal_t, std::function<void()>>;
}

SignalWatch::SignalWatch(Loop& loop, int signal_number, std::function<void()> on_signal)
    : on_signal_(std::move(on_signal)) {
  auto* husk = new_husk<uv_signal_t>(&on_signal_);
  uv_signal_init(&loop.impl().uv, &husk->uv);
  const auto on_uv = [](uv_signal_t* handle, int) {
    Loop::Impl::of(*handle).note_event();
    auto* owner = static_cast<SignalHusk*>(handle->data)->owner;
    if (owner != nullptr) (*owner)();
  };
  BRIDGE_ASSERT(uv_signal_start(&husk->uv, on_uv, signal_number) == 0);
  husk_ = husk;
}

SignalWatch::~SignalWatch() {
  close_husk(static_cast<SignalHusk*>(husk_));
}

}  // namespace loop
