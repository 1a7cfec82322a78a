// Short names for what a client sends. Each returns whole records.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fastcgi/record_writer.h"
#include "unit/fastcgi/transcript.h"

namespace fastcgi::test {

// A BEGIN_REQUEST with any role number.
inline std::string begin_as(unsigned role, RequestId id, KeepConnection keep) {
  std::string out;
  append_begin_request(out, id, static_cast<Role>(role), keep);
  return out;
}

// Begins a Responder's request, without and with keep-alive.
inline std::string begin(RequestId id) {
  return begin_as(FCGI_RESPONDER, id, KeepConnection::no);
}
inline std::string keep(RequestId id) {
  return begin_as(FCGI_RESPONDER, id, KeepConnection::yes);
}

inline std::string params(RequestId id, const std::vector<NameValue>& list) {
  std::string out;
  append_stream(out, RecordType::params, id, pairs(list));
  return out;
}

inline std::string params_end(RequestId id) {
  std::string out;
  append_stream_end(out, RecordType::params, id);
  return out;
}

inline std::string body(RequestId id, std::string_view bytes) {
  std::string out;
  append_stream(out, RecordType::std_in, id, bytes);
  return out;
}

inline std::string stdin_end(RequestId id) {
  std::string out;
  append_stream_end(out, RecordType::std_in, id);
  return out;
}

inline std::string abort(RequestId id) {
  std::string out;
  append_abort_request(out, id);
  return out;
}

inline std::string get_values(const std::vector<std::string_view>& names) {
  std::string out;
  append_get_values(out, names);
  return out;
}

}  // namespace fastcgi::test
