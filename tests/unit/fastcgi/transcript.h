// Runs a FastCGI parser over bytes cut into pieces and records its events, so that two runs over
// the same bytes can be compared. Shared by the room's unit tests and its fuzz targets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fastcgi/server_connection.h"

namespace fastcgi::test {

using Lines = std::vector<std::string>;
using Pieces = std::vector<std::string_view>;

// Which requests the caller finishes: none, or each as soon as its answer is due (stdin_end,
// aborted, params_too_large).
enum class Finishing { never, when_due };

inline Lines read_records(const Pieces& pieces);

// A piece in heap memory of exactly its size, so that a sanitizer notices any byte that is read
// outside of it, or after its release.
struct Borrowed {
  explicit Borrowed(std::string_view bytes) : memory(new char[bytes.size()]), size(bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), memory.get());
  }
  std::string_view view() const { return {memory.get(), size}; }

  std::unique_ptr<char[]> memory;
  std::size_t size;
};

inline std::string type_name(RecordType type) {
  switch (type) {
    case RecordType::begin_request:
      return "BEGIN_REQUEST";
    case RecordType::abort_request:
      return "ABORT_REQUEST";
    case RecordType::end_request:
      return "END_REQUEST";
    case RecordType::params:
      return "PARAMS";
    case RecordType::std_in:
      return "STDIN";
    case RecordType::std_out:
      return "STDOUT";
    case RecordType::std_err:
      return "STDERR";
    case RecordType::data:
      return "DATA";
    case RecordType::get_values:
      return "GET_VALUES";
    case RecordType::get_values_result:
      return "GET_VALUES_RESULT";
    case RecordType::unknown_type:
      return "UNKNOWN_TYPE";
  }
  return "type " + std::to_string(static_cast<unsigned>(type));
}

// Writes bytes outside of printable ASCII as \xNN.
inline std::string readable(std::string_view bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (unsigned char byte : bytes) {
    if (byte >= 0x20 && byte < 0x7f && byte != '\\') {
      out += static_cast<char>(byte);
    } else {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

inline std::string fate_name(ConnectionFate fate) {
  return fate == ConnectionFate::closes ? ", closes" : ", stays";
}

inline std::string describe(const Event& event) {
  const std::string id = " " + std::to_string(event.id);
  const std::string keep = event.keep == KeepConnection::yes ? " keep" : " close";
  switch (event.type) {
    case EventType::request_ready: {
      std::string line = "request_ready" + id + keep;
      for (const auto& [name, value] : event.params) {
        line += " " + readable(name) + "=" + readable(value);
      }
      return line;
    }
    case EventType::stdin_bytes:
      return "stdin" + id + " " + readable(event.bytes);
    case EventType::stdin_end:
      return "stdin_end" + id;
    case EventType::aborted:
      return "aborted" + id;
    case EventType::params_too_large:
      return "params_too_large" + id + keep;
    case EventType::reply: {
      std::string line = "reply";
      for (const std::string& record : read_records({event.reply})) line += " " + record;
      return line + fate_name(event.fate);
    }
    case EventType::bad_record:
      return "bad_record: " + event.why;
  }
  return "no such event";
}

inline bool is_answer_due(EventType type) {
  return type == EventType::stdin_end || type == EventType::aborted ||
         type == EventType::params_too_large;
}

// Adds an event; a piece of a body continues the line of the previous piece.
inline void add_event(const Event& event, EventType& last_type, RequestId& last_id, Lines& lines) {
  const bool continues = event.type == EventType::stdin_bytes && last_type == event.type &&
                         last_id == event.id && !lines.empty();
  if (continues) {
    lines.back() += readable(event.bytes);
  } else {
    lines.push_back(describe(event));
  }
  last_type = event.type;
  last_id = event.id;
}

// A record with any header and any padding, valid or not.
inline std::string raw_record(unsigned type, RequestId id, std::string_view content,
                              std::size_t padding = 0, unsigned version = FCGI_VERSION_1) {
  HeaderBytes header = encode_header({.type = static_cast<RecordType>(type),
                                      .id = id,
                                      .content_length = static_cast<std::uint16_t>(content.size()),
                                      .padding_length = static_cast<std::uint8_t>(padding)});
  header[0] = static_cast<char>(version);
  std::string out(header.data(), header.size());
  out += content;
  return out.append(padding, '\xee');
}

// A PARAMS stream's content.
inline std::string pairs(const std::vector<NameValue>& list) {
  std::string out;
  for (const auto& [name, value] : list) append_name_value(out, name, value);
  return out;
}

// Cuts bytes in two.
inline Pieces cut_at(std::string_view bytes, std::size_t at) {
  return {bytes.substr(0, at), bytes.substr(at)};
}

// Makes each byte a piece.
inline Pieces cut_everywhere(std::string_view bytes) {
  Pieces pieces;
  for (std::size_t at = 0; at < bytes.size(); ++at) pieces.push_back(bytes.substr(at, 1));
  return pieces;
}

// Cut before each of the ascending cuts.
inline Pieces cut_before(std::string_view bytes, const std::vector<std::size_t>& cuts) {
  Pieces pieces;
  std::size_t from = 0;
  for (std::size_t cut : cuts) {
    pieces.push_back(bytes.substr(from, cut - from));
    from = cut;
  }
  pieces.push_back(bytes.substr(from));
  return pieces;
}

// Records as RecordReader reports them: "STDIN 1 abc". Fragments of one record are joined, an
// unfinished record ends with "...", and "bad_record" ends the list.
inline Lines read_records(const Pieces& pieces) {
  Lines lines;
  RecordReader reader;
  Fragment fragment;
  bool is_open = false;
  for (std::string_view piece : pieces) {
    const Borrowed borrowed(piece);
    reader.feed(borrowed.view());
    Step step;
    while ((step = reader.next(fragment)) == Step::fragment) {
      if (fragment.is_first()) {
        lines.push_back(type_name(fragment.header.type) + " " + std::to_string(fragment.header.id) +
                        " ");
      }
      lines.back() += readable(fragment.content);
      is_open = !fragment.is_last();
    }
    if (step == Step::bad_record) {
      lines.push_back("bad_record");
      return lines;
    }
  }
  if (is_open) lines.back() += "...";
  return lines;
}

// The events of ServerConnection: "request_ready 1 keep A=b", "stdin 1 abc" (pieces joined), "reply
// UNKNOWN_TYPE 0 ..., stays", "finish 1, closes" and so on.
inline Lines run_connection(const ServerLimits& limits, const Pieces& pieces,
                            Finishing finishing = Finishing::when_due) {
  Lines lines;
  ServerConnection connection(limits);
  EventType last_type = EventType::reply;
  RequestId last_id = 0;
  for (std::string_view piece : pieces) {
    const Borrowed borrowed(piece);
    connection.feed(borrowed.view());
    Event event;
    while (connection.next(event) == EventStep::event) {
      add_event(event, last_type, last_id, lines);
      if (finishing == Finishing::when_due && is_answer_due(event.type)) {
        lines.push_back("finish " + std::to_string(event.id) +
                        fate_name(connection.finish(event.id)));
      }
    }
  }
  return lines;
}

}  // namespace fastcgi::test
