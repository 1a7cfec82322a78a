#include "pool/warm_share.h"

#include <fmt/format.h>

#include <numeric>

namespace pool {
namespace {

struct Words {
  std::string_view name, told;
};

constexpr std::array<Words, kColdKinds> kWords = {{
    {"warm", ""},
    {"chosen", ""},
    {"not_warm", "came while it was not warm"},
    {"no_worker", "found no worker ready"},
    {"misfit", "brought other values of what its zygote read"},
    {"anew", "were started anew"},
    {"executed", "executed another program"},
}};
static_assert(!kWords.back().name.empty(), "one for each");

}  // namespace

std::string_view to_string(Cold cold) {
  return kWords[static_cast<std::size_t>(cold)].name;
}

std::uint64_t WarmShare::all() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0}) - counted(Cold::chosen);
}

std::string WarmShare::describe() const {
  if (warm() == all()) return {};
  std::string text = fmt::format("{} of {} request(s)", warm(), all());
  std::string_view before = "; ";
  for (auto kind = static_cast<std::size_t>(Cold::not_warm); kind < kColdKinds; ++kind) {
    if (counts_[kind] == 0) continue;
    text += fmt::format("{}{} {}", before, counts_[kind], kWords[kind].told);
    if (kind == static_cast<std::size_t>(Cold::executed) && !executed_.empty()) {
      text += fmt::format(" ({})", executed_);
    }
    before = ", ";
  }
  return text;
}

}  // namespace pool
