// Durations, sizes and percentages as a person writes them, and back; how names are written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace config {

// A whole number and its unit, with nothing in between: "250ms", "5s", "2m", "1h"; "0" needs no
// unit.
base::Result<base::Duration> parse_duration(std::string_view text);

// A whole number and "KiB", "MiB" or "GiB", with nothing in between; a number alone counts bytes.
base::Result<std::uint64_t> parse_size(std::string_view text);

// A number, possibly with a fraction, and '%', with nothing in between: "25%", "0.1%".
base::Result<double> parse_per_cent(std::string_view text);

// The same in the largest unit that needs no fraction; what parse_...() reads back.
std::string format_duration(base::Duration duration);
std::string format_size(std::uint64_t bytes);

// The number alone, with as many decimals as needed to read back the same number: "25", "0.1".
std::string format_per_cent(double per_cent);

// How users and groups are written: a name or a number; check_account() also accepts none ("").
// check_user() accepts what `user` does: "", "owner", USER or USER:GROUP. Whether the system knows
// them is not checked here.
base::Status check_account(std::string_view text);
base::Status check_some_account(std::string_view text);
base::Status check_user(std::string_view text);

// What a shell can name: letters, digits and _, and no digit first.
bool is_environment_name(std::string_view name);

// A param's name, or a prefix of several followed by *; "*" is all.
base::Status check_param(std::string_view text);

}  // namespace config
