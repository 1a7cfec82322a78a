#include "cgi/response_head.h"

#include <algorithm>

#include "base/assert.h"
#include "cgi/head_parser.h"

namespace cgi {
namespace {

// Whether c is a control byte that does not belong in a head. NUL is not included: it makes a head
// bad.
bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && byte != '\t' && byte != '\r' && byte != '\n' && byte != 0) || byte == 0x7f;
}

// Some lines end with CR LF and others with LF, or some with CR CR LF, which nginx and Apache take
// for one end. A CR elsewhere stays, and makes the head bad.
bool has_odd_ends(base::ByteView bytes) {
  if (bytes.find("\r\r\n") != base::ByteView::npos) return true;
  std::size_t all = 0, with_cr = 0;
  for (std::size_t at = bytes.find('\n'); at != base::ByteView::npos;
       at = bytes.find('\n', at + 1)) {
    ++all;
    with_cr += at > 0 && bytes[at - 1] == '\r';
  }
  return with_cr > 0 && with_cr < all;
}

std::string with_plain_ends(base::ByteView bytes) {
  std::string plain;
  for (const char c : bytes) {
    while (c == '\n' && plain.ends_with('\r')) plain.pop_back();
    plain += c;
  }
  return plain;
}

}  // namespace

std::string_view describe(HeadFault fault) {
  switch (fault) {
    case HeadFault::none:
      return "nothing is wrong with the head";
    case HeadFault::empty:
      return "the program ended without any output";
    case HeadFault::cut:
      return "the output ended before the blank line after the head";
    case HeadFault::too_long:
      return "the head is longer than the limit";
    case HeadFault::nul_byte:
      return "the head holds a NUL byte";
    case HeadFault::bare_cr:
      return "the head holds a CR without LF";
    case HeadFault::no_field:
      return "the head holds no header field";
    case HeadFault::bad_status:
      return "the head's status is no number from 200 to 999";
  }
  BRIDGE_ASSERT(false);
}

ResponseHeadReader::ResponseHeadReader(std::size_t head_bytes_max)
    : head_bytes_max_(head_bytes_max) {}

void ResponseHeadReader::reserve_name(std::string name, std::string_view setting) {
  reserved_names_.push_back({std::move(name), "the bridge's own (" + std::string(setting) + ")"});
}

HeadStep ResponseHeadReader::feed(base::ByteView chunk) {
  if (step_ != HeadStep::need_more || chunk.empty()) return step_;
  const std::size_t end = find_end(chunk);
  const std::size_t head_in_chunk = std::min(end, chunk.size());
  if (buffer_.empty()) single_chunk_ = chunk.substr(0, head_in_chunk);

  const bool is_complete = end != base::ByteView::npos;
  const std::size_t room = head_bytes_max_ - buffer_.size();
  // A head that fills the limit and has not ended can only become longer.
  if (is_complete ? head_in_chunk > room : head_in_chunk >= room) return fail(HeadFault::too_long);
  if (is_complete && buffer_.empty()) {
    body_ = chunk.substr(end);
    return parse(single_chunk_);
  }
  buffer_.append(chunk.substr(0, head_in_chunk));
  if (!is_complete) return step_;
  body_ = chunk.substr(end);
  return parse(buffer_);
}

HeadStep ResponseHeadReader::end() {
  if (step_ != HeadStep::need_more) return step_;
  return fail(buffer_.empty() ? HeadFault::empty : HeadFault::cut);
}

const ResponseHead& ResponseHeadReader::head() const {
  BRIDGE_ASSERT(step_ == HeadStep::complete);
  return head_;
}

// Where the head ends in chunk, or npos.
std::size_t ResponseHeadReader::find_end(base::ByteView chunk) {
  for (std::size_t start = 0;;) {
    const std::size_t newline = chunk.find('\n', start);
    const base::ByteView line = chunk.substr(start, newline - start);
    if (!line.empty()) {
      const bool is_cr =
          line_so_far_ != LineSoFar::text && line.find_first_not_of('\r') == line.npos;
      line_so_far_ = is_cr ? LineSoFar::cr : LineSoFar::text;
    }
    if (newline == base::ByteView::npos) return newline;
    if (line_so_far_ != LineSoFar::text) return newline + 1;
    line_so_far_ = LineSoFar::nothing;
    start = newline + 1;
  }
}

HeadStep ResponseHeadReader::fail(HeadFault fault) {
  fault_ = fault;
  return step_ = HeadStep::bad;
}

HeadStep ResponseHeadReader::parse(base::ByteView bytes) {
  if (std::any_of(bytes.begin(), bytes.end(), is_control)) {
    if (buffer_.empty()) buffer_ = bytes;
    head_.replaced_bytes =
        static_cast<std::size_t>(std::count_if(buffer_.begin(), buffer_.end(), is_control));
    std::replace_if(buffer_.begin(), buffer_.end(), is_control, ' ');
    bytes = buffer_;
  }
  // Apache's mod_proxy_fcgi finds no end in such a head, and its client gets nothing.
  if (has_odd_ends(bytes)) {
    buffer_ = with_plain_ends(bytes);
    bytes = buffer_;
  }
  const HeadFault fault =
      HeadParser(bytes, head_, rewritten_, {reserved_names_, server_redirects_}).parse();
  if (fault != HeadFault::none) return fail(fault);
  return step_ = HeadStep::complete;
}

}  // namespace cgi
