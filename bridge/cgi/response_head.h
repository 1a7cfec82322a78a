// Reads the head of a CGI response (RFC 3875 6) out of a program's output.
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

// How the head was spelled: by a CGI program, or by one that believes it talks to the client
// itself ("HTTP/1.1 200 OK", RFC 3875 5). A Status field says more than that line.
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
  no_field,    // no line of it is a header field
  bad_status,  // a Status that is no number from 200 to 999
};

// A sentence for a log.
std::string_view describe(HeadFault fault);

// The views live as long as the reader that gave them; those of a head that came in a single chunk
// only as long as that chunk's bytes.
struct ResponseHead {
  int status = 200;  // from Status; else 302 with a Location, 200 without
  ResponseKind kind = ResponseKind::document;
  HeadForm form = HeadForm::parsed;
  base::ByteView bytes;       // to be forwarded, blank line included
  std::string_view location;  // "" = no Location
  std::optional<std::uint64_t> content_length;
  // Lines that were not passed on, and the first of them (cut to 200 bytes), for a warning.
  std::size_t dropped_lines = 0;
  std::string_view first_dropped;
  std::string why_dropped;         // "NAME: REASON" of each, up to a bound, with "; " between them
  std::size_t replaced_bytes = 0;  // control bytes, by spaces (RFC 9110 5.5)
};

// A field's name that a setting of the bridge has taken, and what is said of a program's own.
struct ReservedName {
  std::string name, why;
};

// A push parser. A good head is passed on byte for byte, and without a copy if the first chunk
// holds all of it. Passed over, with a warning: lines that are no header field (cgitb's
// "<!--: spam", a stray sentence), folded lines, repeated Status, Location, Content-Type and
// Content-Length, a Content-Length that is no number, hop-by-hop fields (6.3.4), and what
// Connection names (RFC 9110 7.6.1). Control bytes but HTAB become spaces; NUL and a bare CR make
// it bad. Of an NPH head the first line becomes a Status field, and a redirect to elsewhere without
// a Status gets one.
//
//   ResponseHeadReader reader;
//   switch (reader.feed(chunk)) {
//     case HeadStep::complete: forward(reader.head().bytes); forward(reader.body()); ...
//
// After complete or bad, feed() and end() change nothing and give the same answer again.
class ResponseHeadReader {
 public:
  // head_bytes_max: the longest head, blank line included.
  explicit ResponseHeadReader(std::size_t head_bytes_max = 64 * base::kKiB);
  ResponseHeadReader(const ResponseHeadReader&) = delete;
  ResponseHeadReader& operator=(const ResponseHeadReader&) = delete;

  // Fields of that name are dropped: the bridge gives it, by that setting.
  void reserve_name(std::string name, std::string_view setting = "arm_header");

  // Whether the web server follows a local redirect by itself (RFC 3875 6.2.2; it does unless said
  // otherwise). To one that does not, a Location without a Status is a 302 like any other.
  void set_server_redirects(bool does) { server_redirects_ = does; }

  HeadStep feed(base::ByteView chunk);

  // The output has ended: what was need_more is bad (empty or cut) now.
  HeadStep end();

  HeadFault fault() const { return fault_; }

  // Only after complete.
  const ResponseHead& head() const;

  // What stood behind the head in the chunk that completed it; borrowed from that chunk.
  base::ByteView body() const { return body_; }

  // What was read so far of a head that is bad or not complete, for a log; of a bad one the
  // chunk must still live.
  base::ByteView seen() const { return buffer_.empty() ? single_chunk_ : buffer_; }

 private:
  // What the line under way holds so far.
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
  std::string buffer_;           // what earlier chunks held
  base::ByteView single_chunk_;  // the head, if one chunk held all of it
  std::string rewritten_;        // the head to forward, if it differs from the one read
  base::ByteView body_;
  ResponseHead head_;
};

}  // namespace cgi
