#include "journal/spelling.h"

#include <algorithm>
#include <charconv>

namespace journal {
namespace {

constexpr char kBeyondAscii = '\xff';

// The value of text, all of whose characters must be hexadecimal digits; -1: they are not.
int hex_value(std::string_view text) {
  unsigned value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() && stop == text.data() + text.size() ? static_cast<int>(value) : -1;
}

}  // namespace

bool contains(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) { return (a | 0x20) == b; };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

Spelling::Spelling(std::string_view source) : end_(source.size()) {
  text_.reserve(source.size());
  from_.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    text_ += source[i] == '+' ? ' ' : source[i];
    from_.push_back(i);
    // A decoded byte may complete another escape.
    while (decode_end()) {
    }
  }
}

// Decodes the escape that the text ends with, if there is one. Each makes the text shorter, so all
// of them together take time that grows with the text alone.
bool Spelling::decode_end() {
  const std::string_view text = text_;
  const std::size_t size = text.size();
  const auto replace = [this](std::size_t length, char with) {
    text_.resize(text_.size() - length + 1);
    from_.resize(text_.size());
    text_.back() = with;
    return true;
  };
  if (size >= 3 && text[size - 3] == '%') {
    if (const int code = hex_value(text.substr(size - 2)); code >= 0) {
      return replace(3, static_cast<char>(code));
    }
  }
  if (size >= 6 && text[size - 5] == 'u' && (text[size - 6] == '\\' || text[size - 6] == '%')) {
    if (const int code = hex_value(text.substr(size - 4)); code >= 0) {
      return replace(6, code < 0x80 ? static_cast<char>(code) : kBeyondAscii);
    }
  }
  constexpr std::string_view kQuoted = "\"'/";
  if (size >= 2 && text[size - 2] == '\\' && kQuoted.find(text.back()) != kQuoted.npos) {
    return replace(2, text.back());
  }
  return false;
}

}  // namespace journal
