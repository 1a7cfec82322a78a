// Durations, sizes and per cents as a person writes them, and back; how names are written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace config {

// A whole number and its unit, nothing between: "250ms", "5s", "2m", "1h"; "0" needs no unit.
base::Result<base::Duration> parse_duration(std::string_view text);

// A whole number and "KiB", "MiB" or "GiB", nothing between; a number alone counts bytes.
base::Result<std::uint64_t> parse_size(std::string_view text);

// A number, fraction allowed, and '%', nothing between: "25%", "0.1%".
base::Result<double> parse_per_cent(std::string_view text);

// The same in the largest unit that needs no fraction; what parse_...() reads back.
std::string format_duration(base::Duration duration);
std::string format_size(std::uint64_t bytes);

// The number alone, with as many decimals as it takes to read the same number: "25", "0.1".
std::string format_per_cent(double per_cent);

// How users and groups are written: a name or a number; check_account() takes none (""), too.
// check_user() takes what `user` takes: "", "owner", USER or USER:GROUP. Whether the system knows
// them is not asked here.
base::Status check_account(std::string_view text);
base::Status check_some_account(std::string_view text);
base::Status check_user(std::string_view text);

// A param's name, or the begin of several with a * behind it.
base::Status check_param(std::string_view text);

}  // namespace config
