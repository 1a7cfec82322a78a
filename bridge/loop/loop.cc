#include "loop/loop.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "loop/fd_watch.h"
#include "loop/loop_impl.h"
#include "loop/without_rings.h"

namespace loop {

namespace {

uv_handle_t* handle_of(auto& handle) {
  return reinterpret_cast<uv_handle_t*>(&handle);
}

int make_loop(uv_loop_t& uv) {
  const WithoutRings quietly;
  return uv_loop_init(&uv);
}

}  // namespace

Loop::Loop(const Clock& clock)
    : clock_(clock), now_(clock.now()), impl_(std::make_unique<Impl>(*this)) {}

Loop::~Loop() {
  for (uv_handle_t* handle : {handle_of(impl_->before_wait), handle_of(impl_->after_events),
                              handle_of(impl_->edges), handle_of(impl_->deadline)}) {
    uv_close(handle, nullptr);
  }
  uv_run(&impl_->uv, UV_RUN_DEFAULT);
  BRIDGE_ASSERT(impl_->timers.next_due() == std::nullopt);
  BRIDGE_ASSERT(uv_loop_close(&impl_->uv) == 0);
}

void Loop::run() {
  impl_->stopping = false;
  while (!impl_->stopping) impl_->take_turn(UV_RUN_ONCE);
}

void Loop::stop() {
  impl_->stopping = true;
}

bool Loop::turn() {
  impl_->stopping = false;
  impl_->take_turn(UV_RUN_NOWAIT);
  return impl_->was_busy || !impl_->pending.empty();
}

std::optional<base::TimePoint> Loop::next_due() const {
  return impl_->timers.next_due();
}

Loop::Impl::Impl(Loop& loop) : owner(loop) {
  BRIDGE_ASSERT(make_loop(uv) == 0);
  uv.data = this;
  uv_prepare_init(&uv, &before_wait);
  uv_check_init(&uv, &after_events);
  uv_timer_init(&uv, &deadline);
  edges_fd = base::UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  BRIDGE_ASSERT(edges_fd && uv_poll_init(&uv, &edges, edges_fd.get()) == 0);
  uv_poll_start(&edges, UV_READABLE, [](uv_poll_t* handle, int, int) {
    of(*handle).note_event();
    of(*handle).tell_of_edges();
  });
  uv_prepare_start(&before_wait, [](uv_prepare_t* handle) { of(*handle).end_turn(); });
  uv_check_start(&after_events, [](uv_check_t* handle) { of(*handle).run_timers(); });
}

// Work that is pending from before the turn is done at the time of now.
void Loop::Impl::take_turn(uv_run_mode mode) {
  was_busy = false;
  owner.now_ = owner.clock_.now();
  uv_run(&uv, mode);
}

void Loop::Impl::end_turn() {
  was_busy |= run_deferred();
  time_is_read = false;
  if (stopping) return uv_stop(&uv);  // it looks for events, but does not wait
  arm_deadline();
}

bool Loop::Impl::run_deferred() {
  const bool any = !pending.empty();
  // By index: work may schedule more, which lengthens the vector.
  for (std::size_t i = 0; i < pending.size(); ++i) {
    Deferred* deferred = pending[i];
    if (deferred == nullptr) continue;
    pending[i] = nullptr;
    deferred->scheduled_ = false;
    deferred->work_();
  }
  pending.clear();
  return any;
}

// Left alone if the earliest timer has become later since: then it ends for nothing, once, instead
// of being set in each turn for timers that hardly ever become due.
void Loop::Impl::arm_deadline() {
  const auto due = timers.next_due();
  if (!due || (armed && *armed <= *due)) return;
  armed = due;
  const auto left = std::chrono::ceil<base::Duration>(*due - owner.clock_.now()).count();
  const auto ended = [](uv_timer_t* timer) { of(*timer).armed.reset(); };
  // It counts from the time that libuv has read.
  uv_update_time(&uv);
  uv_timer_start(&deadline, ended, static_cast<std::uint64_t>(std::max<std::int64_t>(left, 0)), 0);
}

void Loop::Impl::note_event() {
  was_busy = true;
  read_time();
}

// One by one, because each may destroy others.
void Loop::Impl::tell_of_edges() {
  constexpr int kMost = 64;
  epoll_event event;
  for (int i = 0; i < kMost && ::epoll_wait(edges_fd.get(), &event, 1, 0) == 1; ++i) {
    static_cast<FdWatch*>(event.data.ptr)->on_edge(event.events);
  }
}

void Loop::Impl::read_time() {
  if (!std::exchange(time_is_read, true)) owner.now_ = owner.clock_.now();
}

// After the events: what arrived in time must not be reported as late.
void Loop::Impl::run_timers() {
  read_time();
  was_busy |= timers.run_due(owner.now_);
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
