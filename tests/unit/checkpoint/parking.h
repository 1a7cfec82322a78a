// How the threads of a checkpoint are parked, noted and ended
// (adapters/checkpoint/rewind/threads_park.c and threads_rest.c): the first thread, two others, and
// one that these may start. What happens outside may end a wait. The first of them may be deaf at
// the beginning, as one that blocks all signals is; and one may change the user of all threads, for
// which libc sends the same signal to another and awaits it.
#pragma once

#include <array>
#include <cstdint>

#include "explorer.h"

namespace model {

// What is done otherwise than in the code.
enum class ParkingFault : std::uint8_t {
  none,
  sleeps_without_comparing,   // a wait that does not compare the order once more
  wakes_before_ordering,      // the wake-up comes before what it is about
  notes_before_the_frame,     // a thread is noted as parked before its frame is
  restores_too_early,         // libc's handler comes back although a thread has not come
  forgets_libcs_handler,      // what the second attempt finds installed is taken for libc's
  overlooks_pending_signals,  // a thread is told again although the first signal is still pending
  forgets_the_attempt,    // a note is a note, and an order an order, whatever attempt it belongs to
  swallows_libcs_signal,  // whoever sends the signal, it parks
  compares_place_only,    // not the arguments of a wait
  counts_no_threads,      // a thread that was started meanwhile is not noticed
  awaits_without_limit,   // a thread that does not come
};

class Parking {
 public:
  enum Place : std::uint8_t {
    nowhere,
    waits,
    awaits_libc,
    moves_on,
    enters,
    frames,
    notes,
    looks_at_order,
    compares,
    sleeps,
    gone
  };
  enum Order : std::uint8_t { stay, run, end };
  enum Row : std::uint8_t { told, stands, moved };
  enum Handler : std::uint8_t { libcs, ours };
  enum Leader : std::uint8_t {
    lists,
    looks,
    checks,
    gives_stay,
    installs,
    tells,
    awaits,
    counts,
    restores,
    gives_run,
    wakes_run,
    decides,
    gives_end,
    wakes_end,
    sees_end,
    ended,
    refused
  };
  static constexpr int kThreads = 3, kAttempts = 2, kQuietLooks = 2;
  struct Thread {
    std::uint8_t at = nowhere, from = waits, row = told, is_listed = 0, has_frame = 0, is_deaf = 0;
    std::uint8_t has_left = 0;                    // the wait in which it was seen
    std::uint8_t signals = 0, libcs_signals = 0;  // pending; ours by attempts, one bit each
    std::uint8_t told_in = 0, noted_in = 0;       // which attempt
    bool operator==(const Thread&) const = default;
  };
  struct State {
    std::uint8_t leader = lists, thread = 0, quiet = 0, attempt = 0, order = stay, order_of = 0,
                 handler = libcs;
    std::uint8_t saved = libcs, is_saved = 0, is_held = 0, all_stand = 0, all_came = 0;
    std::uint8_t libc_awaits = 0;  // another thread's handler
    std::uint8_t events_left = 0, births_left = 1, changes_of_user_left = 1, is_wrong = 0;
    std::array<Thread, kThreads> threads{};
    bool operator==(const State&) const = default;
  };

  // events: how often something outside ends a wait.
  explicit Parking(ParkingFault wrong = ParkingFault::none, std::uint8_t events = 1)
      : wrong_(wrong), events_(events) {}

  State first() const {
    State state;
    state.threads[0].at = state.threads[1].at = waits;
    state.threads[0].is_deaf = 1;
    state.events_left = events_;
    return state;
  }

  void moves(const State& state, Moves<State>& moves) const {
    switch (state.leader) {
      case lists:
      case looks:
      case checks:
        look(state, moves);
        break;
      case gives_stay:
      case installs:
      case tells:
      case awaits:
        park(state, moves);
        break;
      case counts:
      case restores:
      case decides:
        judge(state, moves);
        break;
      default:
        order(state, moves);
        break;
    }
    for (int i = 0; i < kThreads; ++i) {
      take_signals(state, i, moves);
      if (state.threads[i].at >= enters)
        handle(state, i, moves);
      else
        live(state, i, moves);
    }
  }

  const char* fault(const State& state) const {
    if (state.is_wrong) return "libc's handler gets our signal";
    if (state.leader != decides) return nullptr;
    if (state.handler != libcs) return "libc's handler is lost";
    for (const Thread& thread : state.threads) {
      if (!is_alive(thread)) continue;
      if (thread.row == stands && !thread.has_frame) return "a thread is noted without its frame";
      if (thread.at < looks_at_order || state.order != stay)
        return "a thread runs at the checkpoint";
      if (thread.has_left) return "a thread waits in another wait than was noted";
      if (thread.from == awaits_libc && state.libc_awaits)
        return "a thread waits for a lost signal";
    }
    return nullptr;
  }

  // Parked threads have ended; or the program goes on as if nothing had been done.
  bool is_over(const State& state) const {
    if (state.leader == ended) return true;
    if (state.leader != refused || (state.libc_awaits && !is_deaf_to_libc(state))) return false;
    for (const Thread& thread : state.threads) {
      if (is_alive(thread) && thread.at > moves_on) return false;  // still in the handler
    }
    return true;
  }

 private:
  static std::uint8_t bit(int attempt) { return static_cast<std::uint8_t>(1 << attempt); }
  bool is_of(std::uint8_t attempt, std::uint8_t other) const {
    return attempt == other || wrong_ == ParkingFault::forgets_the_attempt;
  }
  static bool is_alive(const Thread& thread) { return thread.at != nowhere && thread.at != gone; }
  // To the kernel, a thread to which a signal has been sent runs, even if no processor is free for
  // it.
  static bool rests(const Thread& thread) {
    bool is_called = (thread.signals | thread.libcs_signals) != 0 && !thread.is_deaf;
    return thread.at == sleeps || ((thread.at == waits || thread.at == awaits_libc) && !is_called);
  }
  static bool is_deaf_to_libc(const State& state) {
    return count(state,
                 [](const Thread& thread) { return thread.is_deaf && thread.libcs_signals; });
  }
  static int count(const State& state, bool (*is)(const Thread&)) {
    int sum = 0;
    for (const Thread& thread : state.threads) sum += is(thread);
    return sum;
  }
  // The next listed thread from state.thread on, or the next step of the first thread.
  static void go_on(State& state, Leader then) {
    while (state.thread < kThreads && !state.threads[state.thread].is_listed) ++state.thread;
    if (state.thread == kThreads) state.leader = then, state.thread = 0;
  }

  void look(State state, Moves<State>& moves) const;
  void park(State state, Moves<State>& moves) const;
  void judge(State state, Moves<State>& moves) const;
  void order(State state, Moves<State>& moves) const;
  void take_signals(const State& state, int index, Moves<State>& moves) const;
  void handle(State state, int index, Moves<State>& moves) const;
  void live(const State& state, int index, Moves<State>& moves) const;
  void change_user(State state, int index, Moves<State>& moves) const;

  ParkingFault wrong_;
  std::uint8_t events_;
};

}  // namespace model
