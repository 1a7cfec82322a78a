// Runs ClientConnection over an application's bytes cut into pieces and records its events. Shared
// by the room's unit tests and its fuzz target.
#pragma once

#include <string>

#include "fastcgi/client_connection.h"
#include "unit/fastcgi/transcript.h"

namespace fastcgi::test {

inline std::string describe(const ClientEvent& event) {
  switch (event.type) {
    case ClientEventType::output:
      return "output " + readable(event.bytes);
    case ClientEventType::errors:
      return "errors " + readable(event.bytes);
    case ClientEventType::end:
      return "end " + std::to_string(event.app_status) + " " +
             std::to_string(static_cast<unsigned>(event.protocol_status));
    case ClientEventType::management:
      return "management";
    case ClientEventType::bad_record:
      return "bad: " + event.why;
  }
  return "no such event";
}

// For a connection with one open request: "output abc" (pieces joined), "end 0 0", "bad: ...".
inline Lines read_answer(const Pieces& pieces) {
  Lines lines;
  ClientConnection client;
  std::string request;
  client.begin(request, {});
  ClientEventType last = ClientEventType::bad_record;
  for (std::string_view piece : pieces) {
    const Borrowed borrowed(piece);
    client.feed(borrowed.view());
    ClientEvent event;
    while (client.next(event) == EventStep::event) {
      const bool is_stream =
          event.type == ClientEventType::output || event.type == ClientEventType::errors;
      if (is_stream && event.type == last) {
        lines.back() += readable(event.bytes);
      } else {
        lines.push_back(describe(event));
      }
      last = event.type;
    }
  }
  return lines;
}

}  // namespace fastcgi::test
