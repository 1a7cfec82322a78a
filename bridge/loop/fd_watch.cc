#include "loop/fd_watch.h"

#include <sys/epoll.h>

#include <cerrno>

#include "base/assert.h"
#include "loop/loop_impl.h"

namespace loop {
namespace {

std::uint32_t epoll_events_of(unsigned readiness) {
  return ((readiness & kReadable) != 0 ? std::uint32_t{EPOLLIN} : 0) |
         ((readiness & kWritable) != 0 ? std::uint32_t{EPOLLOUT} : 0) |
         ((readiness & kPeerGone) != 0 ? std::uint32_t{EPOLLRDHUP} : 0) |
         ((readiness & kOnlyNew) != 0 ? std::uint32_t{EPOLLET} : 0);
}

}  // namespace

FdWatch::FdWatch(Loop& loop, int fd, std::function<void(unsigned)> on_ready)
    : loop_(loop), fd_(fd), on_ready_(std::move(on_ready)) {
  Loop::Impl& impl = loop_.impl();
  if (impl.free_slots.empty()) {
    impl.free_slots.push_back(static_cast<std::uint32_t>(impl.slots.size()));
    impl.slots.emplace_back();
  }
  slot_ = impl.free_slots.back();
  impl.free_slots.pop_back();
  impl.slots[slot_].watch = this;
}

FdWatch::~FdWatch() {
  ask(kNothing);
  Loop::Impl& impl = loop_.impl();
  impl.slots[slot_].watch = nullptr;
  impl.slots[slot_].generation += 1;
  impl.free_slots.push_back(slot_);
}

void FdWatch::ask(unsigned readiness) {
  if (readiness == asked_) return;
  Loop::Impl& impl = loop_.impl();
  epoll_event event{};
  event.events = epoll_events_of(readiness);
  event.data.u64 = (std::uint64_t{impl.slots[slot_].generation} << 32) | slot_;
  // epoll reports errors even if nothing is asked for, so a paused descriptor must be removed.
  const int operation = readiness == kNothing ? EPOLL_CTL_DEL
                        : asked_ == kNothing  ? EPOLL_CTL_ADD
                                              : EPOLL_CTL_MOD;
  const int outcome = ::epoll_ctl(impl.epoll_fd, operation, fd_, &event);
  BRIDGE_ASSERT(outcome == 0 || errno == ENOSPC || errno == ENOMEM);
  asked_ = readiness;
}

void FdWatch::closing() {
  asked_ = kNothing;
}

void FdWatch::ready(std::uint32_t epoll_events) {
  unsigned happened = 0;
  if ((epoll_events & EPOLLIN) != 0) happened |= kReadable;
  if ((epoll_events & EPOLLOUT) != 0) happened |= kWritable;
  if ((epoll_events & EPOLLRDHUP) != 0) happened |= kPeerGone;
  if ((epoll_events & (EPOLLHUP | EPOLLERR)) != 0) happened = asked_ & ~kOnlyNew;
  happened &= asked_;
  if (happened == kNothing) return;
  const auto on_ready = on_ready_;  // the callback may destroy this watch
  on_ready(happened);
}

}  // namespace loop
