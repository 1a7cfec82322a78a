// Where two texts differ, by tokens, and how to show that to people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/sequence_diff.h"

namespace text {

// The changes that turn a into b, by byte offsets; in order, never touching. Lines are compared
// first, then the tokens of lines that differ; each word is a token, and so is every other byte. If
// a change has equally many lines on both sides, each line is compared with its counterpart. Beyond
// SequenceDiff's limits, and in texts that differ in more than kTokensMax bytes of lines, changes
// are fewer and larger than necessary: time and memory grow with the size, never with its square.
std::vector<Change> changes(std::string_view a, std::string_view b);

inline constexpr std::size_t kTokensMax = 2 * 1024 * 1024;
inline constexpr std::size_t kLinesMax = 4 * 1024 * 1024;  // the same for lines

// a after applying the changes that turn it into b.
std::string apply(const std::vector<Change>& changes, std::string_view a, std::string_view b);

// Like changes(), but each is extended to a whole value: all of 12:34:56 if only the seconds
// changed, all of a UUID or of a token with '+' and '/' in it.
std::vector<Change> changed_values(std::string_view a, std::string_view b);

// Two texts and the values in which they differ. Views the texts.
struct TextPair {
  TextPair(std::string_view a_text, std::string_view b_text);

  std::string_view a, b;
  std::vector<Change> values;
};

// Whether byte is punctuation found within values: in dates, addresses, UUIDs, base64,
// percent-encoding.
bool is_mark(char byte);

// text with bytes that are not printable UTF-8 shown as \xNN; tabs stay.
std::string printable(std::string_view text);

// The changes as a unified diff of lines, with two lines around each change and bytes that are not
// printable UTF-8 shown as \xNN. At most bytes_max bytes; the last line says what was left out. Of
// a long line it shows the part around the first change.
std::string unified_diff(std::string_view a, std::string_view b, std::string_view a_name,
                         std::string_view b_name, std::size_t bytes_max);

}  // namespace text
