#include "cgi/head_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

namespace cgi {
namespace {

constexpr std::size_t kShownBytesMax = 200;

// RFC 9110 7.6.1; RFC 3875 6.3.4 leaves the connection to the server. Fields such as
// Proxy-Authenticate are only for a proxy to send to its client.
constexpr std::array<std::string_view, 6> kHopByHop = {
    "Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "Upgrade"};
constexpr std::string_view kProxy = "Proxy-";
// Fields that a CGI program sends to its server are never connection options.
constexpr std::array<std::string_view, 4> kOwn = {"Status", "Location", "Content-Type",
                                                  "Content-Length"};
enum : std::size_t { kStatus, kLocation, kType, kLength };  // in kOwn
// A limit on the text about dropped lines.
constexpr std::size_t kWhyBytesMax = 600;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

// "404" or "404 Not Found", or "404: gone", as nginx and Apache read it; an interim status (1xx)
// cannot be a final response.
std::optional<int> parse_status(std::string_view value) {
  if (value.size() < 3 || !all_digits(value.substr(0, 3))) return std::nullopt;
  if (value.size() > 3 && is_digit(value[3])) return std::nullopt;
  const int status = (value[0] - '0') * 100 + (value[1] - '0') * 10 + (value[2] - '0');
  return status < 200 ? std::nullopt : std::optional(status);
}

// None: not a number, or one that is too large and that each web server would read differently.
// Web servers count bodies in signed numbers: of a larger one HAProxy and lighttpd promise their
// client what never comes, and others answer with an error.
std::optional<std::uint64_t> parse_length(std::string_view value) {
  std::int64_t length = 0;
  const auto error = std::from_chars(value.data(), value.data() + value.size(), length).ec;
  if (!all_digits(value) || error != std::errc()) return std::nullopt;
  return static_cast<std::uint64_t>(length);
}

// RFC 3875 5: "HTTP/1.1 200 OK" gives "200 OK".
std::optional<std::string_view> nph_status(std::string_view line) {
  constexpr std::string_view kProtocol = "HTTP/";
  if (!line.starts_with(kProtocol)) return std::nullopt;
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const std::string_view version = line.substr(kProtocol.size(), blank - kProtocol.size());
  if (version.empty() || version.find_first_not_of("0123456789.") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t start = line.find_first_not_of(' ', blank);
  if (start == std::string_view::npos) return std::nullopt;
  return line.substr(start);
}

}  // namespace

HeadFault HeadParser::parse() {
  if (bytes_.find('\0') != base::ByteView::npos) return HeadFault::nul_byte;
  survey();
  for (std::size_t start = 0;;) {
    const std::size_t end = bytes_.find('\n', start) + 1;
    std::string_view line = bytes_.substr(start, end - 1 - start);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) break;
    if (line.find('\r') != std::string_view::npos) return HeadFault::bare_cr;

    const std::optional<std::string_view> nph = start == 0 ? nph_status(line) : std::nullopt;
    const Verdict verdict = nph ? take_nph(*nph) : judge(line);
    if (verdict == Verdict::status_is_bad) return HeadFault::bad_status;
    if (verdict == Verdict::drop) drop_line(line, start, end);
    if (verdict == Verdict::keep) ++fields_;
    start = end;
  }
  if (fields_ == 0 && head_.dropped_lines > 0) return HeadFault::no_field;
  // Only the blank line: mod_cgid answers 200 then, without a Content-Type.
  if (fields_ == 0) replace(0, 0, std::string("Status: 200 OK").append(bytes_));
  finish();
  return HeadFault::none;
}

// Of two fields the last one counts. Measured, given two with different values:
//
//                  Apache mod_cgid 2.4   lighttpd mod_cgi 1.4   fcgiwrap behind nginx 1.22
//   Content-Type   the last              both are sent          the last
//   Status         the last              the last               the first
//   Location       the last              both are sent          both are sent
//   Content-Length the web server counts                        the last
//
// Browsers refuse an answer with two different Locations, so the last one takes nothing away. An
// empty Location, or a Status or a length that is none, does not count if another one does.
void HeadParser::survey() {
  for (std::size_t start = 0; start < bytes_.size();) {
    const std::size_t end = std::min(bytes_.find('\n', start), bytes_.size());
    std::string_view line = bytes_.substr(start, end - start);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::optional<HeaderField> field = parse_header_field(line);
    if (field) note_last(*field);
    if (field && same_name(field->name, kHopByHop[0])) read_connection(field->value);
    start = end + 1;
  }
}

void HeadParser::note_last(const HeaderField& field) {
  const auto is = [&](std::size_t own) { return same_name(field.name, kOwn[own]); };
  if (is(kStatus)) {
    has_status_field_ = true;
    if (parse_status(field.value)) last_[kStatus] = field.name.data();
  } else if (is(kLocation)) {
    if (!field.value.empty()) last_[kLocation] = field.name.data();
  } else if (is(kType)) {
    last_[kType] = field.name.data();
  } else if (is(kLength)) {
    if (parse_length(field.value)) last_[kLength] = field.name.data();
  }
}

bool HeadParser::is_last(std::size_t own, const HeaderField& field) const {
  return last_[own] == field.name.data();
}

// If a head has both, the Status field is what the program wants its server to send, as in any
// other head, and the HTTP line before it is left out.
HeadParser::Verdict HeadParser::take_nph(std::string_view status_text) {
  head_.form = HeadForm::nph;
  if (has_status_field_) {
    replace(0, bytes_.find('\n') + 1, "");
    return Verdict::keep;
  }
  const std::optional<int> status = parse_status(status_text);
  if (!status) return Verdict::status_is_bad;
  head_.status = *status;
  has_status_ = true;
  replace(0, static_cast<std::size_t>(status_text.data() - bytes_.data()), "Status: ");
  separate_reason(status_text);
  return Verdict::keep;
}

// RFC 9110 7.6.1: the fields that Connection names are not forwarded.
void HeadParser::read_connection(std::string_view names) {
  constexpr std::string_view kBetween = " \t,";
  for (;;) {
    names.remove_prefix(std::min(names.find_first_not_of(kBetween), names.size()));
    if (names.empty()) return;
    const std::size_t length = std::min(names.find_first_of(kBetween), names.size());
    connection_names_.insert(names.substr(0, length));
    names.remove_prefix(length);
  }
}

bool HeadParser::belongs_to_connection(std::string_view name) const {
  const auto is = [name](std::string_view other) { return same_name(name, other); };
  return connection_names_.contains(name) && std::none_of(kOwn.begin(), kOwn.end(), is);
}

HeadParser::Verdict HeadParser::drop(std::string_view why) {
  why_ = why;
  return Verdict::drop;
}

HeadParser::Verdict HeadParser::judge(std::string_view line) {
  // A folded line (RFC 9112 5.2: obsolete) would be read differently by each web server.
  if (line.front() == ' ' || line.front() == '\t') return drop("a folded line");
  const std::optional<HeaderField> field = parse_header_field(line);
  return field ? judge_field(*field) : drop("no header field");
}

HeadParser::Verdict HeadParser::judge_field(const HeaderField& field) {
  const auto is = [&](std::string_view name) { return same_name(field.name, name); };
  if (is(kOwn[kStatus])) return judge_status(field);
  if (is("Content-Length")) return judge_length(field);
  if (is(kOwn[kLocation])) {
    if (field.value.empty()) return drop("it is empty");
    if (!is_last(kLocation, field)) return drop("a later one counts");
    has_location_ = true;
    head_.location = field.value;
    return Verdict::keep;
  }
  if (is(kOwn[kType])) {
    if (!is_last(kType, field)) return drop("a later one counts");
    has_type_ = true;
    return Verdict::keep;
  }
  for (const ReservedName& reserved : rules_.reserved_names) {
    if (is(reserved.name)) return drop(reserved.why);
  }
  if (same_name(field.name.substr(0, kProxy.size()), kProxy)) return drop("a proxy's own");
  if (std::any_of(kHopByHop.begin(), kHopByHop.end(), is)) {
    return drop("the connection is the web server's");
  }
  return belongs_to_connection(field.name) ? drop("Connection names it") : Verdict::keep;
}

HeadParser::Verdict HeadParser::judge_status(const HeaderField& field) {
  if (last_[kStatus] == nullptr) return Verdict::status_is_bad;
  const std::optional<int> status = parse_status(field.value);
  if (!status) return drop("no number from 200 to 999");
  if (!is_last(kStatus, field)) return drop("a later one counts");
  has_status_ = true;
  head_.status = *status;
  separate_reason(field.value);
  return Verdict::keep;
}

// Web servers send the reason to the client as it is.
void HeadParser::separate_reason(std::string_view status) {
  if (status.size() == 3 || status[3] == ' ' || status[3] == '\t') return;
  const auto at = static_cast<std::size_t>(status.data() + 3 - bytes_.data());
  replace(at, at, " ");
}

HeadParser::Verdict HeadParser::judge_length(const HeaderField& field) {
  const std::optional<std::uint64_t> length = parse_length(field.value);
  if (!length) return drop("no number of 63 bits");
  if (!is_last(kLength, field)) return drop("a later one counts");
  head_.content_length = length;
  return Verdict::keep;
}

void HeadParser::drop_line(std::string_view line, std::size_t start, std::size_t end) {
  if (head_.dropped_lines++ == 0) head_.first_dropped = line.substr(0, kShownBytesMax);
  replace(start, end, "");
  std::string& said = head_.why_dropped;
  if (said.size() >= kWhyBytesMax) return;
  const std::optional<HeaderField> field = parse_header_field(line);
  if (!said.empty()) said += "; ";
  said.append(field ? field->name.substr(0, kShownBytesMax) : line.substr(0, kShownBytesMax));
  said.append(": ").append(why_);
}

// HAProxy turns any status that it has read into a 302 when a Location comes after it. rewritten_
// must contain the whole head. added: the status, in place of the program's; empty: the program's.
void HeadParser::put_status_last(std::string_view added) {
  const std::string_view line_end = bytes_.ends_with("\r\n") ? "\r\n" : "\n";
  std::string line;
  if (!added.empty()) line.append("Status: ").append(added).append(line_end);
  for (std::size_t start = 0; start < rewritten_.size();) {
    const std::size_t end = rewritten_.find('\n', start) + 1;
    const auto field =
        parse_header_field(std::string_view(rewritten_).substr(start, end - 1 - start));
    if (field && same_name(field->name, kOwn[0])) {
      if (added.empty()) line = rewritten_.substr(start, end - start);
      rewritten_.erase(start, end - start);
      break;
    }
    start = end;
  }
  rewritten_.insert(rewritten_.size() - line_end.size(), line);
}

void HeadParser::replace(std::size_t start, std::size_t end, std::string_view with) {
  if (!is_rewritten_) rewritten_.reserve(bytes_.size() + with.size());
  is_rewritten_ = true;
  rewritten_.append(bytes_.substr(copied_, start - copied_)).append(with);
  copied_ = end;
}

void HeadParser::finish() {
  // RFC 3875 6.2.3: a redirect without a Status is a 302. nginx knows that, but Apache's
  // mod_proxy_fcgi would make it a 200. A local redirect is left to a web server that follows it.
  // mod_cgi and mod_fcgid make a redirect of a 200 with a Location, and mod_proxy_fcgi does not.
  if (has_location_ && head_.status == 200 && !rules_.server_redirects) has_status_ = false;
  const bool is_local = has_location_ && head_.location.front() == '/' && rules_.server_redirects;
  const bool needs_status = has_location_ && !has_status_ && !is_local;
  if (is_rewritten_ || has_location_) rewritten_.append(bytes_.substr(copied_));
  is_rewritten_ = is_rewritten_ || has_location_;
  if (needs_status || (has_location_ && has_status_)) {
    put_status_last(needs_status ? "302 Found" : "");
  }
  head_.bytes = is_rewritten_ ? base::ByteView(rewritten_) : bytes_;
  if (!has_location_) return;
  if (!has_status_) {
    head_.status = 302;
    if (is_local) {
      head_.kind = ResponseKind::local_redirect;
      return;
    }
  }
  // With any other status, such as 201, a Location is an ordinary field.
  if (head_.status < 300 || head_.status > 399) return;
  head_.kind = has_type_ ? ResponseKind::client_redirect_document : ResponseKind::client_redirect;
}

}  // namespace cgi
