// The sides of a comparison.
#pragma once

#include <array>
#include <string_view>

#include "compare/namespace.h"

namespace compare {

// How one request was really answered: classic, or by a warm worker with this reset.
enum class Arm { classic, fork, rewind, none };
inline constexpr std::size_t kArms = 4;
inline constexpr std::array<std::string_view, kArms> kArmNames = {"classic", "fork", "rewind",
                                                                  "none"};

constexpr std::string_view to_string(Arm arm) {
  return kArmNames[std::size_t(arm)];
}

// Which of the two modes a request is given. For a persistent one, the program's reset determines
// the arm; while the program is not warm, the request still runs classic.
enum class Side { classic, persistent };
inline constexpr std::array<std::string_view, 2> kSideNames = {"classic", "persistent"};

constexpr std::string_view to_string(Side side) {
  return kSideNames[std::size_t(side)];
}

constexpr Side side_of(Arm arm) {
  return arm == Arm::classic ? Side::classic : Side::persistent;
}

}  // namespace compare
