// A manual page in the language of man(7).
#pragma once

#include <string>
#include <string_view>

namespace base {

// Pieces are added from top to bottom. Texts are plain, in ASCII, of any length; what is between
// backticks is shown bold, and nothing in a text is taken for a roff(7) request.
class ManualPage {
 public:
  // name: "cgibridge-config", without the section (1, 5). about: what the NAME section says about
  // it.
  ManualPage(std::string_view name, unsigned section, std::string_view version,
             std::string_view about);

  void section(std::string_view title);
  void subsection(std::string_view title);
  void paragraph(std::string_view text);
  // Lines as they are, in a fixed font.
  void lines(std::string_view text);
  // A term in bold, above its indented explanation.
  void entry(std::string_view tag, std::string_view text);
  // One more paragraph of the entry above.
  void more(std::string_view text);

  const std::string& text() const { return text_; }

 private:
  void request(std::string_view name, std::string_view argument);

  std::string text_;
};

}  // namespace base
