// A text as it is meant, however it is written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace journal {

// Whether a text has that word in it, in whatever case; word: small letters and punctuation.
bool contains(std::string_view text, std::string_view word);

// A text with its escapes decoded, and the place in the source of each of its bytes.
// Percent-encoding, the "+" of forms and JSON's escapes are decoded, as often as they were applied:
// "p%2561ss" is "pass". What is not a proper escape stays as it is; a character beyond ASCII in
// \uXXXX is one byte 0xff.
class Spelling {
 public:
  explicit Spelling(std::string_view source);

  const std::string& text() const { return text_; }
  // Where in the source the byte at that place of text() begins; at its end: the source's end.
  std::size_t source(std::size_t at) const { return at < from_.size() ? from_[at] : end_; }

 private:
  bool decode_end();

  std::string text_;
  std::vector<std::size_t> from_;
  std::size_t end_;
};

}  // namespace journal
