// Which side answers a request of a program with mode = "split".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "compare/arm.h"
#include "compare/namespace.h"

namespace compare {

// Gives each request its side, where no key decides. Of any n requests in a row the share is kept
// to within two requests; beyond that it is left to a fixed sequence of pseudo-random numbers, so
// that each n-th request has the same chance, and no visitor's period falls together with one of
// the splitter's.
class Splitter {
 public:
  // per_cent of all requests are persistent, 0 to 100.
  Side next(double per_cent);

 private:
  std::uint64_t drawn_ = 0;
  double due_ = 0;      // the fraction of a persistent request that the shares so far sum up to
  bool ahead_ = false;  // whether that one was given already
};

// The same key gets the same side as long as per_cent is the same; when per_cent grows, nobody
// goes back to classic.
Side sticky_side(std::string_view key, double per_cent);

// The value of a cookie in a Cookie header (RFC 6265 §4.2.1); nullopt if it is not there or empty.
std::optional<std::string_view> cookie_value(std::string_view cookie_header, std::string_view name);

// "classic" or "persistent" as a pin names it; nullopt for anything else.
std::optional<Side> pinned_side(std::string_view word);

}  // namespace compare
