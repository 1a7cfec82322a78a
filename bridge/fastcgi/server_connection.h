// The application side of one FastCGI connection, as a pure state machine: bytes in, events out.
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
  unsigned requests_max = 64;                     // open at once on one connection
  unsigned max_conns = 1;                         // the answer to FCGI_MAX_CONNS
  unsigned max_reqs = 1;                          // the answer to FCGI_MAX_REQS
};

// Owned by the owner of the socket; does no I/O. It holds params until request_ready hands them
// over: at most requests_max * params_bytes_max bytes (and up to as much again in spare capacity).
// It never keeps body bytes.
//
// A request is active from its BEGIN_REQUEST until finish(). Records of ids that are not active
// are ignored (§3.3), so what a client still sends for a finished request does no harm.
//
// Multiplexing is always offered (FCGI_MPXS_CONNS is 1). A caller that stops calling next() because
// there is no room for one request's body stops all requests of this connection, including their
// aborts. Replies grow with what a client sends, so stop reading while unsent replies pile up.
class ServerConnection {
 public:
  // A larger FCGI_GET_VALUES record is bad; real ones have about 50 bytes.
  static constexpr std::size_t kGetValuesBytesMax = 4 * base::kKiB;

  explicit ServerConnection(const ServerLimits& limits) : limits_(limits) {}

  // Takes the bytes that follow those fed before. They are borrowed until next() says need_more or
  // bad_record; feeding again before that is a programmer error. Ignored once the connection is
  // over.
  void feed(ByteView bytes);

  EventStep next(Event& out);

  // The gateway has queued the END_REQUEST of this active request, so the client may use its id
  // again. Any other id is a programmer error. May be called between any two calls of next().
  // Returns closes if no request is active any more and one of them did not ask for keep-alive (or
  // a bad record came): the connection is over, and no event follows.
  ConnectionFate finish(RequestId id);

  std::size_t active_requests() const { return requests_.size(); }

  // No request is active, and what was fed ends with a whole record.
  bool between_requests() const { return requests_.empty() && reader_.between_records(); }

  // Whether another ServerConnection may continue from here: no request is under way, and the
  // connection is to stay open.
  bool at_rest() const { return between_requests() && !no_keep_ && !over_; }

 private:
  // params: PARAMS is being assembled. body: request_ready was reported. complete: stdin_end too.
  // refused: params_too_large was reported. aborted: the client gave it up. In the last three
  // phases the request only waits for finish().
  enum class Phase { params, body, complete, refused, aborted };

  struct Request {
    Role role{};
    KeepConnection keep = KeepConnection::no;
    Phase phase = Phase::params;
    std::vector<char> params;  // the PARAMS stream so far
  };

  // What a fragment led to: nothing that the caller needs to know, or an event in out.
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
  std::string assembled_;  // a BEGIN_REQUEST or GET_VALUES record split across feeds
  bool no_keep_ = false;   // a finished request did not ask to keep the connection
  bool over_ = false;      // bad_record or closes was reported; no event follows
};

}  // namespace fastcgi
