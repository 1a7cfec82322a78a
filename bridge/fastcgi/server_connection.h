// The application's side of one FastCGI connection, as a pure state machine: bytes in, events out.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "fastcgi/record_reader.h"
#include "fastcgi/server_event.h"
#include "fastcgi/wire.h"

namespace fastcgi {

struct ServerLimits {
  std::size_t params_bytes_max = 1 * base::kMiB;  // one request's PARAMS stream
  unsigned requests_max = 64;                     // at once on one connection
  unsigned max_conns = 1;                         // answered to FCGI_MAX_CONNS
  unsigned max_reqs = 1;                          // answered to FCGI_MAX_REQS
};

// Owned by whoever owns the socket; does no I/O. Until request_ready hands them over it holds
// params, at most requests_max * params_bytes_max bytes (and up to as much again in spare
// capacity). It never keeps body bytes.
//
// A request is active from its BEGIN_REQUEST until finish(). Records of ids that are not active
// are ignored (§3.3), so whatever a client still sends for a finished request does no harm.
//
// Multiplexing is always offered (FCGI_MPXS_CONNS is 1). A caller that stops calling next(), since
// one request's body has no room, stops all requests of this connection, their aborts included.
// Replies grow with what a client sends: stop reading while unsent replies pile up.
class ServerConnection {
 public:
  // A FCGI_GET_VALUES record is bad above this; real ones have some 50 bytes.
  static constexpr std::size_t kGetValuesBytesMax = 4 * base::kKiB;

  explicit ServerConnection(const ServerLimits& limits) : limits_(limits) {}

  // Gives the bytes that follow those fed before. They are borrowed until next() says need_more or
  // bad_record; feeding again before that is a programmer's error. Ignored once it is over.
  void feed(ByteView bytes);

  EventStep next(Event& out);

  // The gateway queued the END_REQUEST of this active request; its id may be used again by the
  // client. Another id is a programmer's error. May be called between any two next().
  // closes: no request is active any more, and one of them had asked for no keep-alive (or a bad
  // record came): the connection is over, no event follows.
  ConnectionFate finish(RequestId id);

  std::size_t active_requests() const { return requests_.size(); }

  // Nothing is active, and what was fed ends with a whole record.
  bool between_requests() const { return requests_.empty() && reader_.between_records(); }

  // Whether another ServerConnection may go on from here: between requests, and the connection is
  // to stay open.
  bool at_rest() const { return between_requests() && !no_keep_ && !over_; }

 private:
  // params: PARAMS is being assembled. body: request_ready was told. complete: stdin_end too.
  // refused: params_too_large was told. aborted: the client gave it up. The last three only wait
  // for finish().
  enum class Phase { params, body, complete, refused, aborted };

  struct Request {
    Role role{};
    KeepConnection keep = KeepConnection::no;
    Phase phase = Phase::params;
    std::vector<char> params;  // of the PARAMS stream so far
  };

  // What a fragment led to: nothing that the caller need know, or an event in out.
  enum class Outcome { nothing, event };

  Outcome on_fragment(const Fragment& fragment, Event& out);
  Outcome on_management(const Fragment& fragment, Event& out);
  Outcome on_get_values(ByteView content, Event& out);
  Outcome on_begin(const Fragment& fragment, Event& out);
  Outcome start_request(RequestId id, const BeginBody& begin, Event& out);
  Outcome on_params(Request& request, const Fragment& fragment, Event& out);
  Outcome end_params(Request& request, RequestId id, Event& out);
  Outcome on_stdin(Request& request, const Fragment& fragment, Event& out);
  Outcome on_abort(Request& request, const Fragment& fragment, Event& out);

  Outcome refuse_request(RequestId id, const BeginBody& begin, ProtocolStatus status, Event& out);
  Outcome bad_record(std::string why, Event& out);
  bool assemble(const Fragment& fragment, ByteView& whole);
  ConnectionFate fate_after(KeepConnection keep);

  const ServerLimits limits_;
  RecordReader reader_;
  std::unordered_map<RequestId, Request> requests_;
  std::string assembled_;  // a BEGIN_REQUEST or GET_VALUES record that feeds cut
  bool no_keep_ = false;   // a request that is over had asked for the connection to be closed
  bool over_ = false;      // bad_record or closes was told; no event any more
};

}  // namespace fastcgi
