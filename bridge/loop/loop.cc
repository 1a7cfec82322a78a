#include "loop/loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

#include "base/assert.h"
#include "loop/loop_impl.h"

namespace loop {

Loop::Loop() : impl_(std::make_unique<Impl>()) {
  BRIDGE_ASSERT(uv_loop_init(&impl_->uv) == 0);
  uv_prepare_init(&impl_->uv, &impl_->turn_end);
  impl_->turn_end.data = impl_.get();
  // The prepare phase stands right before the wait for events: the end of the turn before.
  uv_prepare_start(&impl_->turn_end,
                   [](uv_prepare_t* handle) { static_cast<Impl*>(handle->data)->run_deferred(); });
  impl_->epoll_fd = ::epoll_create1(EPOLL_CLOEXEC);
  BRIDGE_ASSERT(impl_->epoll_fd >= 0);
  BRIDGE_ASSERT(uv_poll_init(&impl_->uv, &impl_->epoll_ready, impl_->epoll_fd) == 0);
  impl_->epoll_ready.data = impl_.get();
  uv_poll_start(&impl_->epoll_ready, UV_READABLE, [](uv_poll_t* handle, int, int) {
    static_cast<Impl*>(handle->data)->dispatch_ready();
  });
}

Loop::~Loop() {
  uv_close(reinterpret_cast<uv_handle_t*>(&impl_->turn_end), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&impl_->epoll_ready), nullptr);
  uv_run(&impl_->uv, UV_RUN_DEFAULT);
  ::close(impl_->epoll_fd);
  BRIDGE_ASSERT(uv_loop_close(&impl_->uv) == 0);
}

void Loop::run() {
  uv_run(&impl_->uv, UV_RUN_DEFAULT);
}

void Loop::stop() {
  uv_stop(&impl_->uv);
}

void Loop::Impl::run_deferred() {
  // By index: work may schedule more, which lengthens the vector.
  for (std::size_t i = 0; i < pending.size(); ++i) {
    Deferred* deferred = pending[i];
    if (deferred == nullptr) continue;
    pending[i] = nullptr;
    deferred->scheduled_ = false;
    deferred->work_();
  }
  pending.clear();
}

Deferred::Deferred(Loop& loop, std::function<void()> work) : loop_(loop), work_(std::move(work)) {}

Deferred::~Deferred() {
  if (!scheduled_) return;
  auto& pending = loop_.impl().pending;
  std::replace(pending.begin(), pending.end(), this, static_cast<Deferred*>(nullptr));
}

void Deferred::schedule() {
  if (scheduled_) return;
  scheduled_ = true;
  loop_.impl().pending.push_back(this);
}

}  // namespace loop
