#include "config/pattern.h"

#include <fnmatch.h>
#include <gtest/gtest.h>

namespace config {
namespace {

TEST(Pattern, says_what_every_path_begins_with) {
  const auto start = [](std::string_view pattern) {
    const PatternStart found = start_of(pattern);
    return found.text + (found.is_all ? "" : "...");
  };
  EXPECT_EQ(start("/srv/a.cgi"), "/srv/a.cgi");
  EXPECT_EQ(start("/srv/*.cgi"), "/srv/...");
  EXPECT_EQ(start("/srv/a?"), "/srv/a...");
  EXPECT_EQ(start("*"), "...");
  EXPECT_EQ(start("/srv/[ab]/c"), "/srv/...");
  EXPECT_EQ(start("/srv/[ab"), "/srv/[ab");
  EXPECT_EQ(start("/srv/\\*a\\[b"), "/srv/*a[b");
  EXPECT_EQ(start(""), "");
}

// Method: fnmatch() takes a '[' that is not closed for itself, so such a pattern matches its own
// text, if nothing else in it is special.
TEST(Pattern, finds_a_bracket_that_is_not_closed) {
  for (const std::string pattern : {"/[", "/a[bc", "/[]", "/[!]", "/[^]"}) {
    EXPECT_EQ(::fnmatch(pattern.c_str(), pattern.c_str(), 0), 0) << pattern;
    EXPECT_EQ(unclosed_bracket(pattern), pattern.find('[')) << pattern;
  }
  for (const std::string pattern : {"/", "/a", "/[a]", "/[]]", "/[!]]", "/[a]]", "/[[:alpha:]]",
                                    "/[[.].]]", "/[[=a=]]", "/[a[:x]", "/]", "/\\[ab"}) {
    EXPECT_EQ(unclosed_bracket(pattern), std::string::npos) << pattern;
  }
  EXPECT_EQ(unclosed_bracket("/[[:alpha:]"), 1u);
  EXPECT_EQ(unclosed_bracket("/[ab]/x[y"), 7u);
  EXPECT_EQ(unclosed_bracket("/[a\\]"), 1u);
}

TEST(Pattern, knows_which_patterns_take_everything_from_a_later_one) {
  EXPECT_TRUE(covers("/srv/*", "/srv/*"));
  EXPECT_TRUE(covers("/srv/*", "/srv/a.cgi"));
  EXPECT_TRUE(covers("/srv/*", "/srv/*.cgi"));
  EXPECT_TRUE(covers("/srv/*", "/srv/b/[ab]?.pl"));
  EXPECT_TRUE(covers("*.cgi", "/srv/*.cgi"));
  EXPECT_TRUE(covers("/srv/[ab].cgi", "/srv/a.cgi"));
  EXPECT_TRUE(covers("/srv/?.cgi", "/srv/a.cgi"));
  EXPECT_TRUE(covers("/srv/*", "/srv/[a"));
  EXPECT_TRUE(covers("/srv/*", "/srv/\\*"));
  EXPECT_TRUE(covers("*", "*a"));

  EXPECT_FALSE(covers("/srv/*.cgi", "/srv/*"));
  EXPECT_FALSE(covers("/srv/a.cgi", "/srv/*"));
  EXPECT_FALSE(covers("/srv/a.cgi", "/srv/?.cgi"));
  EXPECT_FALSE(covers("/srv/?", "/srv/*"));   // a later * may be longer
  EXPECT_FALSE(covers("/srv/?*", "/srv/*"));  // or empty
  EXPECT_FALSE(covers("/srv/*bc]", "/srv/[abc]"));
  EXPECT_FALSE(covers("/other/*", "/srv/a.cgi"));
}

}  // namespace
}  // namespace config
