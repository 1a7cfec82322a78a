// Where two sequences differ: of numbers, or of the lines or tokens of texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "compare/namespace.h"

namespace compare {

// [a_begin, a_end) of the one stands where [b_begin, b_end) of the other does. One of the two may
// be empty (something was put in or left out).
struct Change {
  std::size_t a_begin, a_end, b_begin, b_end;

  bool operator==(const Change&) const = default;
};

// Puts change behind the others, into the last one if it touches that. One of nothing is left out.
void append(std::vector<Change>& changes, const Change& change);

// A text taken apart: together they are the text.
using Pieces = std::vector<std::string_view>;

// Each with its line end, the last perhaps without one.
Pieces lines_of(std::string_view text);

// Words, and every other byte as a token of its own.
Pieces tokens_of(std::string_view text);

// Letters, digits, '_', and bytes above 127: what words are made of.
bool is_word_byte(char byte);

// Finds shortest edits (Myers, "An O(ND) difference algorithm and its variations", 1986). Two
// limits keep that cheap: a search that needs more than kEditsMax edits ends at the farthest place
// it has reached, and the next one begins there, which may give more changes than needed; and once
// kStepsMax steps were done in the life of this object, what is left is given as one change.
// Memory: 70 KiB beside the sequences.
class SequenceDiff {
 public:
  static constexpr std::size_t kEditsMax = 64;
  static constexpr std::uint64_t kStepsMax = 2'000'000;

  // In order, never touching.
  std::vector<Change> changes(const std::vector<std::uint64_t>& a,
                              const std::vector<std::uint64_t>& b);
  std::vector<Change> changes(const Pieces& a, const Pieces& b);

  std::uint64_t steps() const { return steps_; }

 private:
  enum class Edit { none, left_out, put_in };
  struct Landing {
    std::ptrdiff_t a;
    Edit edit;
  };
  struct Goal {
    std::ptrdiff_t edits, diagonal, a;
  };
  struct Rest;

  static void trim(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b,
                   Change& box);
  std::ptrdiff_t& reach(std::ptrdiff_t edits, std::ptrdiff_t diagonal);
  Landing land(const Rest& rest, std::ptrdiff_t edits, std::ptrdiff_t diagonal);
  Goal search(const Rest& rest);
  std::vector<Change> way_back(const Rest& rest, const Goal& goal);

  std::vector<std::ptrdiff_t> reach_;
  std::uint64_t steps_ = 0;
};

}  // namespace compare
