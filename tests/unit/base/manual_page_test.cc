#include "base/manual_page.h"

#include <gtest/gtest.h>

namespace base {
namespace {

ManualPage a_page() {
  return ManualPage("some-name", 5, "1.2", "what it is for");
}

std::string with_paragraph(std::string_view text) {
  ManualPage page = a_page();
  const std::size_t before = page.text().size();
  page.paragraph(text);
  return page.text().substr(before);
}

TEST(ManualPage, begins_with_title_and_name) {
  EXPECT_EQ(a_page().text(),
            ".TH SOME\\-NAME 5 \"\" \"cgibridge 1.2\" \"cgibridge\"\n"
            ".SH \"NAME\"\nsome\\-name \\- what it is for\n");
}

TEST(ManualPage, takes_nothing_in_a_text_for_a_request) {
  EXPECT_EQ(with_paragraph(".so /etc/passwd"), ".PP\n\\&.so /etc/passwd\n");
  EXPECT_EQ(with_paragraph("one\n'two"), ".PP\none\n\\&'two\n");
  EXPECT_EQ(with_paragraph("a\\fB"), ".PP\na\\efB\n");
}

TEST(ManualPage, shows_what_is_between_backticks_bold) {
  EXPECT_EQ(with_paragraph("see `config check`."), ".PP\nsee \\fBconfig check\\fR.\n");
  EXPECT_EQ(with_paragraph("an `open end"), ".PP\nan \\fBopen end\\fR\n");
}

TEST(ManualPage, keeps_lines_as_they_are) {
  ManualPage page = a_page();
  const std::size_t before = page.text().size();
  page.lines("a `b`\n.c");
  EXPECT_EQ(page.text().substr(before), ".PP\n.RS 4\n.EX\na `b`\n\\&.c\n.EE\n.RE\n");
}

TEST(ManualPage, has_entries_of_several_paragraphs) {
  ManualPage page = a_page();
  const std::size_t before = page.text().size();
  page.entry("--json", "As JSON.");
  page.more("Or not.");
  EXPECT_EQ(page.text().substr(before), ".TP\n\\fB\\-\\-json\\fR\nAs JSON.\n.IP\nOr not.\n");
}

}  // namespace
}  // namespace base
