// What a FastCGI client did, as ServerConnection tells it.
#pragma once

#include <string>

#include "fastcgi/name_value.h"
#include "fastcgi/wire.h"

namespace fastcgi {

// With each event: the fields of Event that it sets beside type.
enum class EventType {
  request_ready,     // id, role, keep, params: PARAMS ended; the request may be launched
  stdin_bytes,       // id, bytes: a piece of the body, never empty
  stdin_end,         // id: the body is whole; comes once
  aborted,           // id: the client wants no answer any more, also before request_ready; once.
                     //     Still to be answered by END_REQUEST (§5.4) and finish()ed
  params_too_large,  // id, keep: over ServerLimits::params_bytes_max, params so far are dropped.
                     //     Answer and finish() it; no event but aborted follows
  reply,             // reply, fate: send these bytes as they are, before any later record;
                     //     id, why: if they refuse a request
  bad_record,        // why: close the connection and end its requests; the last event of it
};

// What becomes of the connection once everything queued on it is sent.
enum class ConnectionFate { stays, closes };

struct Event {
  EventType type{};
  RequestId id = kManagementId;
  Role role = Role::responder;  // the only one so far: others are refused by a reply
  KeepConnection keep = KeepConnection::no;
  ByteView bytes;  // into the bytes fed; valid until next() says need_more or bad_record
  Params params;
  std::string reply;
  ConnectionFate fate = ConnectionFate::stays;
  std::string why;  // a sentence for the log
};

}  // namespace fastcgi
