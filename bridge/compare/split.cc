#include "compare/split.h"

#include <algorithm>

namespace compare {
namespace {

// The finishing steps of SplitMix64 (Steele, Lea, Flood, 2014): each bit of the result depends
// on each bit of the number.
std::uint64_t mixed(std::uint64_t number) {
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
  number = (number ^ number >> 27) * 0x94d049bb133111ebu;
  return number ^ number >> 31;
}

// FNV-1a.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  return mixed(hash);
}

// Converts bits to a number from 0 to below 1.
double unit(std::uint64_t bits) {
  return double(bits >> 11) * 0x1p-53;
}

double share_of(double per_cent) {
  return std::clamp(per_cent / 100, 0.0, 1.0);
}

std::string_view trimmed(std::string_view text) {
  std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

// Chromy's sequential sampling (1979): let due be the sum of all shares so far. Then as many
// requests have been persistent as the whole part of due, or one more; the chance of that one is
// the fraction of due.
Side Splitter::next(double per_cent) {
  drawn_ += 0x9e3779b97f4a7c15u;
  double chance = unit(mixed(drawn_));
  double before = due_;
  due_ += share_of(per_cent);
  bool whole = due_ >= 1;
  if (whole) due_ -= 1;
  bool persistent = false;
  if (whole) {
    persistent = !ahead_ || chance * before < due_;
    ahead_ = ahead_ && persistent;
  } else {
    persistent = !ahead_ && chance * (1 - before) < due_ - before;
    ahead_ = ahead_ || persistent;
  }
  return persistent ? Side::persistent : Side::classic;
}

Side sticky_side(std::string_view key, double per_cent) {
  return unit(hash_of(key)) < share_of(per_cent) ? Side::persistent : Side::classic;
}

std::optional<std::string_view> cookie_value(std::string_view cookie_header,
                                             std::string_view name) {
  while (!cookie_header.empty()) {
    std::size_t end = std::min(cookie_header.find(';'), cookie_header.size());
    std::string_view pair = trimmed(cookie_header.substr(0, end));
    cookie_header.remove_prefix(std::min(end + 1, cookie_header.size()));
    std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || trimmed(pair.substr(0, equals)) != name) continue;
    std::string_view value = trimmed(pair.substr(equals + 1));
    if (value.empty()) return std::nullopt;
    return value;
  }
  return std::nullopt;
}

std::optional<Side> pinned_side(std::string_view word) {
  auto found = std::find(kSideNames.begin(), kSideNames.end(), word);
  if (found == kSideNames.end()) return std::nullopt;
  return Side(found - kSideNames.begin());
}

}  // namespace compare
