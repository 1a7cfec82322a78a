#include "request_threads.h"

#include <gtest/gtest.h>

#include "sources.h"

namespace model {
namespace {

constexpr const char* kMissing = "rewind/threads_missing.c";
constexpr const char* kAgain = "rewind/threads_again.c";
constexpr const char* kEnd = "rewind/threads_end.c";

}  // namespace

namespace request_steps {
#define AGAIN kAgain, "threads_make_again"
inline constexpr Step kNeeds{"first: checks whether threads are missing", kMissing,
                             "threads_needed",
                             "if (parked_threads.are_missing) threads_make_again()"};
inline constexpr Step kSees{"first: checks whether they were made", AGAIN,
                            "__atomic_load_n(&parked_threads.are_again"};
inline constexpr Step kBlock{"first: blocks signals", AGAIN,
                             "raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before"};
inline constexpr Step kClaim{"first: takes it on to make them", AGAIN,
                             "__atomic_exchange_n(&parked_threads.are_again, 1"};
inline constexpr Step kMark{"first: none is missing", kAgain, "make_all",
                            "parked_threads.are_missing = 0"};
inline constexpr Step kMake{"first: makes a thread", kAgain, "make_all", "make(thread)"};
inline constexpr Step kUnblock{"first: lets signals in", AGAIN,
                               "raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &before"};
inline constexpr Step kWake{"first: wakes a thread"};
inline constexpr Step kName{"first, in a handler: names a thread"};
inline constexpr Step kInterrupt{"first: a signal's handler begins"};
inline constexpr Step kExit{"first: calls exit()"};
inline constexpr Step kTakeEnd{"first: takes the end", kEnd, "threads_claim_end",
                               "takes_end(ENDER_NONE, is_first ?"};
inline constexpr Step kTakeOver{"first: takes the end over", kEnd, "on_end",
                                "takes_end(ENDER_CALLS_FIRST, ENDER_FIRST)"};
inline constexpr Step kAlone{"first: checks whether it is alone", kEnd, "threads_end",
                             "if (is_alone())"};
inline constexpr Step kTell{"first: tells all others to end", kEnd, "threads_end",
                            "if (tell_all() != 0)"};
inline constexpr Step kPutBack{"first: memory is put back"};
inline constexpr Step kEnded{"thread: ends by the signal", kEnd, "on_end", "raw_call(SYS_exit, 0)"};
inline constexpr Step kCompare{"thread: compares its word, and sleeps if it is as it was"};
inline constexpr Step kWork{"thread: does its work"};
inline constexpr Step kStart{"thread: starts another"};
inline constexpr Step kCall{"thread: calls exit(), and the first thread", kEnd, "threads_claim_end",
                            "if (!is_first) call_first_thread(engine)"};
#undef AGAIN
}  // namespace request_steps

// ---- the first thread ----

void RequestThreads::call(State state, int who, Moves<State>& moves) const {
  using namespace request_steps;
  std::uint8_t& now = state.call[who];
  bool blocks_late = wrong_ == RequestFault::claims_before_blocking;
  bool notes_late = wrong_ == RequestFault::notes_after_making;
  switch (now) {
    case needs: {
      if (who == 0) {
        State ends_at_once = state;
        ends_at_once.first = ends;
        moves.add(kExit, ends_at_once);
      }
      bool looks = wrong_ != RequestFault::wakes_without_a_look || who == 1;
      now = looks && state.are_missing ? sees : then_acts;
      return moves.add(kNeeds, state);
    }
    case sees:
      now = blocks_late || notes_late ? claims : blocks;
      if (state.are_again) now = then_acts;
      return moves.add(kSees, state);
    case blocks:
      state.is_blocked = 1;
      now = blocks_late ? makes : claims;
      return moves.add(kBlock, state);
    case claims:
      now = state.are_again ? unblocks : marks;
      if (!notes_late) state.are_again = 1;
      return moves.add(kClaim, state);
    case marks:
      if (!notes_late) state.are_missing = 0;
      now = blocks_late ? blocks : makes;
      return moves.add(kMark, state);
    case makes:
      ++state.copies;
      state.place[state.at[who]] = made;
      if (++state.at[who] < 2) return moves.add(kMake, state);
      state.are_again = 1;
      state.are_missing = 0;
      now = unblocks;
      return moves.add(kMake, state);
    case unblocks:
      state.is_blocked = 0;
      now = then_acts;
      return moves.add(kUnblock, state);
    default:
      return act(state, who, moves);
  }
}

void RequestThreads::act(State state, int who, Moves<State>& moves) const {
  using namespace request_steps;
  std::uint8_t& now = state.call[who];
  if (now == then_acts && who == 1) {
    if (state.place[1] == missing) state.is_wrong = 1;
    now = acted;
    return moves.add(kName, state);
  }
  if (now == then_acts) {
    state.is_posted = 1;
    if (state.place[0] == sleeps) state.place[0] = works;
    now = acted;
    return moves.add(kWake, state);
  }
  if (now == acted && state.has_worked) {
    state.first = ends;
    moves.add(kExit, state);
  }
}

void RequestThreads::interrupt(const State& state, Moves<State>& moves) const {
  using namespace request_steps;
  if (state.first != runs || state.is_blocked) return;
  if (state.handler_left) {
    State next = state;
    next.handler_left = 0;
    next.call[1] = needs;
    moves.add(kInterrupt, next);
  }
  if (state.is_told && state.ender == calls_first) {
    State next = state;
    next.is_told = 0;
    next.ender = first_ends;
    next.first = looks_alone;
    moves.add(kTakeOver, next);
  }
}

void RequestThreads::end(State state, Moves<State>& moves) const {
  using namespace request_steps;
  switch (state.first) {
    case ends:
      state.ender = first_ends;
      state.first = looks_alone;
      return moves.add(kTakeEnd, state);
    case looks_alone:
      state.first = puts_back;
      for (std::uint8_t place : state.place) {
        if (place != missing && place != gone) state.first = tells;
      }
      return moves.add(kAlone, state);
    case tells:
      for (int i = 0; i < kThreads; ++i) {
        bool tells_it = wrong_ != RequestFault::tells_once || !state.has_told;
        if (tells_it && state.place[i] != missing && state.place[i] != gone) state.told[i] = 1;
      }
      state.has_told = 1;
      state.first = wrong_ == RequestFault::ends_without_waiting ? puts_back : looks_alone;
      return moves.add(kTell, state);
    case puts_back:
      state.first = is_put_back;
      return moves.add(kPutBack, state);
    default:
      return;
  }
}

// ---- another thread ----

void RequestThreads::live(const State& state, int index, Moves<State>& moves) const {
  using namespace request_steps;
  State next = state;
  std::uint8_t& place = next.place[index];
  if (place == missing || place == gone) return;
  if (place == made) { /* with all signals blocked, until it returns from its frame */
    bool compares = wrong_ != RequestFault::sleeps_without_comparing;
    place = index == 0 && state.is_posted && compares ? works : sleeps;
    return moves.add(kCompare, next);
  }
  if (state.told[index]) {
    place = gone;
    moves.add(kEnded, next);
    next = state;
  }
  if (place != works) return;
  if (index == 0) next.has_worked = 1;
  moves.add(kWork, next);
  place = sleeps;
  moves.add(kWork, next);
  if (index == 0) leave(state, index, moves);
  if (state.births_left == 0 || state.place[2] != gone) return;
  next = state;
  --next.births_left;
  next.place[2] = works;
  next.told[2] = 0;
  moves.add(kStart, next);
}

void RequestThreads::leave(State state, int index, Moves<State>& moves) const {
  if (state.ender == nobody) {
    state.ender = calls_first;
    state.is_told = 1;
  }
  state.place[index] = waits_for_first;
  moves.add(request_steps::kCall, state);
}

namespace {

TEST(RequestThreads, are_there_when_they_are_needed_and_gone_at_the_end) {
  for (std::uint8_t handlers : {0, 1}) {
    Found found = explore(RequestThreads(RequestFault::none, handlers));
    expect_no_fault(found);
    EXPECT_GT(found.states, 100u);
  }
}

struct Case {
  RequestFault fault;
  const char* what;
  std::uint8_t handlers = 1;
};

class FaultyRequest : public testing::TestWithParam<Case> {};

TEST_P(FaultyRequest, is_found) {
  Found found = explore(RequestThreads(GetParam().fault, GetParam().handlers));
  EXPECT_EQ(found.fault, GetParam().what) << found.path;
}

using enum RequestFault;
INSTANTIATE_TEST_SUITE_P(
    RequestThreads, FaultyRequest,
    testing::Values(Case{wakes_without_a_look, "something waits for ever", 0},
                    Case{sleeps_without_comparing, "something waits for ever"},
                    Case{claims_before_blocking, "a thread is named before it is there"},
                    Case{notes_after_making, "a thread is there twice"},
                    Case{ends_without_waiting, "a thread runs while memory is put back"},
                    Case{tells_once, "something waits for ever"}));

}  // namespace
}  // namespace model
