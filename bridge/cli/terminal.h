// What can be drawn in a terminal: wrapped text, bars, colours. Pure; a Terminal says what the
// terminal supports.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cli {

enum class Charset { ascii, unicode };
enum class Colours { off, on };
enum class Colour { plain, bold, dim, green, yellow, red };

struct Terminal {
  Charset charset = Charset::ascii;
  Colours colours = Colours::off;
  std::size_t columns = 80;
};

// What standard output supports: unicode if the locale's charset is UTF-8; colours if it is a
// terminal and NO_COLOR is not set (no-color.org).
Terminal terminal_of_stdout();

// How many columns text takes: its UTF-8 characters, each counted as one column wide.
std::size_t width_of(std::string_view text);

// text in that colour, if the terminal has colours.
std::string painted(std::string_view text, Colour colour, const Terminal& terminal);

// A bar that fills share (0 to 1) of that many columns, padded with spaces: eighths of a block, or
// '#'. A share above 0 is always visible.
std::string bar(double share, std::size_t columns, const Terminal& terminal);

// text in lines of at most terminal.columns: the first line begins with head, the others with as
// many spaces. What is not visible in text is shown as base::printable() does. Words longer than a
// line get their own line. Ends with a line end.
std::string wrapped(std::string_view head, std::string_view text, const Terminal& terminal);

// text padded with spaces to that many columns.
std::string padded(std::string_view text, std::size_t columns);

}  // namespace cli
