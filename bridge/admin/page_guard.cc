#include "admin/page_guard.h"

#include <fmt/format.h>
#include <strings.h>
#include <sys/random.h>

#include "base/assert.h"

namespace admin {
namespace {

// Takes the same time wherever a and b differ.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

bool same_host(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// "example.org:8080" from "https://example.org:8080"; empty for "null".
std::string_view host_of(std::string_view origin) {
  const std::size_t scheme = origin.find("://");
  return scheme == origin.npos ? std::string_view() : origin.substr(scheme + 3);
}

std::string_view without_port(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const bool is_port = colon != host.npos && host.find(']', colon) == host.npos;
  return is_port ? host.substr(0, colon) : host;
}

// nginx's own fastcgi_params send HTTP_HOST without its port: then only the names are compared, and
// another port of the same name is left to Sec-Fetch-Site and the token.
bool same_place(std::string_view origin, std::string_view host) {
  const std::string_view from = host_of(origin);
  return !host.empty() && (same_host(from, host) ||
                           (without_port(host) == host && same_host(without_port(from), host)));
}

bool is_json(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find_first_of("; "));
  return same_host(type, "application/json");
}

}  // namespace

std::string random_hex(std::size_t bytes) {
  // Up to 256 bytes come in one piece (getrandom(2)).
  std::vector<unsigned char> random(bytes);
  BRIDGE_ASSERT(::getrandom(random.data(), bytes, 0) == static_cast<ssize_t>(bytes));
  return fmt::format("{:02x}", fmt::join(random, ""));
}

std::optional<std::string> PageGuard::objection(const gateway::PageRequest& request) const {
  const std::string_view site = request.variable("HTTP_SEC_FETCH_SITE");
  if (!site.empty() && site != "same-origin") {
    return fmt::format("it comes from another site (Sec-Fetch-Site: {})", site);
  }
  const std::string_view origin = request.variable("HTTP_ORIGIN");
  const std::string_view host = request.variable("HTTP_HOST");
  if (!origin.empty() && !same_place(origin, host)) {
    return fmt::format("it comes from {}, and the page is at {}", origin, host);
  }
  if (!is_json(request.variable("CONTENT_TYPE"))) return "its body is not application/json";
  if (!same_secret(request.variable(kTokenVariable), token_)) {
    return "it does not carry the page's token";
  }
  return std::nullopt;
}

std::vector<std::pair<std::string, std::string>> security_headers(const std::string& nonce) {
  std::string policy =
      "default-src 'none'; base-uri 'none'; form-action 'none'; "
      "frame-ancestors 'none'";
  if (!nonce.empty()) {
    policy += fmt::format(
        "; script-src 'nonce-{0}'; style-src 'nonce-{0}'; connect-src 'self'; "
        "img-src data:",
        nonce);
  }
  return {{"Content-Security-Policy", policy},
          {"X-Frame-Options", "DENY"},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cache-Control", "no-store"}};
}

}  // namespace admin
