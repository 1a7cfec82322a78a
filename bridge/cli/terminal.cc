#include "cli/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "base/log.h"

namespace cli {
namespace {

constexpr std::array<std::string_view, 9> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
constexpr std::array<std::string_view, 6> kCodes = {"", "1", "2", "32", "33", "31"};

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

}  // namespace

Terminal terminal_of_stdout() {
  Terminal terminal;
  // This leaves the process's own locale at "C".
  const locale_t locale = ::newlocale(LC_CTYPE_MASK, "", nullptr);
  if (locale != nullptr) {
    const std::string_view charset = ::nl_langinfo_l(CODESET, locale);
    if (charset == "UTF-8") terminal.charset = Charset::unicode;
    ::freelocale(locale);
  }
  const char* no_color = std::getenv("NO_COLOR");
  const bool wanted = no_color == nullptr || *no_color == '\0';
  if (wanted && ::isatty(STDOUT_FILENO) == 1) terminal.colours = Colours::on;
  return terminal;
}

std::size_t width_of(std::string_view text) {
  const auto inner = std::count_if(text.begin(), text.end(), is_continuation);
  return text.size() - static_cast<std::size_t>(inner);
}

std::string painted(std::string_view text, Colour colour, const Terminal& terminal) {
  if (terminal.colours == Colours::off || colour == Colour::plain) return std::string(text);
  std::string out = "\x1b[";
  out.append(kCodes[static_cast<std::size_t>(colour)]).append("m").append(text);
  return out + "\x1b[0m";
}

std::string bar(double share, std::size_t columns, const Terminal& terminal) {
  const bool unicode = terminal.charset == Charset::unicode;
  const std::size_t steps = unicode ? 8 : 1;
  const double bounded = std::clamp(share, 0.0, 1.0);
  auto filled =
      static_cast<std::size_t>(std::lround(bounded * static_cast<double>(columns * steps)));
  if (share > 0 && filled == 0) filled = 1;
  std::string drawn;
  for (std::size_t i = 0; i < filled / steps; ++i) drawn += unicode ? kEighths.back() : "#";
  if (unicode) drawn += kEighths[filled % steps];
  return padded(drawn, columns);
}

std::string wrapped(std::string_view head, std::string_view text, const Terminal& terminal) {
  const std::size_t indent = width_of(head);
  std::string out(head);
  std::size_t column = indent;
  // A program's or a path's words, too: they must not steer the terminal.
  const std::string shown = base::printable(text, text.npos);
  for (text = shown; !text.empty();) {
    const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    if (word.empty()) break;
    const bool first = column == indent;
    if (!first && column + 1 + width_of(word) > terminal.columns) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      out += " ";
      ++column;
    }
    out.append(word);
    column += width_of(word);
  }
  return out + "\n";
}

std::string padded(std::string_view text, std::size_t columns) {
  const std::size_t width = width_of(text);
  return std::string(text) + std::string(columns > width ? columns - width : 0, ' ');
}

}  // namespace cli
