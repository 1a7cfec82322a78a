// A request for the bridge's own page.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "cgi/variables.h"
#include "gateway/page.h"

namespace gateway {

// Collects the request's body; then the page's handler answers it.
class PageVisit {
 public:
  // If the request is for page_path or what is below it; page_path "" is nobody's.
  static std::optional<PageVisit> of(const std::string& page_path, const cgi::Variables& variables);

  // False: more than kPageBodyMax.
  bool add_body(base::ByteView piece);

  // The whole answer, as a program would print it.
  std::string answer(const PageHandler& handler) const;

 private:
  std::string below_, body_;
  std::vector<std::pair<std::string, std::string>> variables_;
};

}  // namespace gateway
