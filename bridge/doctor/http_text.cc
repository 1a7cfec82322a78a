#include "doctor/http_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace doctor {
namespace {

constexpr std::string_view kScheme = "http://";
constexpr std::size_t kUrlBytesMax = 4096;
constexpr std::size_t kFieldBytesMax = 200;

bool is_visible(char byte) {
  return byte > ' ' && byte < 0x7f;
}

bool is_same_word(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? a + 32 : a) == (b >= 'A' && b <= 'Z' ? b + 32 : b);
  });
}

}  // namespace

base::Result<AskedUrl> parse_url(std::string_view text) {
  const base::Error wrong{
      fmt::format("{}: not a URL like http://127.0.0.1/cgi-bin/hello.cgi", text)};
  if (text.starts_with("https://")) {
    return base::Error{
        fmt::format("{}: only http is spoken here: name a port of the web server "
                    "that takes it",
                    text)};
  }
  if (!text.starts_with(kScheme) || text.size() > kUrlBytesMax ||
      !std::ranges::all_of(text, is_visible)) {
    return wrong;
  }
  AskedUrl url{.text = std::string(text)};
  std::string_view rest = text.substr(kScheme.size());
  const std::size_t slash = std::min(rest.find_first_of("/?#"), rest.size());
  url.host = rest.substr(0, slash);
  url.target = rest.substr(slash, rest.find('#') - slash);
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  url.by_ipv6 = url.host.starts_with('[');
  const std::size_t name_end = url.by_ipv6 ? url.host.find(']') : 0;
  if (name_end == std::string::npos || url.host.find('@') != std::string::npos) return wrong;
  const std::size_t colon = url.host.find(':', name_end);
  const std::string port = colon == std::string::npos ? "80" : url.host.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
  const bool is_port = error == std::errc() && end == port.data() + port.size() && url.port > 0;
  if (url.host.empty() || colon == 0 || !is_port) return wrong;
  return url;
}

std::string request_text(const AskedUrl& url, std::string_view marker) {
  return fmt::format(
      "GET {} HTTP/1.0\r\nHost: {}\r\nUser-Agent: cgibridge-doctor\r\nAccept: */*\r\n"
      "Connection: close\r\nCGIBridge-Follow: {}\r\n\r\n",
      url.target, url.host, marker);
}

HttpAnswer parse_answer(std::string_view bytes) {
  HttpAnswer answer;
  // "HTTP/1.1 404 Not Found"
  if (!bytes.starts_with("HTTP/1.") || bytes.size() < 12) return answer;
  std::from_chars(bytes.data() + 9, bytes.data() + 12, answer.status);
  for (std::size_t end = bytes.find('\n'); end != bytes.npos; end = bytes.find('\n')) {
    bytes.remove_prefix(end + 1);
    std::string_view line = bytes.substr(0, bytes.find('\n'));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) break;
    const std::size_t colon = std::min(line.find(':'), line.size());
    std::string_view value = line.substr(std::min(colon + 1, line.size()));
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    const std::string_view name = line.substr(0, colon);
    if (is_same_word(name, "server")) answer.server = value.substr(0, kFieldBytesMax);
    if (is_same_word(name, "location")) answer.location = value.substr(0, kFieldBytesMax);
  }
  const std::size_t blank = bytes.find('\n');
  answer.is_source = blank != bytes.npos && bytes.substr(blank + 1).starts_with("#!");
  return answer;
}

}  // namespace doctor
