#include "journal/stack_queue.h"

#include <algorithm>

namespace journal {

StackQueue::StackQueue(loop::Loop& loop, worker::Processes& processes, std::string reader)
    : loop_(loop),
      processes_(processes),
      reader_(std::move(reader)),
      go_on_(loop, [this] { go_on(); }) {}

std::unique_ptr<StackQueue::Turn> StackQueue::look_at(pid_t program, OnStack on_stack) {
  if (readers_.size() < readers_max_ && waiting_.empty()) {
    look(program, on_stack);
    return nullptr;
  }
  if (waiting_.size() >= readers_max_ * kWaitingPerReader) {
    leave_out(on_stack, "too many others wait for theirs");
    return nullptr;
  }
  auto turn = std::make_unique<Turn>(*this, program, std::move(on_stack));
  waiting_.push_back(turn.get());
  return turn;
}

void StackQueue::leave(Turn& turn) {
  const auto found = std::find(waiting_.begin(), waiting_.end(), &turn);
  if (found == waiting_.end()) return;
  waiting_.erase(found);
  leave_out(turn.on_stack_, "it was over before its turn; others were read");
}

void StackQueue::look(pid_t program, const OnStack& on_stack) {
  auto reader =
      std::make_unique<StackReader>(loop_, processes_, [this, on_stack](const auto& stack) {
        on_stack(stack);
        go_on_.schedule();
      });
  if (const auto started = reader->start(program, reader_); !started) {
    return leave_out(on_stack, started.error().message);
  }
  looks_ += 1;
  readers_.push_back(std::move(reader));
}

void StackQueue::leave_out(const OnStack& on_stack, const std::string& why) {
  left_out_ += 1;
  on_stack("no stack: " + why + "\n");
}

void StackQueue::go_on() {
  std::erase_if(readers_, [](const auto& reader) { return reader->over(); });
  while (readers_.size() < readers_max_ && !waiting_.empty()) {
    const Turn& next = *waiting_.front();
    waiting_.pop_front();
    look(next.program_, next.on_stack_);
  }
}

}  // namespace journal
