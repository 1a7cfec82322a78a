#include "migrate/apache_text.h"

#include <gtest/gtest.h>

#include "some_files.h"

namespace migrate {
namespace {

class ApacheText : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_apache().empty()) GTEST_SKIP() << why_no_apache();
  }
};

TEST_F(ApacheText, has_words_without_quotes) {
  const Parsed parsed = parse_apache(
      "# a comment\n"
      "ScriptAlias /cgi-bin/ \\\n  \"/usr/lib/cgi-bin/\"\n"
      "AuthName \"a \\\"b\\\" c\"\n"
      "<Files ~ \"\\.(cgi|pl)$\">\n  SetHandler cgi-script\n</Files>");
  EXPECT_EQ(parsed.why, "");
  EXPECT_EQ(outline_of_tree(parsed.directives),
            "ScriptAlias[/cgi-bin/|/usr/lib/cgi-bin/] AuthName[a \"b\" c] "
            "Files[~|\\.(cgi|pl)$]{SetHandler[cgi-script]}");
}

TEST_F(ApacheText, says_where_a_directive_is) {
  const std::string text =
      "\n# c\n<Directory \"/x\">\n\tOptions \\\n +ExecCGI  \n  </Directory>\nA b\n";
  const Parsed parsed = parse_apache(text);
  ASSERT_EQ(parsed.directives.size(), 2U);
  const Directive& folder = parsed.directives[0];
  EXPECT_EQ(folder.line, 3U);
  EXPECT_EQ(text.substr(folder.begin, 16), "<Directory \"/x\">");
  EXPECT_EQ(text.substr(folder.end), "\nA b\n");
  EXPECT_EQ(text.substr(folder.body_end), "  </Directory>\nA b\n");
  const Directive& options = folder.children[0];
  EXPECT_EQ(options.line, 4U);
  EXPECT_EQ(text.substr(options.begin, options.end - options.begin), "Options \\\n +ExecCGI");
}

TEST_F(ApacheText, names_the_line_of_a_mistake) {
  const Parsed parsed = parse_apache("ServerName x\nAlias /a /b\n<Directory /x>\nOptions All\n");
  EXPECT_NE(parsed.why, "");
  EXPECT_GT(parsed.line, 1U);
  EXPECT_TRUE(parsed.directives.empty());
  EXPECT_NE(parse_apache(std::string("A\0b\n", 4)).why, "");
}

}  // namespace
}  // namespace migrate
