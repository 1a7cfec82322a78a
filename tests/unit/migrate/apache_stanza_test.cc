#include "migrate/apache_stanza.h"

#include <gtest/gtest.h>

namespace migrate {
namespace {

TEST(ApacheWord, cannot_end_before_its_quote) {
  EXPECT_EQ(apache_word("/srv/a b"), "\"/srv/a b\"");
  EXPECT_EQ(apache_word("a\"b\\"), "\"a\\\"b\\\\\"");
}

TEST(ApacheStanza, has_the_suffixes_as_an_expression) {
  const std::string text = stanza_for_suffixes({".cgi", ".c++"}, "", "/s");
  EXPECT_TRUE(text.starts_with("<FilesMatch \"\\.(cgi|c\\+\\+)$\">\n  AcceptPathInfo On\n"))
      << text;
}

TEST(ApacheStanza, of_a_program_in_the_root_folder) {
  EXPECT_TRUE(stanza_for_file("/x", "", "/s").starts_with("<Directory \"/\">\n"));
}

TEST(ApacheStanza, does_without_the_module_only_by_failing) {
  EXPECT_NE(handler_lines("", "/s").find("\nProxyFCGIBackendType GENERIC"), std::string::npos);
}

}  // namespace
}  // namespace migrate
