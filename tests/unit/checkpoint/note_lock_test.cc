// The lock on what is noted before the checkpoint (adapters/checkpoint/load/note_lock.h): two
// threads, a signal's handler that notes something, too, and a child that one thread forks while
// the other may hold the lock.
#include <gtest/gtest.h>

#include <array>

#include "explorer.h"
#include "sources.h"

namespace model {
namespace {

enum class LockFault : std::uint8_t { none, lets_signals_in, child_waits, looks_before_taking };

constexpr const char* kFile = "load/note_lock.h";
constexpr Step kBlocks{"blocks signals", kFile, "note_lock_take",
                       "raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, mask"};
constexpr Step kTakes{"takes the lock, or sees that it is held", kFile, "note_lock_take",
                      "__atomic_test_and_set(is_held, __ATOMIC_ACQUIRE)"};
constexpr Step kGivesUp{"gives up: it is in a child", kFile, "note_lock_take",
                        "raw_call(SYS_getpid) != state.pid"};
constexpr Step kWrites{"writes its note"};
constexpr Step kClears{"gives the lock back", kFile, "note_lock_give_back",
                       "__atomic_clear(is_held, __ATOMIC_RELEASE)"};
constexpr Step kUnblocks{"lets signals in", kFile, "note_lock_give_back",
                         "raw_call(SYS_rt_sigprocmask, SIG_SETMASK, mask, NULL"};
constexpr Step kForks{"forks a child"};
constexpr Step kInterrupts{"is interrupted by a handler that notes something"};

struct NoteLock {
  // Two threads; a handler in the first one; a child of the second, with a copy of the lock.
  enum Who : std::uint8_t { one, two, handler, child };
  enum At : std::uint8_t {
    blocks,
    takes,
    takes_seen,
    writes,
    clears,
    unblocks,
    is_done,
    not_there
  };
  struct State {
    std::array<std::uint8_t, 4> at{blocks, blocks, not_there, not_there};
    std::array<std::uint8_t, 2> is_held{};  // the lock; the child's copy
    std::uint8_t is_blocked = 0, has_forked = 0, has_interrupted = 0;
    bool operator==(const State&) const = default;
  };
  LockFault wrong = LockFault::none;

  State first() const { return {}; }
  void moves(const State& state, Moves<State>& moves) const {
    bool in_handler = state.at[handler] < is_done;
    for (std::uint8_t who : {one, two, handler, child}) {
      if (who == one && in_handler) continue;
      move(state, static_cast<Who>(who), moves);
    }
    State next = state;
    if (!state.has_interrupted && !state.is_blocked && state.at[one] < is_done) {
      next.has_interrupted = 1;
      next.at[handler] = blocks;
      moves.add(kInterrupts, next);
    }
    next = state;
    if (!state.has_forked && state.at[two] == is_done) {
      next.has_forked = 1;
      next.at[child] = blocks;
      next.is_held[1] = state.is_held[0];
      moves.add(kForks, next);
    }
  }
  void move(State state, Who who, Moves<State>& moves) const {
    std::uint8_t &at = state.at[who], &is_held = state.is_held[who == child];
    bool lets_in = wrong == LockFault::lets_signals_in;
    switch (at) {
      case blocks:
        at = takes;
        if (who == one && !lets_in) state.is_blocked = 1;
        return moves.add(kBlocks, state);
      case takes:
        if (is_held && who == child && wrong != LockFault::child_waits) {
          at = is_done;
          return moves.add(kGivesUp, state);
        }
        if (is_held) return;
        at = wrong == LockFault::looks_before_taking ? takes_seen : writes;
        if (at == writes) is_held = 1;
        return moves.add(kTakes, state);
      case takes_seen:
        is_held = 1;
        at = writes;
        return moves.add(kTakes, state);
      case writes:
        at = clears;
        return moves.add(kWrites, state);
      case clears:
        is_held = 0;
        at = unblocks;
        return moves.add(kClears, state);
      case unblocks:
        at = is_done;
        if (who == one) state.is_blocked = 0;
        return moves.add(kUnblocks, state);
      default:
        return;
    }
  }
  const char* fault(const State& state) const {
    int writers = 0;
    for (std::uint8_t who : {one, two, handler}) writers += state.at[who] == writes;
    return writers > 1 ? "two write at once" : nullptr;
  }
  bool is_over(const State& state) const {
    for (std::uint8_t at : state.at) {
      if (at < is_done) return false;
    }
    return true;
  }
};

TEST(NoteLock, is_never_waited_for_in_vain) {
  expect_no_fault(explore(NoteLock{}));
}

TEST(NoteLock, faults_are_found) {
  EXPECT_EQ(explore(NoteLock{LockFault::lets_signals_in}).fault, "something waits for ever");
  EXPECT_EQ(explore(NoteLock{LockFault::child_waits}).fault, "something waits for ever");
  EXPECT_EQ(explore(NoteLock{LockFault::looks_before_taking}).fault, "two write at once");
}

}  // namespace
}  // namespace model
