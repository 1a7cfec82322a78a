// Which slow programs are examined now, and which wait for their turn.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "journal/stack_reader.h"

namespace journal {

// Owned by the journal. Limits how many programs are examined at once; others wait, first come,
// first served, and are reported without a stack if they end before their turn or find the queue
// full.
class StackQueue {
 public:
  static constexpr std::size_t kWaitingPerReader = 16;

  // Runs once, on the loop. text: the stack's lines, or one line that says why there are none.
  using OnStack = std::function<void(const std::string& text)>;

  // A place in the queue. Owned by the request: destroying it, when the program has ended, gives up
  // the place. Must not outlive the queue.
  class Turn {
   public:
    Turn(StackQueue& queue, pid_t program, OnStack on_stack)
        : queue_(queue), program_(program), on_stack_(std::move(on_stack)) {}
    ~Turn() { queue_.leave(*this); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    friend class StackQueue;
    StackQueue& queue_;
    const pid_t program_;
    OnStack on_stack_;
  };

  // reader: the path of cgibridge-stack.
  StackQueue(loop::Loop& loop, worker::Processes& processes,
             std::string reader = stack_reader_path());

  void set_readers(std::size_t readers_max) { readers_max_ = readers_max; }

  // Examines program as soon as possible. on_stack may run before this returns. None: it need not
  // wait, or cannot.
  std::unique_ptr<Turn> look_at(pid_t program, OnStack on_stack);

  std::uint64_t looks() const { return looks_; }
  std::uint64_t left_out() const { return left_out_; }  // not examined

 private:
  void leave(Turn& turn);
  void look(pid_t program, const OnStack& on_stack);
  void leave_out(const OnStack& on_stack, const std::string& why);
  void go_on();

  loop::Loop& loop_;
  worker::Processes& processes_;
  const std::string reader_;
  std::size_t readers_max_ = 2;
  std::uint64_t looks_ = 0, left_out_ = 0;
  std::deque<Turn*> waiting_;
  std::list<std::unique_ptr<StackReader>> readers_;
  loop::Deferred go_on_;
};

}  // namespace journal
