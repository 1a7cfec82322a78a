// How a Go program is stopped (adapters/checkpoint/go/program.c, go/threads.c): the first thread
// stands still, and what the others send it by tgkill() is put off from then on; the thread that
// looks after the others is held until a request goes on.
#include <gtest/gtest.h>

#include "explorer.h"
#include "sources.h"

namespace model {
namespace {

enum class GoFault : std::uint8_t {
  none,
  takes_too_early,      // pending signals, while another thread may still send one
  wakes_before_telling  // the stage
};

constexpr Step kTells{"first: tells that it stands", "go/program.c", "go_program_stand",
                      "go_threads_tell(GO_STANDS)"};
constexpr Step kAwaits{"first: waits until all others rest", "go/program.c", "stand",
                       "await_other_threads();\n  take_pending_signals();"};
constexpr Step kTakes{"first: takes pending signals", "go/program.c", "take_pending_signals",
                      "raw_call(SYS_rt_sigtimedwait, &preempt"};
constexpr Step kStands{"first: a request comes", "go/program.c", "stand", "checkpoint_stand()"};
constexpr Step kStore{"first: tells that it goes on", "go/threads.c", "go_threads_tell",
                      "__atomic_store_n(word, stage"};
constexpr Step kWake{"first: wakes", "go/threads.c", "go_threads_tell",
                     "raw_call(SYS_futex, word, FUTEX_WAKE"};
constexpr Step kLooks{"other: checks whether signals are put off", "go/program.c", "is_put_off",
                      "go->stage != GO_STANDS"};
constexpr Step kSends{"other: sends the first a signal", "go/program.c", "go_program_tgkill",
                      "raw_call(SYS_tgkill, words[0], words[1], words[2])"};
constexpr Step kPutsOff{"other: puts it off", "go/program.c", "is_put_off",
                        "__atomic_store_n(&go->is_called, 1"};
constexpr Step kRests{"other: rests"};
constexpr Step kHolds{"watcher: looks at the stage", "go/threads.c", "go_threads_hold",
                      "while (stage_now() == GO_STANDS) await_change_of(GO_STANDS, NULL)"};
constexpr Step kSleeps{"watcher: sleeps if the stage is the same", "go/threads.c",
                       "await_change_of",
                       "raw_call(SYS_futex, &state.executable.go.stage, FUTEX_WAIT, stage"};

struct GoStage {
  enum Stage : std::uint8_t { starts, stands, goes_on };
  enum First : std::uint8_t { runs, awaits, takes, is_still, stores, wakes, is_on };
  enum Other : std::uint8_t { works, sends, puts_off, rests };
  enum Watcher : std::uint8_t { looks, compares, sleeps, is_let_go };
  struct State {
    std::uint8_t first, stage, other, watcher, is_pending, is_called, turns_left;
    bool operator==(const State&) const = default;
  };
  GoFault wrong = GoFault::none;

  State first() const { return {runs, starts, works, looks, 0, 0, 2}; }

  void moves(const State& state, Moves<State>& moves) const {
    move_first(state, moves);
    move_other(state, moves);
    move_watcher(state, moves);
  }

  void move_first(State state, Moves<State>& moves) const {
    bool is_early = wrong == GoFault::takes_too_early;
    switch (state.first) {
      case runs:
        state.stage = stands;
        state.first = is_early ? takes : awaits;
        return moves.add(kTells, state);
      case awaits:
        if (state.other != rests || (state.watcher != sleeps && state.watcher != is_let_go)) return;
        state.first = is_early ? is_still : takes;
        return moves.add(kAwaits, state);
      case takes:
        if (state.is_pending) state.is_called = 1, state.is_pending = 0;
        state.first = is_early ? awaits : is_still;
        return moves.add(kTakes, state);
      case is_still:
        state.first = stores;
        return moves.add(kStands, state);
      case stores:
      case wakes: {
        bool tells = (state.first == stores) == (wrong != GoFault::wakes_before_telling);
        if (tells) state.stage = goes_on;
        if (!tells && state.watcher == sleeps) state.watcher = looks;
        ++state.first;
        return moves.add(tells ? kStore : kWake, state);
      }
      default:
        return;
    }
  }

  void move_other(State state, Moves<State>& moves) const {
    switch (state.other) {
      case works: {
        State next = state;
        next.other = rests;
        moves.add(kRests, next);
        if (state.turns_left-- == 0) return;
        state.other = state.stage == stands ? puts_off : sends;
        return moves.add(kLooks, state);
      }
      case sends:
        state.is_pending = 1;
        state.other = works;
        return moves.add(kSends, state);
      case puts_off:
        state.is_called = 1;
        state.other = works;
        return moves.add(kPutsOff, state);
      default:
        return;
    }
  }

  void move_watcher(State state, Moves<State>& moves) const {
    if (state.watcher == looks) {
      state.watcher = state.stage == goes_on ? is_let_go : compares;
      moves.add(kHolds, state);
    } else if (state.watcher == compares) {
      state.watcher = state.stage == stands ? sleeps : looks;
      moves.add(kSleeps, state);
    }
  }

  const char* fault(const State& state) const {
    return state.first == is_still && state.is_pending ? "a signal is lost by the fork" : nullptr;
  }
  bool is_over(const State& state) const {
    return state.first == is_on && state.watcher == is_let_go;
  }
};

TEST(GoStage, loses_no_signal_and_lets_the_watcher_go) {
  expect_no_fault(explore(GoStage{}));
}

TEST(GoStage, faults_are_found) {
  EXPECT_EQ(explore(GoStage{GoFault::takes_too_early}).fault, "a signal is lost by the fork");
  EXPECT_EQ(explore(GoStage{GoFault::wakes_before_telling}).fault, "something waits for ever");
}

}  // namespace
}  // namespace model
