// What becomes of the checkpoint's threads in a request
// (adapters/checkpoint/rewind/threads_missing.c, threads_again.c and threads_end.c): two of them
// are missing until the first thread, or a handler that interrupts it, is about to wake or to name
// one; then they are made. One of them may end the request while they are being made, and another
// may start a further thread while all are being ended.
#pragma once

#include <array>
#include <cstdint>

#include "explorer.h"

namespace model {

enum class RequestFault : std::uint8_t {
  none,
  wakes_without_a_look,      // at whether the thread that waits is missing
  sleeps_without_comparing,  // a thread that is made after its wake-up
  claims_before_blocking,    // signals are blocked only after the making has been claimed
  notes_after_making,        // that no thread is missing, and that all were made
  ends_without_waiting,      // threads are told, and memory is put back at once
  tells_once,                // and not those that were started meanwhile
};

class RequestThreads {
 public:
  // Of a call of threads_needed(), by the first thread or by the handler that interrupts it.
  enum Call : std::uint8_t {
    idle,
    needs,
    sees,
    blocks,
    claims,
    marks,
    makes,
    unblocks,
    then_acts,
    acted
  };
  enum First : std::uint8_t {
    runs,
    ends,
    looks_alone,
    tells,
    puts_back,
    is_put_back,
    waits_to_be_ended
  };
  enum Place : std::uint8_t { missing, made, sleeps, works, waits_for_first, gone };
  enum Ender : std::uint8_t { nobody, calls_first, first_ends };
  static constexpr int kThreads = 3;  // the last is started by another
  struct State {
    std::uint8_t first = runs, ender = nobody, is_blocked = 0, is_told = 0, has_told = 0;
    std::uint8_t are_missing = 1, are_again = 0, copies = 0, is_posted = 0, has_worked = 0,
                 is_wrong = 0;
    std::uint8_t handler_left = 0, births_left = 1;
    std::array<std::uint8_t, 2> call{}, at{};  // of the first thread's own code; of its handler
    std::array<std::uint8_t, kThreads> place{missing, missing, gone}, told{};
    bool operator==(const State&) const = default;
  };

  // handlers: how often a signal interrupts the first thread, 0 or 1.
  explicit RequestThreads(RequestFault wrong = RequestFault::none, std::uint8_t handlers = 1)
      : wrong_(wrong), handlers_(handlers) {}

  State first() const {
    State state;
    state.call[0] = needs;
    state.handler_left = handlers_;
    return state;
  }

  void moves(const State& state, Moves<State>& moves) const {
    bool in_handler = state.call[1] != idle && state.call[1] != acted;
    if (state.first == runs) call(state, in_handler ? 1 : 0, moves);
    if (state.first != is_put_back) interrupt(state, moves);
    end(state, moves);
    for (int i = 0; i < kThreads; ++i) live(state, i, moves);
  }

  const char* fault(const State& state) const {
    if (state.is_wrong) return "a thread is named before it is there";
    if (state.copies > 2) return "a thread is there twice";
    if (state.first != is_put_back) return nullptr;
    for (std::uint8_t place : state.place) {
      if (place != missing && place != gone) return "a thread runs while memory is put back";
    }
    return nullptr;
  }

  // The thread that was woken has worked, unless the request ended first.
  bool is_over(const State& state) const { return state.first == is_put_back; }

 private:
  void call(State state, int who, Moves<State>& moves) const;
  void act(State state, int who, Moves<State>& moves) const;
  void interrupt(const State& state, Moves<State>& moves) const;
  void end(State state, Moves<State>& moves) const;
  void live(const State& state, int index, Moves<State>& moves) const;
  void leave(State state, int index, Moves<State>& moves) const;

  RequestFault wrong_;
  std::uint8_t handlers_;
};

}  // namespace model
