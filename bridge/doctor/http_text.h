// The one HTTP request that the doctor sends, and what it understands of the answer. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace doctor {

// A URL of this machine's web server. The request goes to the loopback address, whatever the host:
// that is only what the server is told, so that it chooses the right site.
struct AskedUrl {
  std::string text = {};  // as it was given
  std::string host = {};  // for the header Host
  bool by_ipv6 = false;   // to ::1 instead of 127.0.0.1
  std::uint16_t port = 80;
  std::string target = {};  // path and query, "/cgi-bin/a.cgi?x=1"

  std::string_view path() const { return std::string_view(target).substr(0, target.find('?')); }
};

// Accepts only "http://HOST[:PORT]/PATH" without blanks and control bytes.
base::Result<AskedUrl> parse_url(std::string_view text);

// The request: an HTTP/1.0 GET with that marker in the header that journal/followers.h names.
std::string request_text(const AskedUrl& url, std::string_view marker);

// The beginning of an answer.
struct HttpAnswer {
  int status = 0;  // 0: it is not HTTP
  std::string server = {}, location = {};
  bool is_source = false;  // its body begins with #!
};
HttpAnswer parse_answer(std::string_view bytes);

}  // namespace doctor
