#include "cgi/head_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace cgi {
namespace {

constexpr std::size_t kShownBytesMax = 200;

// RFC 9110 7.6.1; RFC 3875 6.3.4 leaves the connection to the server.
constexpr std::array<std::string_view, 7> kHopByHop = {
    "Connection", "Keep-Alive",        "Proxy-Connection", "TE",
    "Trailer",    "Transfer-Encoding", "Upgrade"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

// "404" or "404 Not Found"; an interim status (1xx) can't stand for a response.
std::optional<int> parse_status(std::string_view value) {
  if (value.size() < 3 || !all_digits(value.substr(0, 3))) return std::nullopt;
  if (value.size() > 3 && value[3] != ' ' && value[3] != '\t') return std::nullopt;
  const int status = (value[0] - '0') * 100 + (value[1] - '0') * 10 + (value[2] - '0');
  return status < 200 ? std::nullopt : std::optional(status);
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

// True the first time.
bool first(bool& seen) {
  return !std::exchange(seen, true);
}

}  // namespace

HeadFault HeadParser::parse() {
  if (bytes_.find('\0') != base::ByteView::npos) return HeadFault::nul_byte;
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
  if (fields_ == 0) return HeadFault::no_field;
  finish();
  return HeadFault::none;
}

HeadParser::Verdict HeadParser::take_nph(std::string_view status_text) {
  const std::optional<int> status = parse_status(status_text);
  if (!status) return Verdict::status_is_bad;
  head_.status = *status;
  head_.form = HeadForm::nph;
  has_status_ = true;
  replace(0, static_cast<std::size_t>(status_text.data() - bytes_.data()), "Status: ");
  return Verdict::keep;
}

HeadParser::Verdict HeadParser::judge(std::string_view line) {
  // A folded line (RFC 9112 5.2: obsolete) would be read differently by each web server.
  if (line.front() == ' ' || line.front() == '\t') return Verdict::drop;
  const std::optional<HeaderField> field = parse_header_field(line);
  return field ? judge_field(*field) : Verdict::drop;
}

HeadParser::Verdict HeadParser::judge_field(const HeaderField& field) {
  const auto is = [&](std::string_view name) { return same_name(field.name, name); };
  if (is("Status")) {
    if (!first(has_status_)) return Verdict::drop;
    const std::optional<int> status = parse_status(field.value);
    if (!status) return Verdict::status_is_bad;
    head_.status = *status;
    return Verdict::keep;
  }
  if (is("Location")) {
    if (field.value.empty() || !first(has_location_)) return Verdict::drop;
    head_.location = field.value;
    return Verdict::keep;
  }
  if (is("Content-Type")) return first(has_type_) ? Verdict::keep : Verdict::drop;
  if (is("Content-Length")) {
    if (!all_digits(field.value) || !first(has_length_)) return Verdict::drop;
    std::uint64_t length = 0;
    const auto [end, error] =
        std::from_chars(field.value.data(), field.value.data() + field.value.size(), length);
    if (error == std::errc()) head_.content_length = length;
    return Verdict::keep;
  }
  return std::any_of(kHopByHop.begin(), kHopByHop.end(), is) ? Verdict::drop : Verdict::keep;
}

void HeadParser::drop_line(std::string_view line, std::size_t start, std::size_t end) {
  if (head_.dropped_lines++ == 0) head_.first_dropped = line.substr(0, kShownBytesMax);
  replace(start, end, "");
}

void HeadParser::add_status(std::string_view status) {
  const std::string_view line_end = bytes_.ends_with("\r\n") ? "\r\n" : "\n";
  rewritten_.insert(0, std::string("Status: ").append(status).append(line_end));
  is_rewritten_ = true;
}

void HeadParser::replace(std::size_t start, std::size_t end, std::string_view with) {
  if (!is_rewritten_) rewritten_.reserve(bytes_.size() + with.size());
  is_rewritten_ = true;
  rewritten_.append(bytes_.substr(copied_, start - copied_)).append(with);
  copied_ = end;
}

void HeadParser::finish() {
  // RFC 3875 6.2.3: a redirect without a Status is a 302. nginx knows that, but Apache's
  // mod_proxy_fcgi would make it a 200. A local redirect is the web server's to follow.
  if (has_location_ && !has_status_ && head_.location.front() != '/') add_status("302 Found");
  if (is_rewritten_) rewritten_.append(bytes_.substr(copied_));
  head_.bytes = is_rewritten_ ? base::ByteView(rewritten_) : bytes_;
  if (!has_location_) return;
  if (!has_status_) {
    head_.status = 302;
    // RFC 3875 6.2.2.
    if (head_.location.front() == '/') {
      head_.kind = ResponseKind::local_redirect;
      return;
    }
  }
  // A Location beside any other status, as 201, is a field like others.
  if (head_.status < 300 || head_.status > 399) return;
  head_.kind = has_type_ ? ResponseKind::client_redirect_document : ResponseKind::client_redirect;
}

}  // namespace cgi
