// Reads the head of a CGI response (RFC 3875 6) from a program's output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace cgi {

// RFC 3875 6.2. A redirect is "with document" if a body may follow it.
enum class ResponseKind {
  document,
  local_redirect,
  client_redirect,
  client_redirect_document,
};

// How the head was written: as a CGI program does, or as one that believes it talks to the client
// itself ("HTTP/1.1 200 OK", RFC 3875 5). A Status field overrides that line.
enum class HeadForm { parsed, nph };

enum class HeadStep { need_more, complete, bad };

// What is wrong with a bad head.
enum class HeadFault {
  none,
  empty,       // the program ended without any output
  cut,         // the output ended before the blank line
  too_long,    // no blank line within the limit
  nul_byte,    // a NUL byte
  bare_cr,     // a CR that no LF follows
  no_field,    // none of its lines is a header field
  bad_status,  // a Status that is not a number from 200 to 999
};

// A sentence for a log.
std::string_view describe(HeadFault fault);

// The views live as long as the reader that gave them; if the head came in a single chunk, they
// also need that chunk's bytes.
struct ResponseHead {
  int status = 200;  // from Status; otherwise 302 with a Location, 200 without
  ResponseKind kind = ResponseKind::document;
  HeadForm form = HeadForm::parsed;
  base::ByteView bytes;       // to be forwarded, blank line included
  std::string_view location;  // "": no Location
  std::optional<std::uint64_t> content_length;
  // Lines that were not passed on, and the first of them (cut to 200 bytes), for a warning.
  std::size_t dropped_lines = 0;
  std::string_view first_dropped;
  std::string why_dropped;         // "NAME: REASON" for each, up to a limit, joined by "; "
  std::size_t replaced_bytes = 0;  // control bytes that became spaces (RFC 9110 5.5)

  // RFC 9110 6.4.1. h2o 2.2 would send what follows a 204 or 304 to a client that takes it for the
  // answer to its next request.
  bool may_have_body() const { return status != 204 && status != 304; }
};

// A field name that a setting of the bridge has taken, and why a program's own field is dropped.
struct ReservedName {
  std::string name, why;
};

// A push parser. A good head without a Location is passed on byte for byte, and without a copy if
// the first chunk contains all of it. Lines left out, with a warning: those that are not header
// fields (cgitb's "<!--: spam", a stray sentence), folded lines, all but the last Status, Location,
// Content-Type and Content-Length, a Content-Length that is not a number, hop-by-hop fields
// (6.3.4), and what Connection names (RFC 9110 7.6.1). Control bytes except HTAB become spaces; NUL
// and a bare CR make the head bad. The first line of an NPH head becomes a Status field. In a head
// with a Location the Status comes last, and is added if a redirect to elsewhere has none.
//
//   ResponseHeadReader reader;
//   switch (reader.feed(chunk)) {
//     case HeadStep::complete: forward(reader.head().bytes); forward(reader.body()); ...
//
// After complete or bad, feed() and end() change nothing and give the same answer again.
class ResponseHeadReader {
 public:
  // head_bytes_max: the longest head, including its blank line.
  explicit ResponseHeadReader(std::size_t head_bytes_max = 64 * base::kKiB);
  ResponseHeadReader(const ResponseHeadReader&) = delete;
  ResponseHeadReader& operator=(const ResponseHeadReader&) = delete;

  // Fields with that name are dropped, because that setting makes the bridge send its own.
  void reserve_name(std::string name, std::string_view setting = "arm_header");

  // Whether the web server handles a local redirect itself (RFC 3875 6.2.2; the default is yes). If
  // it does not, a Location without a Status is a 302 like any other.
  void set_server_redirects(bool does) { server_redirects_ = does; }

  HeadStep feed(base::ByteView chunk);

  // The output has ended: a head that still needs more is now bad (empty or cut).
  HeadStep end();

  HeadFault fault() const { return fault_; }

  // Only after complete.
  const ResponseHead& head() const;

  // What followed the head in the chunk that completed it; borrowed from that chunk.
  base::ByteView body() const { return body_; }

  // What was read so far of a head that is bad or not complete, for a log; if it is bad, the
  // chunk must still be alive.
  base::ByteView seen() const { return buffer_.empty() ? single_chunk_ : buffer_; }

 private:
  // What the current line contains so far.
  enum class LineSoFar { nothing, cr, text };

  std::size_t find_end(base::ByteView chunk);
  HeadStep fail(HeadFault fault);
  HeadStep parse(base::ByteView bytes);

  std::size_t head_bytes_max_;
  std::vector<ReservedName> reserved_names_;
  bool server_redirects_ = true;
  HeadStep step_ = HeadStep::need_more;
  HeadFault fault_ = HeadFault::none;
  LineSoFar line_so_far_ = LineSoFar::nothing;
  std::string buffer_;           // the head's bytes from earlier chunks
  base::ByteView single_chunk_;  // the head, if one chunk contained all of it
  std::string rewritten_;        // the head to forward, if it differs from the one read
  base::ByteView body_;
  ResponseHead head_;
};

}  // namespace cgi
