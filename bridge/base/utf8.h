// Where the characters of a UTF-8 text begin and end (RFC 3629).
#pragma once

#include <cstddef>
#include <string_view>

namespace base {

// The length in bytes of the character at the beginning of text; 0 if there is none: no text, a
// byte that begins no character, a character that is cut off, an overlong form, a surrogate, or
// a code point above U+10FFFF. NUL and other control characters are characters.
std::size_t utf8_size(std::string_view text);

// The same, but 0 also for control characters: those of ASCII (HTAB among them), and those of
// ISO 8859 (U+0080 to U+009F), which terminals obey as well.
std::size_t visible_size(std::string_view text);

// The place of the first byte that belongs to no character, or npos.
std::size_t find_not_utf8(std::string_view text);

}  // namespace base
