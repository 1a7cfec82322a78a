// What a FastCGI client did, as ServerConnection reports it.
#pragma once

#include <string>

#include "fastcgi/name_value.h"
#include "fastcgi/wire.h"

namespace fastcgi {

// After each event: the fields of Event that it sets besides type.
enum class EventType {
  request_ready,     // id, role, keep, params: PARAMS ended; the request may be launched
  stdin_bytes,       // id, bytes: a piece of the body, never empty
  stdin_end,         // id: the body is complete; comes once
  aborted,           // id: the client no longer wants an answer; comes once, perhaps before
                     //     request_ready. Still needs END_REQUEST (§5.4) and finish()
  params_too_large,  // id, keep: above ServerLimits::params_bytes_max; params so far are dropped.
                     //     Answer and finish() it; only aborted may still follow
  reply,             // reply, fate: send these bytes as they are, before any later record;
                     //     id, why: set if the reply refuses a request
  bad_record,        // why: close the connection and end its requests; this is the last event
};

// What happens to the connection once everything queued on it is sent.
enum class ConnectionFate { stays, closes };

struct Event {
  EventType type{};
  RequestId id = kManagementId;
  Role role = Role::responder;  // the only one so far; a reply refuses the others
  KeepConnection keep = KeepConnection::no;
  ByteView bytes;  // into the bytes fed; valid until next() says need_more or bad_record
  Params params;
  std::string reply;
  ConnectionFate fate = ConnectionFate::stays;
  std::string why;  // a sentence for the log
};

}  // namespace fastcgi
