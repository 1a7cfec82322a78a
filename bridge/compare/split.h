// Which side answers a request for a program with mode = "split".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "compare/arm.h"
#include "compare/namespace.h"

namespace compare {

// Gives each request its side if no key decides. Among any n requests in a row the share is kept to
// within two requests; otherwise a fixed sequence of pseudo-random numbers decides, so that every
// n-th request has the same chance, and no visitor's period can coincide with one of the
// splitter's.
class Splitter {
 public:
  // per_cent: the share of all requests that are persistent, 0 to 100.
  Side next(double per_cent);

 private:
  std::uint64_t drawn_ = 0;
  double due_ = 0;      // the fraction of a persistent request to which the shares add up so far
  bool ahead_ = false;  // whether that request was already given
};

// The same key gets the same side as long as per_cent stays the same; when per_cent grows, no key
// goes back to classic.
Side sticky_side(std::string_view key, double per_cent);

// The value of a cookie in a Cookie header (RFC 6265 §4.2.1); nullopt if it is missing or empty.
std::optional<std::string_view> cookie_value(std::string_view cookie_header, std::string_view name);

// The side that a pin names ("classic" or "persistent"); nullopt for anything else.
std::optional<Side> pinned_side(std::string_view word);

}  // namespace compare
