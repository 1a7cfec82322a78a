// Who may do what with the page, and what a browser is told about it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/page_visit.h"

namespace admin {

// That many bytes from the kernel's random generator, as hex digits.
std::string random_hex(std::size_t bytes);

// The header in which a page sends its token.
inline constexpr std::string_view kTokenVariable = "HTTP_X_CGIBRIDGE_TOKEN";

// Distinguishes a request that the page itself sent from one that another site made a browser send.
// Another site cannot read the token, and cannot send its own header or a body of type JSON without
// a preflight (CORS); its request also names where it comes from.
class PageGuard {
 public:
  PageGuard() : token_(random_hex(32)) {}

  // What the page carries; it belongs to this daemon only.
  const std::string& token() const { return token_; }

  // Why a request that would change something is refused; nullopt: it comes from the page.
  std::optional<std::string> objection(const gateway::PageRequest& request) const;

 private:
  const std::string token_;
};

// The headers of each answer. nonce: for the scripts and styles in it; empty: there are none.
std::vector<std::pair<std::string, std::string>> security_headers(const std::string& nonce);

}  // namespace admin
