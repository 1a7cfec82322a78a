// The client side of one FastCGI connection, as a pure state machine: a request in, bytes out;
// bytes in, events out.
#pragma once

#include <cstdint>
#include <string>

#include "fastcgi/record_reader.h"
#include "fastcgi/wire.h"

namespace fastcgi {

// After each event: the fields of ClientEvent that it sets besides type.
enum class ClientEventType {
  output,      // bytes: a piece of the request's standard output, never empty
  errors,      // bytes: a piece of its standard error, never empty
  end,         // app_status, protocol_status: the request is over, another may begin
  management,  // the application has answered a management record: it is there, and reading
  bad_record,  // why: close the connection and give up its request; this is the last event
};

struct ClientEvent {
  ClientEventType type{};
  ByteView bytes;  // into the bytes fed; valid until next() says need_more or bad_record
  std::uint32_t app_status = 0;
  ProtocolStatus protocol_status = ProtocolStatus::request_complete;
  std::string why;  // a sentence for the log
};

// Owned by the owner of the socket; does no I/O, and buffers at most part of an END_REQUEST. Sends
// one request at a time, to a Responder, and asks to keep the connection (§5.1 FCGI_KEEP_CONN).
// What is appended to out must be sent in that order.
class ClientConnection {
 public:
  // Appends BEGIN_REQUEST and all PARAMS. environment is "K=V\0K=V\0...", as execve() takes it. No
  // request may be open (a programmer error).
  void begin(std::string& out, ByteView environment);
  // Append the next piece of the body, then its end: once, even if the body is empty. Only between
  // begin() and the end of the request.
  void append_body(std::string& out, ByteView piece);
  void end_body(std::string& out);
  // Asks for the end of the open request (§5.4), which may come much later, or never.
  void abort(std::string& out);

  // Appends FCGI_GET_VALUES (§4.1): an answer shows that the application is reading. Many
  // applications close the connection after it.
  static void append_question(std::string& out);

  // Takes the bytes that follow those fed before. They are borrowed until next() says need_more or
  // bad_record; feeding again before that is a programmer error. Ignored after bad_record.
  void feed(ByteView bytes);
  EventStep next(ClientEvent& out);

  bool is_open() const { return open_; }           // begun and not ended
  bool body_ended() const { return body_ended_; }  // end_body() was called for the last request

 private:
  enum class Outcome { nothing, event };

  Outcome on_fragment(const Fragment& fragment, ClientEvent& out);
  Outcome on_end(const Fragment& fragment, ClientEvent& out);
  Outcome bad_record(std::string why, ClientEvent& out);

  RecordReader reader_;
  std::string cut_end_;  // the content of an END_REQUEST that was split across feeds
  bool open_ = false;
  bool body_ended_ = false;
  bool over_ = false;  // bad_record was reported
};

}  // namespace fastcgi
