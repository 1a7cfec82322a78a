// What is on a connection between a request's params and its END_REQUEST, as the connection sees
// it.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/out_buffer.h"
#include "fastcgi/wire.h"

namespace gateway {

// Where a request's answer goes: its connection, as far as the request knows about it.
class Answer {
 public:
  virtual ~Answer() = default;
  virtual base::OutBuffer& out() = 0;
  virtual bool has_room() const = 0;
  virtual void wrote() = 0;
  // A piece of the body found (no) room: reading from the connection may (not) go on.
  virtual void body_room_changed() = 0;
  // Sends END_REQUEST with this exit code. A request whose program goes on then belongs to the
  // gateway; any other is destroyed at the end of the turn.
  virtual void finish(fastcgi::RequestId id, std::uint32_t app_status) = 0;
  // The answer cannot be completed and must not look complete.
  virtual void break_off(fastcgi::RequestId id, std::uint32_t app_status) = 0;
};

// One request: for a program (Request), or for the bridge's own page (PageExchange). Owned by its
// connection. Its answer goes to the Answer that it was made with.
class Exchange {
 public:
  Exchange() = default;
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // The body, as it arrives.
  virtual void body_bytes(base::ByteView piece) = 0;
  virtual void body_end() = 0;
  // Whether nothing more is to be read from the connection until body_room_changed().
  virtual bool body_full() const = 0;
  virtual bool body_complete() const = 0;

  // The connection has room again.
  virtual void resume() = 0;

  // Whether its client has no reason to wait any longer, even if the program may still do
  // something.
  virtual bool answer_is_whole() const = 0;

  // Goes on without its client: the rest of its answer goes to answer. Only if answer_is_whole().
  virtual void move_to(Answer& answer) = 0;

  // Nobody waits for it any more: from now on it answers nothing.
  virtual void cancel() = 0;
};

}  // namespace gateway
