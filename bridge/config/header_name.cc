#include "config/header_name.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <string>

#include "config/kinds.h"

namespace config {
namespace {

constexpr std::size_t kNameBytesMax = 64;

// Names that end with "-" stand for all that begin so.
constexpr auto kTaken = std::to_array<std::string_view>(
    {// RFC 3875 §6.3: what the program tells the web server.
     "Status", "Location", "Content-", "Script-",
     // RFC 9110 §7.6, RFC 9112: the connection and how a message ends.
     "Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "HTTP2-Settings",
     "Proxy-", "Via",
     // What web servers take from the head for themselves.
     "X-Accel-", "X-Sendfile", "X-Sendfile2", "X-Sendfile-", "X-LIGHTTPD-", "X-LiteSpeed-",
     "X-Reproxy-",
     // What caches and clients act on.
     "Accept-", "Access-Control-", "Age", "Allow", "Alt-Svc", "Authorization", "Cache-Control",
     "CDN-Cache-Control", "Surrogate-", "Clear-Site-Data", "Cookie", "Cross-Origin-", "Date",
     "ETag", "Expires", "Last-Modified", "Link", "NEL", "Origin-Agent-Cluster",
     "Permissions-Policy", "Pragma", "Public-Key-", "Range", "Referrer-Policy", "Refresh",
     "Report-To", "Reporting-Endpoints", "Retry-After", "Sec-", "Server", "Service-Worker-",
     "Set-Cookie", "Set-Cookie2", "SourceMap", "Strict-Transport-Security", "Timing-Allow-Origin",
     "Vary", "Warning", "WWW-Authenticate", "X-Content-Type-Options", "X-DNS-Prefetch-Control",
     "X-Frame-Options", "X-Robots-Tag", "X-UA-Compatible", "X-XSS-Protection"});

bool is_taken(std::string_view name) {
  return std::ranges::any_of(kTaken, [name](std::string_view taken) {
    if (name.size() < taken.size() || (name.size() > taken.size() && !taken.ends_with('-'))) {
      return false;
    }
    return ::strncasecmp(name.data(), taken.data(), taken.size()) == 0;
  });
}

}  // namespace

bool is_token(std::string_view text) {
  return !text.empty() && text.find_first_not_of(
                              "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "abcdefghijklmnopqrstuvwxyz") == std::string_view::npos;
}

base::Status check_header(std::string_view name) {
  if (name.empty() || (is_token(name) && name.size() <= kNameBytesMax)) return base::Done{};
  return base::Error{quote(name) + " is no header's name of at most 64 bytes, like \"X-CGI-Arm\""};
}

base::Status check_added_header(std::string_view name) {
  auto checked = check_header(name);
  if (!checked || !is_taken(name)) return checked;
  return base::Error{quote(name) +
                     " already has a meaning in answers: a name of its own is wanted, like "
                     "\"X-CGI-Arm\""};
}

}  // namespace config
