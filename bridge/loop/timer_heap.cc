#include "loop/timer_heap.h"

#include "base/assert.h"
#include "loop/timer.h"

namespace loop {

void TimerHeap::add(Timer& timer) {
  timer.start_number_ = starts_++;
  heap_.push_back(&timer);
  timer.place_ = heap_.size() - 1;
  sift_up(timer.place_);
}

void TimerHeap::remove(Timer& timer) {
  const std::size_t place = timer.place_;
  BRIDGE_ASSERT(place < heap_.size() && heap_[place] == &timer);
  timer.place_ = kNowhere;
  Timer* last = heap_.back();
  heap_.pop_back();
  if (last == &timer) return;
  put(place, last);
  move(*last);
}

void TimerHeap::restarted(Timer& timer) {
  timer.start_number_ = starts_++;
  move(timer);
}

std::optional<base::TimePoint> TimerHeap::next_due() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front()->due_at_;
}

bool TimerHeap::run_due(base::TimePoint now) {
  bool any = false;
  // Callbacks start timers for now or later, so these come after all that were due before.
  const std::uint64_t starts_before = starts_;
  while (!heap_.empty()) {
    Timer& earliest = *heap_.front();
    if (earliest.due_at_ > now || earliest.start_number_ >= starts_before) break;
    remove(earliest);
    earliest.due();
    any = true;
  }
  return any;
}

bool TimerHeap::is_before(const Timer& one, const Timer& other) {
  if (one.due_at_ != other.due_at_) return one.due_at_ < other.due_at_;
  return one.start_number_ < other.start_number_;
}

void TimerHeap::move(Timer& timer) {
  sift_up(timer.place_);
  sift_down(timer.place_);
}

void TimerHeap::put(std::size_t place, Timer* timer) {
  heap_[place] = timer;
  timer->place_ = place;
}

void TimerHeap::sift_up(std::size_t place) {
  Timer* timer = heap_[place];
  while (place > 0) {
    const std::size_t parent = (place - 1) / 2;
    if (is_before(*heap_[parent], *timer)) break;
    put(place, heap_[parent]);
    place = parent;
  }
  put(place, timer);
}

void TimerHeap::sift_down(std::size_t place) {
  Timer* timer = heap_[place];
  for (std::size_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
    if (child + 1 < heap_.size() && is_before(*heap_[child + 1], *heap_[child])) ++child;
    if (is_before(*timer, *heap_[child])) break;
    put(place, heap_[child]);
    place = child;
  }
  put(place, timer);
}

}  // namespace loop
