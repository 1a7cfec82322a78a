#include "base/manual_page.h"

#include <fmt/format.h>

#include <algorithm>

namespace base {
namespace {

enum class Backticks { are_bold, are_kept };

// At a line's beginning, '.' and '\'' would be requests.
std::string escaped(std::string_view text, Backticks backticks) {
  std::string out;
  bool bold = false;
  for (const char byte : text) {
    const bool begins_line = out.empty() || out.back() == '\n';
    if (begins_line && (byte == '.' || byte == '\'')) out += "\\&";
    if (byte == '\\') {
      out += "\\e";
    } else if (byte == '-') {
      out += "\\-";
    } else if (byte == '`' && backticks == Backticks::are_bold) {
      bold = !bold;
      out += bold ? "\\fB" : "\\fR";
    } else {
      out += byte;
    }
  }
  return bold ? out + "\\fR" : out;
}

std::string upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char byte) { return std::toupper(byte); });
  return out;
}

}  // namespace

ManualPage::ManualPage(std::string_view name, unsigned section, std::string_view version,
                       std::string_view about) {
  text_ = fmt::format(".TH {} {} \"\" \"cgibridge {}\" \"cgibridge\"\n",
                      escaped(upper(name), Backticks::are_kept), section, version);
  this->section("NAME");
  text_ +=
      escaped(name, Backticks::are_kept) + " \\- " + escaped(about, Backticks::are_bold) + '\n';
}

void ManualPage::section(std::string_view title) {
  request("SH", title);
}

void ManualPage::subsection(std::string_view title) {
  request("SS", title);
}

void ManualPage::paragraph(std::string_view text) {
  text_ += ".PP\n" + escaped(text, Backticks::are_bold) + '\n';
}

void ManualPage::lines(std::string_view text) {
  text_ += ".PP\n.RS 4\n.EX\n" + escaped(text, Backticks::are_kept) + "\n.EE\n.RE\n";
}

void ManualPage::entry(std::string_view tag, std::string_view text) {
  text_ += ".TP\n\\fB" + escaped(tag, Backticks::are_kept) + "\\fR\n" +
           escaped(text, Backticks::are_bold) + '\n';
}

void ManualPage::more(std::string_view text) {
  text_ += ".IP\n" + escaped(text, Backticks::are_bold) + '\n';
}

void ManualPage::request(std::string_view name, std::string_view argument) {
  text_ += fmt::format(".{} \"{}\"\n", name, escaped(argument, Backticks::are_kept));
}

}  // namespace base
