// How a param's name is looked up among those that no web server may set.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cgi {

enum class Match { whole, prefix };

struct Forbidden {
  std::string_view name;  // at least two letters
  Match match;
  std::string_view reason;
};

// A table sorted by first letters while it is compiled, so that a name is compared with only a few
// entries. Most names need no search at all.
template <std::size_t size>
class NameTable {
 public:
  constexpr explicit NameTable(const std::array<Forbidden, size>& forbidden) {
    for (std::size_t i = 0; i < size; ++i) {
      sorted_[i] = {letters_of(forbidden[i].name), forbidden[i]};
      second_letters_[first_of(forbidden[i].name)] |= bit_of(forbidden[i].name[1]);
    }
    std::ranges::sort(sorted_, {}, first_letters);
  }

  constexpr std::optional<std::string_view> reason_for(std::string_view name) const {
    if (name.size() < 2) return std::nullopt;
    if ((second_letters_[first_of(name)] & bit_of(name[1])) == 0) return std::nullopt;
    const unsigned letters = letters_of(name);
    const auto* entry = std::ranges::lower_bound(sorted_, letters, {}, first_letters);
    for (; entry != sorted_.end() && entry->first_letters == letters; ++entry) {
      if (matches(entry->forbidden, name)) return entry->forbidden.reason;
    }
    return std::nullopt;
  }

 private:
  struct Entry {
    unsigned first_letters;
    Forbidden forbidden;
  };

  static constexpr unsigned char first_of(std::string_view name) {
    return static_cast<unsigned char>(name[0]);
  }
  // The first two letters as a number.
  static constexpr unsigned letters_of(std::string_view name) {
    return first_of(name) << 8U | static_cast<unsigned char>(name[1]);
  }
  static constexpr std::uint64_t bit_of(char letter) {
    return std::uint64_t{1} << (static_cast<unsigned char>(letter) % 64);
  }
  static constexpr unsigned first_letters(const Entry& entry) { return entry.first_letters; }
  static constexpr bool matches(const Forbidden& forbidden, std::string_view name) {
    return forbidden.match == Match::prefix ? name.starts_with(forbidden.name)
                                            : name == forbidden.name;
  }

  std::array<Entry, size> sorted_{};
  std::array<std::uint64_t, 256> second_letters_{};  // for each first letter, which occur
};

// Why a name that is in no main table is forbidden nevertheless: rarer runtimes, tools and
// libraries, and names whose end says that they choose code. Not for names that begin with HTTP_.
std::optional<std::string_view> forbidden_beside(std::string_view name);

}  // namespace cgi
