#include "config/units.h"

#include <array>
#include <charconv>
#include <limits>
#include <string>

#include "base/bytes.h"

namespace config {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

// Smallest first: formatting takes the last one that divides.
constexpr std::array<Unit, 4> kDurationUnits = {
    {{"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 60 * 60 * 1000}}};
constexpr std::array<Unit, 4> kSizeUnits = {
    {{"", 1}, {"KiB", base::kKiB}, {"MiB", base::kMiB}, {"GiB", base::kGiB}}};

constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();

base::Error bad(std::string_view text, std::string_view why) {
  return base::Error{'"' + std::string(text) + "\" " + std::string(why)};
}

base::Result<std::uint64_t> parse_quantity(std::string_view text, const std::array<Unit, 4>& units,
                                           std::string_view wanted) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure == std::errc::result_out_of_range) return bad(text, "is too large");
  if (failure != std::errc()) return bad(text, wanted);
  std::string_view name(rest, std::size_t(end - rest));
  if (number == 0 && name.empty()) return number;
  for (const Unit& unit : units) {
    if (unit.name != name) continue;
    if (number > kMost / unit.factor) return bad(text, "is too large");
    return number * unit.factor;
  }
  return bad(text, wanted);
}

std::string format_quantity(std::uint64_t amount, const std::array<Unit, 4>& units) {
  const Unit* largest = &units.front();
  for (const Unit& unit : units) {
    if (amount % unit.factor == 0) largest = &unit;
  }
  return std::to_string(amount / largest->factor) + std::string(largest->name);
}

}  // namespace

base::Result<base::Duration> parse_duration(std::string_view text) {
  auto amount =
      parse_quantity(text, kDurationUnits, "is no duration like \"250ms\", \"5s\", \"2m\", \"1h\"");
  if (!amount) return amount.error();
  return base::Duration(std::int64_t(amount.value()));
}

base::Result<std::uint64_t> parse_size(std::string_view text) {
  return parse_quantity(text, kSizeUnits, "is no size like \"64KiB\", \"1MiB\", \"2GiB\"");
}

base::Result<double> parse_per_cent(std::string_view text) {
  constexpr std::string_view kWanted = "is no per cent like \"25%\", \"0.1%\"";
  if (!text.ends_with('%') || !(text.front() >= '0' && text.front() <= '9')) {
    return bad(text, kWanted);
  }
  double number = 0;
  const char* end = text.data() + text.size() - 1;
  auto [rest, failure] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (failure == std::errc::result_out_of_range) return bad(text, "is too large");
  if (failure != std::errc() || rest != end) return bad(text, kWanted);
  return number;
}

std::string format_duration(base::Duration duration) {
  if (duration == base::Duration::zero()) return "0s";
  return format_quantity(std::uint64_t(duration.count()), kDurationUnits);
}

std::string format_size(std::uint64_t bytes) {
  return bytes == 0 ? "0" : format_quantity(bytes, kSizeUnits);
}

std::string format_per_cent(double per_cent) {
  std::array<char, 400> digits;  // the longest double in fixed notation has 309 before the point
  auto written = std::to_chars(digits.data(), digits.data() + digits.size(), per_cent,
                               std::chars_format::fixed);
  return std::string(digits.data(), written.ptr);
}

base::Status check_some_account(std::string_view text) {
  constexpr std::string_view kBytes =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-$@";
  const bool plain = text.find_first_not_of(kBytes) == std::string_view::npos;
  if (plain && !text.empty() && text.size() <= 64 && text.front() != '-') return base::Done{};
  return bad(text, "is no name or number of a user or a group");
}

base::Status check_account(std::string_view text) {
  return text.empty() ? base::Status(base::Done{}) : check_some_account(text);
}

base::Status check_user(std::string_view text) {
  if (text.empty()) return base::Done{};
  const std::size_t colon = text.find(':');
  const bool right = check_some_account(text.substr(0, colon)).ok() &&
                     (colon == text.npos || check_some_account(text.substr(colon + 1)).ok());
  if (right && !text.starts_with("owner:")) return base::Done{};
  return bad(text,
             "is neither \"owner\" nor a user like \"www-data\", \"www-data:adm\", \"33:33\"");
}

bool is_environment_name(std::string_view name) {
  if (name.empty() || (name.front() >= '0' && name.front() <= '9')) return false;
  return name.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
         std::string_view::npos;
}

base::Status check_param(std::string_view text) {
  const std::string_view name = text.ends_with('*') ? text.substr(0, text.size() - 1) : text;
  if (text == "*") return base::Done{};
  const bool possible = !name.empty() && name.find_first_of("*=") == std::string_view::npos;
  if (!possible)
    return bad(text, "is neither a param's name nor the beginning of one followed by *");
  if (!name.starts_with("CGIBRIDGE_")) return base::Done{};
  return bad(text, "names what the bridge alone may set");
}

}  // namespace config
