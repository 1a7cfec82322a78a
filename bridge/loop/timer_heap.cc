#include "loop/timer_heap.h"

#include "base/assert.h"
#include "loop/timer.h"

namespace loop {

void TimerHeap::add(Timer& timer) {
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
  moved(*last);
}

void TimerHeap::moved(Timer& timer) {
  sift_up(timer.place_);
  sift_down(timer.place_);
}

std::optional<base::TimePoint> TimerHeap::next_due() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front()->due_at_;
}

bool TimerHeap::run_due(base::TimePoint now) {
  bool any = false;
  for (std::size_t left = heap_.size(); left > 0 && !heap_.empty(); --left) {
    Timer& earliest = *heap_.front();
    if (earliest.due_at_ > now) break;
    remove(earliest);
    earliest.due();
    any = true;
  }
  return any;
}

void TimerHeap::put(std::size_t place, Timer* timer) {
  heap_[place] = timer;
  timer->place_ = place;
}

void TimerHeap::sift_up(std::size_t place) {
  Timer* timer = heap_[place];
  while (place > 0) {
    const std::size_t parent = (place - 1) / 2;
    if (heap_[parent]->due_at_ <= timer->due_at_) break;
    put(place, heap_[parent]);
    place = parent;
  }
  put(place, timer);
}

void TimerHeap::sift_down(std::size_t place) {
  Timer* timer = heap_[place];
  for (std::size_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
    if (child + 1 < heap_.size() && heap_[child + 1]->due_at_ < heap_[child]->due_at_) ++child;
    if (timer->due_at_ <= heap_[child]->due_at_) break;
    put(place, heap_[child]);
    place = child;
  }
  put(place, timer);
}

}  // namespace loop
