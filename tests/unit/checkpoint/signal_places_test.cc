// Which threads of a static executable block the signal by which calls come, and for which of them
// one that somebody sent came meanwhile (adapters/checkpoint/static/trapped_signals.c): two threads
// want one place.
#include <gtest/gtest.h>

#include <array>

#include "explorer.h"
#include "sources.h"

namespace model {
namespace {

enum class PlaceFault : std::uint8_t {
  none,
  clears_before_taking,  // the note in a place that another thread may have taken by now
  reads_before_leaving   // the note, and then gives the place back
};

constexpr const char* kFile = "static/trapped_signals.c";
constexpr Step kTakes{"takes a free place", kFile, "own_signal_inherit",
                      "__atomic_compare_exchange_n(&blockers[i], &none, thread"};
constexpr Step kClears{"sees a free place, and clears its note"};
constexpr Step kReads{"reads the note"};
constexpr Step kLeaves{"leaves its place, with the note", kFile, "blocker_end",
                       "__atomic_exchange_n(blocker, 0"};
constexpr Step kNotes{"a signal comes, and is noted", kFile, "own_signal_came",
                      "__atomic_fetch_or(blocker, kCame"};
constexpr Step kHandles{"a signal comes, and is handled"};
constexpr Step kResends{"a signal that was noted is handled", kFile, "block_own_signal",
                        "if (blocker_end(blocker))"};

struct SignalPlaces {
  enum At : std::uint8_t { begins, clears, takes, blocks, leaves, has_left, is_done };
  struct State {
    std::uint8_t owner = 0, came = 0;  // the place: 0, or a thread's number
    std::array<std::uint8_t, 2> at{}, read{}, sent{}, handled{};
    bool operator==(const State&) const = default;
  };
  PlaceFault wrong = PlaceFault::none;

  State first() const { return {}; }
  void moves(const State& state, Moves<State>& moves) const {
    for (int i = 0; i < 2; ++i) {
      move(state, i, moves);
      if (!state.sent[i] && state.at[i] != is_done) signal(state, i, moves);
    }
  }
  static void signal(State state, int i, Moves<State>& moves) {
    state.sent[i] = 1;
    bool is_blocked = state.owner == i + 1;
    if (is_blocked)
      state.came = 1;
    else
      ++state.handled[i];
    moves.add(is_blocked ? kNotes : kHandles, state);
  }
  void move(State state, int i, Moves<State>& moves) const {
    std::uint8_t& at = state.at[i];
    switch (at) {
      case begins:
        if (state.owner != 0) return;
        if (wrong != PlaceFault::clears_before_taking) return take(state, i, moves);
        at = clears;
        return moves.add(kClears, state);
      case clears:
        state.came = 0;
        at = takes;
        return moves.add(kClears, state);
      case takes:
        if (state.owner == 0) return take(state, i, moves);
        at = begins;
        return moves.add(kTakes, state);
      case blocks:
        state.read[i] = state.came;
        at = leaves;
        if (wrong == PlaceFault::reads_before_leaving) return moves.add(kReads, state);
        [[fallthrough]];
      case leaves:
        state.owner = state.came = 0;
        at = has_left;
        return moves.add(kLeaves, state);
      case has_left:
        state.handled[i] += state.read[i];
        at = is_done;
        return moves.add(kResends, state);
      default:
        return;
    }
  }
  static void take(State state, int i, Moves<State>& moves) {
    state.owner = static_cast<std::uint8_t>(i + 1);
    state.at[i] = blocks;
    moves.add(kTakes, state);
  }
  const char* fault(const State& state) const {
    for (int i = 0; i < 2; ++i) {
      if (state.at[i] == is_done && state.handled[i] != state.sent[i]) return "a signal is lost";
    }
    return nullptr;
  }
  bool is_over(const State& state) const {
    return state.at[0] == is_done && state.at[1] == is_done;
  }
};

TEST(SignalPlaces, lose_no_signal) {
  expect_no_fault(explore(SignalPlaces{}));
}

TEST(SignalPlaces, faults_are_found) {
  EXPECT_EQ(explore(SignalPlaces{PlaceFault::clears_before_taking}).fault, "a signal is lost");
  EXPECT_EQ(explore(SignalPlaces{PlaceFault::reads_before_leaving}).fault, "a signal is lost");
}

}  // namespace
}  // namespace model
