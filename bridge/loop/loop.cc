#include "loop/loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/assert.h"
#include "loop/fd_watch.h"
#include "loop/loop_impl.h"

namespace loop {
namespace {

// The most events handled before timers and deferred work get their turn.
constexpr int kEventsPerTurn = 64;
// Marks an event of libuv's descriptor; no watch has this slot.
constexpr std::uint64_t kForLibuv = std::numeric_limits<std::uint64_t>::max();

}  // namespace

Loop::Loop(const Clock& clock) : clock_(clock), now_(clock.now()), impl_(std::make_unique<Impl>()) {
  BRIDGE_ASSERT(uv_loop_init(&impl_->uv) == 0);
  impl_->epoll_fd = ::epoll_create1(EPOLL_CLOEXEC);
  BRIDGE_ASSERT(impl_->epoll_fd >= 0);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kForLibuv;
  BRIDGE_ASSERT(::epoll_ctl(impl_->epoll_fd, EPOLL_CTL_ADD, uv_backend_fd(&impl_->uv), &event) ==
                0);
}

Loop::~Loop() {
  uv_run(&impl_->uv, UV_RUN_DEFAULT);
  ::close(impl_->epoll_fd);
  BRIDGE_ASSERT(impl_->timers.next_due() == std::nullopt);
  BRIDGE_ASSERT(uv_loop_close(&impl_->uv) == 0);
}

void Loop::run() {
  impl_->stopping = false;
  now_ = clock_.now();
  while (!impl_->stopping) take_turn(Waiting::for_events);
}

void Loop::stop() {
  impl_->stopping = true;
}

bool Loop::turn() {
  impl_->stopping = false;
  now_ = clock_.now();
  return take_turn(Waiting::not_at_all);
}

std::optional<base::TimePoint> Loop::next_due() const {
  return impl_->timers.next_due();
}

bool Loop::take_turn(Waiting waiting) {
  bool busy = impl_->run_deferred();
  // A handle was started or closed since the last turn.
  if (uv_backend_timeout(&impl_->uv) == 0) impl_->run_libuv();
  if (impl_->stopping) return true;
  std::array<epoll_event, kEventsPerTurn> events;
  const int wait = waiting == Waiting::for_events ? impl_->wait_ms(clock_) : 0;
  const int count = ::epoll_wait(impl_->epoll_fd, events.data(), kEventsPerTurn, wait);
  now_ = clock_.now();
  for (int i = 0; i < count; ++i) impl_->dispatch(events[static_cast<std::size_t>(i)]);
  // After the events: what arrived in time must not be reported as late.
  busy |= impl_->timers.run_due(now_);
  return busy || count > 0 || !impl_->pending.empty();
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

void Loop::Impl::run_libuv() {
  uv_run(&uv, UV_RUN_NOWAIT);
}

// How long to wait for events: not at all if work is pending, otherwise until the next timer.
int Loop::Impl::wait_ms(const Clock& clock) const {
  if (!pending.empty()) return 0;
  const auto due = timers.next_due();
  if (!due) return -1;
  const auto left = std::chrono::ceil<base::Duration>(*due - clock.now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

void Loop::Impl::dispatch(const epoll_event& event) {
  if (event.data.u64 == kForLibuv) return run_libuv();
  const auto slot = static_cast<std::uint32_t>(event.data.u64);
  const auto generation = static_cast<std::uint32_t>(event.data.u64 >> 32);
  if (slots[slot].generation != generation || slots[slot].watch == nullptr) return;
  slots[slot].watch->ready(event.events);
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
