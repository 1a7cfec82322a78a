// Where two sequences differ: numbers, or the lines or tokens of texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace text {

// [a_begin, a_end) of sequence a is replaced by [b_begin, b_end) of b. One of the two may be empty
// (something was inserted or left out).
struct Change {
  std::size_t a_begin, a_end, b_begin, b_end;

  bool operator==(const Change&) const = default;
};

// Appends change, or joins it to the last one if they touch. An empty change is left out.
void append(std::vector<Change>& changes, const Change& change);

// The pieces of a text, which together are the whole text.
using Pieces = std::vector<std::string_view>;

// Each line with its line end; the last may lack one.
Pieces lines_of(std::string_view text);

// Each word is a token, and so is every other byte.
Pieces tokens_of(std::string_view text);

// Whether byte belongs to a word: letters, digits, '_', and bytes above 127.
bool is_word_byte(char byte);

// Finds the shortest edits (Myers, "An O(ND) difference algorithm and its variations", 1986). Two
// limits keep that cheap. A search that needs more than kEditsMax edits ends at the farthest place
// it has reached, and the next one begins there, which may give more changes than needed. Once this
// object has done kStepsMax steps in its life, the rest is given as one change. Memory: 70 KiB in
// addition to the sequences.
class SequenceDiff {
 public:
  static constexpr std::size_t kEditsMax = 64;
  static constexpr std::uint64_t kStepsMax = 2'000'000;

  // The changes from a to b, in order; they never touch.
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

}  // namespace text
