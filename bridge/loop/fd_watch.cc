#include "loop/fd_watch.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/assert.h"
#include "loop/loop_impl.h"

namespace loop {
namespace {

using PollHusk = Husk<uv_poll_t, FdWatch>;

// The same four things, as libuv and as epoll(7) call them.
struct Names {
  unsigned readiness;
  int uv;
  std::uint32_t epoll;
};
// kHungUp is reported without being asked for. But libuv has to be asked for something: for what
// only a TCP peer sends, which no web server does.
constexpr std::array kNames{
    Names{kReadable, UV_READABLE, EPOLLIN}, Names{kWritable, UV_WRITABLE, EPOLLOUT},
    Names{kPeerGone, UV_DISCONNECT, EPOLLRDHUP}, Names{kHungUp, UV_PRIORITIZED, 0}};

int uv_events_of(unsigned readiness) {
  int events = 0;
  for (const Names& names : kNames) events |= (readiness & names.readiness) != 0 ? names.uv : 0;
  return events;
}

std::uint32_t epoll_events_of(unsigned readiness) {
  std::uint32_t events = (readiness & kOnlyNew) != 0 ? std::uint32_t{EPOLLET} : 0;
  for (const Names& names : kNames) events |= (readiness & names.readiness) != 0 ? names.epoll : 0;
  return events;
}

}  // namespace

struct FdWatch::OnPoll {
  static void call(uv_poll_t* handle, int status, int events) {
    Loop::Impl::of(*handle).note_event();
    auto* owner = static_cast<PollHusk*>(handle->data)->owner;
    if (owner != nullptr) owner->on_poll(status, events);
  }
};

FdWatch::FdWatch(Loop& loop, int fd, std::function<void(unsigned)> on_ready)
    : loop_(loop), fd_(fd), on_ready_(std::move(on_ready)) {}

FdWatch::~FdWatch() {
  pause();
  if (husk_ != nullptr) close_husk(static_cast<PollHusk*>(husk_));
}

void FdWatch::pause() {
  if (asked_ == kNothing) return;
  by_edges_ ? watch_edges(kNothing) : poll(kNothing);
  asked_ = kNothing;
}

void FdWatch::ask(unsigned readiness) {
  if (readiness == asked_) return;
  const bool by_edges = readiness == kNothing ? by_edges_ : (readiness & kOnlyNew) != 0;
  if (by_edges != by_edges_) {
    pause();
    by_edges_ = by_edges;
  }
  by_edges_ ? watch_edges(readiness) : poll(readiness);
  asked_ = readiness;
}

void FdWatch::poll(unsigned readiness) {
  if (husk_ == nullptr && readiness != kNothing) {
    auto* husk = new_husk<uv_poll_t>(this);
    const int outcome = uv_poll_init(&loop_.impl().uv, &husk->uv, fd_);
    if (outcome != 0) delete husk;
    BRIDGE_ASSERT(outcome == 0 || outcome == UV_ENOSPC || outcome == UV_ENOMEM);
    if (outcome != 0) return;
    husk_ = husk;
  }
  if (husk_ == nullptr) return;
  uv_poll_t* handle = &static_cast<PollHusk*>(husk_)->uv;
  BRIDGE_ASSERT(uv_poll_start(handle, uv_events_of(readiness), &OnPoll::call) == 0);
}

void FdWatch::watch_edges(unsigned readiness) {
  epoll_event event{.events = epoll_events_of(readiness), .data = {.ptr = this}};
  // epoll reports errors even if nothing is asked for, so a paused descriptor must be removed.
  const int operation = readiness == kNothing ? EPOLL_CTL_DEL
                        : asked_ == kNothing  ? EPOLL_CTL_ADD
                                              : EPOLL_CTL_MOD;
  const int outcome = ::epoll_ctl(loop_.impl().edges_fd.get(), operation, fd_, &event);
  // One that could not be added cannot be removed.
  BRIDGE_ASSERT(outcome == 0 || errno == ENOSPC || errno == ENOMEM || errno == ENOENT);
}

void FdWatch::on_poll(int status, int events) {
  unsigned happened = kNothing;
  for (const Names& names : kNames)
    happened |= (events & names.uv) != 0 ? names.readiness : kNothing;
  if (status != 0) {
    happened = asked_;
    poll(asked_);  // libuv has stopped
  }
  tell(happened);
}

void FdWatch::on_edge(std::uint32_t epoll_events) {
  unsigned happened = kNothing;
  for (const Names& names : kNames)
    happened |= (epoll_events & names.epoll) != 0 ? names.readiness : kNothing;
  tell((epoll_events & (EPOLLHUP | EPOLLERR)) != 0 ? asked_ : happened);
}

void FdWatch::tell(unsigned happened) {
  happened &= asked_ & ~kOnlyNew;
  if (happened == kNothing) return;
  const auto on_ready = on_ready_;  // the callback may destroy this watch
  on_ready(happened);
}

}  // namespace loop
