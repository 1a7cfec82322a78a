// The list of a request's timers (adapters/checkpoint/calls/timers.c), which are deleted at its
// end: three threads make a timer each, and may delete it again.
#include <gtest/gtest.h>

#include <array>

#include "explorer.h"
#include "sources.h"

namespace model {
namespace {

enum class TimerFault : std::uint8_t {
  none,
  reserves_a_place,  // and fills it in afterwards; until then it looks like that of timer 0
  looks_before_taking
};

constexpr const char* kFile = "calls/timers.c";
constexpr Step kMakes{"makes a timer", kFile, "create",
                      "libc_call(SYS_timer_create, clock, event, number)"};
constexpr Step kNotes{"takes a place for it", kFile, "note_timer",
                      "replaces(&state.timers[i], kFree, number + 1)"};
constexpr Step kReserves{"reserves a place, or looks for one"};
constexpr Step kForgets{"gives its place back", kFile, "forget_timer",
                        "replaces(&state.timers[i], (int)number + 1, kFree)"};
constexpr Step kDeletes{"deletes it", kFile, "timer_delete", "REAL(timer_delete)(timer)"};
constexpr Step kKeeps{"keeps it"};

struct TimerPlaces {
  enum At : std::uint8_t { begins, has_made, fills, is_noted, forgot, is_done };
  static constexpr int kThreads = 3;
  struct State {
    std::uint8_t made = 0, count = 0;
    std::array<std::uint8_t, kThreads> at{}, number{}, place{}, places{}, exists{};
    bool operator==(const State&) const = default;
  };
  TimerFault wrong = TimerFault::none;

  // What a place holds for a timer, and when it is free; 0 is what all of them begin with.
  std::uint8_t held(int number) const {
    return static_cast<std::uint8_t>(wrong == TimerFault::reserves_a_place ? number : number + 1);
  }
  std::uint8_t free() const { return wrong == TimerFault::reserves_a_place ? 0xff : 0; }
  static bool replace(State& state, int most, std::uint8_t from, std::uint8_t to) {
    for (int i = 0; i < most; ++i) {
      if (state.places[i] != from) continue;
      state.places[i] = to;
      return true;
    }
    return false;
  }

  State first() const { return {}; }
  void moves(const State& state, Moves<State>& moves) const {
    for (int i = 0; i < kThreads; ++i) move(state, i, moves);
  }
  void move(State state, int i, Moves<State>& moves) const {
    std::uint8_t& at = state.at[i];
    switch (at) {
      case begins:
        state.number[i] = state.made++;
        state.exists[state.number[i]] = 1;
        at = has_made;
        return moves.add(kMakes, state);
      case has_made:
        return note(state, i, moves);
      case fills:
        state.places[state.place[i]] = held(state.number[i]);
        at = is_noted;
        return moves.add(kNotes, state);
      case is_noted: {
        State keeps = state;
        keeps.at[i] = is_done;
        moves.add(kKeeps, keeps);
        int most = wrong == TimerFault::reserves_a_place ? state.count : kThreads;
        replace(state, most, held(state.number[i]), free());
        at = forgot;
        return moves.add(kForgets, state);
      }
      case forgot:
        state.exists[state.number[i]] = 0;
        at = is_done;
        return moves.add(kDeletes, state);
      default:
        return;
    }
  }
  void note(State state, int i, Moves<State>& moves) const {
    if (wrong == TimerFault::none) {
      replace(state, kThreads, free(), held(state.number[i]));
      state.at[i] = is_noted;
      return moves.add(kNotes, state);
    }
    bool reserves = wrong == TimerFault::reserves_a_place;
    if (reserves && replace(state, state.count, free(), held(state.number[i]))) {
      state.at[i] = is_noted;
      return moves.add(kNotes, state);
    }
    state.place[i] = 0;
    while (!reserves && state.places[state.place[i]] != free()) ++state.place[i];
    if (reserves) state.place[i] = state.count++;
    state.at[i] = fills;
    moves.add(kReserves, state);
  }
  const char* fault(const State& state) const {
    if (!is_over(state)) return nullptr;
    for (int number = 0; number < kThreads; ++number) {
      bool is_noted = false;
      for (int i = 0; i < kThreads; ++i) {
        bool is_used = wrong != TimerFault::reserves_a_place || i < state.count;
        is_noted |= is_used && state.places[i] == held(number);
      }
      if (state.exists[number] && !is_noted) return "a timer outlives its request";
    }
    return nullptr;
  }
  bool is_over(const State& state) const {
    return state.at == std::array<std::uint8_t, 3>{is_done, is_done, is_done};
  }
};

TEST(TimerPlaces, hold_all_timers_that_are_left) {
  expect_no_fault(explore(TimerPlaces{}));
}

TEST(TimerPlaces, faults_are_found) {
  EXPECT_EQ(explore(TimerPlaces{TimerFault::reserves_a_place}).fault,
            "a timer outlives its request");
  EXPECT_EQ(explore(TimerPlaces{TimerFault::looks_before_taking}).fault,
            "a timer outlives its request");
}

}  // namespace
}  // namespace model
