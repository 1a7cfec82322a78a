#include "parking.h"

#include <gtest/gtest.h>

#include <utility>

#include "parking_steps.h"
#include "sources.h"

namespace model {

// ---- the first thread ----

void Parking::look(State state, Moves<State>& moves) const {
  using namespace parking_steps;
  if (state.leader == lists) {
    State gives_up = state;
    gives_up.leader = refused;
    moves.add(kGiveUp, gives_up);
    for (Thread& thread : state.threads) {
      thread.is_listed = is_alive(thread);
      thread.row = told, thread.noted_in = 0, thread.has_frame = thread.has_left = 0;
    }
    state.thread = 0;
    state.leader = looks;
    if (count(state, is_alive) == 0)
      state.leader = ended;
    else
      go_on(state, looks);
    return moves.add(kList, state);
  }
  if (state.leader == looks) {
    if (!rests(state.threads[state.thread])) {
      state.quiet = 0, state.leader = lists, state.thread = 0;
      return moves.add(kLook, state);
    }
    ++state.thread;
    go_on(state, lists);
    if (state.leader == lists && ++state.quiet == kQuietLooks) state.leader = checks;
    return moves.add(kLook, state);
  }
  state.quiet = 0;
  state.leader = gives_stay;
  for (const Thread& thread : state.threads) {
    bool is_pending = thread.signals != 0 || thread.libcs_signals != 0;
    if (wrong_ != ParkingFault::overlooks_pending_signals && is_pending) state.leader = refused;
  }
  if (state.leader == refused)
    for (Thread& thread : state.threads) thread.is_listed = 0;
  moves.add(kCheck, state);
}

void Parking::park(State state, Moves<State>& moves) const {
  using namespace parking_steps;
  switch (state.leader) {
    case gives_stay:
      state.order = stay, state.order_of = state.attempt;
      state.leader = installs;
      return moves.add(kStay, state);
    case installs:
      if (!state.is_saved || wrong_ == ParkingFault::forgets_libcs_handler)
        state.saved = state.handler;
      state.is_saved = 1;
      state.handler = ours;
      state.leader = tells;
      state.all_stand = state.all_came = 1;
      go_on(state, awaits);
      return moves.add(kInstall, state);
    case tells: {
      Thread& thread = state.threads[state.thread];
      if (is_alive(thread))
        thread.signals |= bit(state.attempt);
      else
        thread.row = moved, thread.noted_in = state.attempt;
      ++state.thread;
      go_on(state, awaits);
      if (state.leader == awaits) go_on(state, counts);
      return moves.add(kTell, state);
    }
    default: {
      const Thread& thread = state.threads[state.thread];
      Row row = static_cast<Row>(thread.row);
      if (!is_of(thread.noted_in, state.attempt)) row = told;
      if (row == told && wrong_ == ParkingFault::awaits_without_limit) return;
      if (row != stands) state.all_stand = 0;
      if (row == told) state.all_came = 0;
      ++state.thread;
      go_on(state, counts);
      return moves.add(row == told ? kLate : kCame, state);
    }
  }
}

void Parking::judge(State state, Moves<State>& moves) const {
  using namespace parking_steps;
  if (state.leader == counts) {
    int listed = count(state, [](const Thread& thread) { return thread.is_listed != 0; });
    bool is_same = count(state, is_alive) == listed;
    if (!is_same && wrong_ != ParkingFault::counts_no_threads) state.all_stand = 0;
    state.leader = restores;
    return moves.add(kCount, state);
  }
  if (state.leader == restores) {
    if (state.all_came || wrong_ == ParkingFault::restores_too_early)
      state.handler = state.saved, state.is_saved = 0;
    state.leader = state.all_stand ? decides : gives_run;
    return moves.add(kRestore, state);
  }
  State held = state;
  held.leader = gives_run, held.is_held = 1;
  moves.add(kFinds, held);
  state.leader = gives_end;
  moves.add(kCopy, state);
}

void Parking::order(State state, Moves<State>& moves) const {
  using namespace parking_steps;
  bool ends = state.leader == gives_end || state.leader == wakes_end;
  bool orders = state.leader == gives_run || state.leader == gives_end;
  if (state.leader == sees_end) {
    if (count(state, is_alive) != 0) return;
    state.leader = ended;
    return moves.add(kAlone, state);
  }
  if (state.leader == ended || state.leader == refused) return;
  // The mutation exchanges what the two steps do.
  if (orders == (wrong_ != ParkingFault::wakes_before_ordering)) {
    state.order = ends ? end : run;
  } else {
    for (Thread& thread : state.threads) {
      if (thread.at == sleeps) thread.at = looks_at_order;
    }
  }
  if (orders) {
    state.leader = ends ? wakes_end : wakes_run;
    return moves.add(ends ? kEnd : kRun, state);
  }
  state.leader = ends ? sees_end : refused;
  if (!ends) {
    for (Thread& thread : state.threads) thread.is_listed = 0;
    if (!state.is_held && state.attempt + 1 < kAttempts) ++state.attempt, state.leader = lists;
  }
  moves.add(kWake, state);
}

// ---- another thread ----

void Parking::take_signals(const State& state, int index, Moves<State>& moves) const {
  using namespace parking_steps;
  const Thread& thread = state.threads[index];
  if (!is_alive(thread) || thread.at >= enters || thread.is_deaf) return;
  if (thread.signals > 0) {
    State next = state;
    Thread& self = next.threads[index];
    self.told_in = (self.signals & 1) != 0 ? 0 : 1;
    self.signals &= self.signals - 1;
    if (state.handler == libcs) next.is_wrong = 1;
    self.from = self.at, self.at = enters;
    moves.add(kSignal, next);
  }
  if (thread.libcs_signals > 0) {
    State next = state;
    Thread& self = next.threads[index];
    --self.libcs_signals;
    bool parks = state.handler == ours && wrong_ == ParkingFault::swallows_libcs_signal;
    if (parks)
      self.from = self.at, self.at = enters;
    else
      next.libc_awaits = 0;
    const Step& handles = state.handler == ours ? kPassOn : kLibcs;
    moves.add(parks ? kSignal : handles, next);
  }
}

void Parking::handle(State state, int index, Moves<State>& moves) const {
  using namespace parking_steps;
  Thread& self = state.threads[index];
  bool notes_first = wrong_ == ParkingFault::notes_before_the_frame;
  switch (self.at) {
    case enters:
      self.at = notes_first ? notes : frames;
      if (!self.is_listed) self.at = self.from;
      return moves.add(kEnter, state);
    case frames:
      self.has_frame = 1;
      self.at = notes_first ? looks_at_order : notes;
      return moves.add(kFrame, state);
    case notes: {
      bool is_same = !self.has_left || wrong_ == ParkingFault::compares_place_only;
      self.noted_in = self.told_in;
      self.row = self.from != moves_on && is_same ? stands : moved;
      self.at = notes_first ? frames : looks_at_order;
      return moves.add(kNote, state);
    }
    case looks_at_order:
      self.at = compares;
      if (state.order == run || !is_of(self.told_in, state.order_of))
        self.at = self.from;
      else if (state.order == end)
        self.at = gone;
      return moves.add(kOrder, state);
    case compares: {
      bool is_same = state.order == stay && is_of(self.told_in, state.order_of);
      bool sleeps_now = is_same || wrong_ == ParkingFault::sleeps_without_comparing;
      self.at = sleeps_now ? sleeps : looks_at_order;
      return moves.add(kSleep, state);
    }
    default:
      return;
  }
}

void Parking::live(const State& state, int index, Moves<State>& moves) const {
  using namespace parking_steps;
  const auto go = [&](const Step& step, Place to, bool leaves) {
    State next = state;
    next.threads[index].at = to;
    if (leaves) next.threads[index].has_left = 1;
    return std::pair{&step, next};
  };
  switch (state.threads[index].at) {
    case waits: {
      if (state.events_left == 0) return;
      auto [step, next] = go(kEvent, moves_on, false);
      --next.events_left;
      next.threads[index].is_deaf = 0;
      return moves.add(*step, next);
    }
    case awaits_libc:
      if (state.libc_awaits) return;
      return moves.add(kWaitElsewhere, go(kWaitElsewhere, moves_on, false).second);
    case moves_on: {
      moves.add(kWait, go(kWait, waits, false).second);
      moves.add(kWaitElsewhere, go(kWaitElsewhere, waits, true).second);
      State next = go(kExit, gone, false).second;
      if (state.threads[index].libcs_signals) next.libc_awaits = 0;
      next.threads[index].libcs_signals = next.threads[index].signals = 0;
      moves.add(kExit, next);
      next = state;
      if (state.births_left > 0 && state.threads[2].at == nowhere) {
        --next.births_left;
        next.threads[2].at = moves_on;
        moves.add(kStart, next);
      }
      return change_user(state, index, moves);
    }
    default:
      return;
  }
}

void Parking::change_user(State state, int index, Moves<State>& moves) const {
  Thread& other = state.threads[index == 0 ? 1 : 0];
  if (state.changes_of_user_left == 0 || !is_alive(other)) return;
  --state.changes_of_user_left;
  ++other.libcs_signals;
  state.libc_awaits = 1;
  state.threads[index].at = awaits_libc;
  state.threads[index].has_left = 1;
  moves.add(parking_steps::kUser, state);
}

namespace {

TEST(Parking, takes_the_checkpoint_only_when_every_thread_stands) {
  Found found = explore(Parking());
  expect_no_fault(found);
  EXPECT_GT(found.states, 500000u);
}

struct Case {
  ParkingFault fault;
  const char* what;
  std::uint8_t events = 1;
};

class FaultyParking : public testing::TestWithParam<Case> {};

TEST_P(FaultyParking, is_found) {
  Found found = explore(Parking(GetParam().fault, GetParam().events));
  EXPECT_EQ(found.fault, GetParam().what) << found.path;
}

using enum ParkingFault;
INSTANTIATE_TEST_SUITE_P(
    Parking, FaultyParking,
    testing::Values(Case{sleeps_without_comparing, "something waits for ever"},
                    Case{wakes_before_ordering, "something waits for ever"},
                    Case{notes_before_the_frame, "a thread is noted without its frame"},
                    Case{restores_too_early, "libc's handler gets our signal"},
                    Case{forgets_libcs_handler, "libc's handler is lost"},
                    Case{overlooks_pending_signals, "a thread waits for a lost signal", 2},
                    Case{forgets_the_attempt, "libc's handler gets our signal"},
                    Case{swallows_libcs_signal, "libc's handler gets our signal"},
                    Case{compares_place_only, "a thread waits in another wait than was noted"},
                    Case{counts_no_threads, "a thread runs at the checkpoint"},
                    Case{awaits_without_limit, "something waits for ever"}));

}  // namespace
}  // namespace model
