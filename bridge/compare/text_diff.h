// Where two texts differ, by tokens, and how that is shown to people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "compare/sequence_diff.h"

namespace compare {

// The changes that make b of a, by byte offsets; in order, never touching. Texts are taken apart
// into tokens: words, and every other byte as one of its own. Lines first, then tokens within lines
// that differ. Where as many lines stand on both sides, each is held against its own one. Within
// SequenceDiff's limits, and in texts that differ in more than kTokensMax bytes of lines, changes
// are fewer and greater than they could be: time and memory grow with the size, never with its
// square.
std::vector<Change> changes(std::string_view a, std::string_view b);

inline constexpr std::size_t kTokensMax = 2 * 1024 * 1024;
inline constexpr std::size_t kLinesMax = 4 * 1024 * 1024;  // the same for lines

// a with the changes carried out that make it b.
std::string apply(const std::vector<Change>& changes, std::string_view a, std::string_view b);

// The same, each grown to a whole value: all of 12:34:56 if only the seconds changed, all of an
// UUID or of a token with '+' and '/' in it.
std::vector<Change> changed_values(std::string_view a, std::string_view b);

// Two texts and the values in which they differ. Views the texts.
struct TextPair {
  TextPair(std::string_view a_text, std::string_view b_text);

  std::string_view a, b;
  std::vector<Change> values;
};

// What may stand within a value: in dates, addresses, UUIDs, base64, percent-encoding.
bool is_mark(char byte);

// text with bytes that are no printable UTF-8 as \xNN; tabs stay.
std::string printable(std::string_view text);

// The changes as a unified diff of lines with two lines around each change, bytes that are no
// printable UTF-8 shown as \xNN, at most bytes_max bytes; what is left out is said in its last
// line. Of a long line it shows the surroundings of the first change.
std::string unified_diff(std::string_view a, std::string_view b, std::string_view a_name,
                         std::string_view b_name, std::size_t bytes_max);

}  // namespace compare
