#include <gtest/gtest.h>

#include "migrate/place.h"

namespace migrate {
namespace {

using Words = std::vector<std::string>;

struct Case {
  const char* regex;
  const char* begin;
  Words suffixes = {};
  bool whole = false;
};

class OutlineOf : public ::testing::TestWithParam<Case> {};

TEST_P(OutlineOf, says_only_what_is_certain) {
  const Outline outline = outline_of(GetParam().regex);
  EXPECT_EQ(outline.begin, GetParam().begin);
  EXPECT_EQ(outline.suffixes, GetParam().suffixes);
  EXPECT_EQ(outline.whole, GetParam().whole);
}

INSTANTIATE_TEST_SUITE_P(
    all, OutlineOf,
    ::testing::Values(Case{"\\.cgi$", "", {".cgi"}}, Case{"\\.(cgi|pl)$", "", {".cgi", ".pl"}},
                      Case{"\\.(?:cgi|pl)(/|$)", "", {".cgi", ".pl"}},
                      Case{"\\.cgi(/.*)?$", "", {".cgi"}}, Case{"\\.cgi", ""},
                      Case{"\\.p[ly]$", ""}, Case{"\\.cgi.*$", ""}, Case{"^/cgi-bin/", "/cgi-bin/"},
                      Case{"^/cgi-bin/.*\\.cgi$", "/cgi-bin/", {".cgi"}},
                      Case{"^/cgi-bin(?<path>/.*)$", "/cgi-bin/"},
                      Case{"^(/gitweb\\.cgi)(/.*)$", "/gitweb.cgi/"}, Case{"^/git(/.*)?$", "/git"},
                      Case{"^/gits?/", "/git"}, Case{"^/x\\.cgi$", "/x.cgi", {".cgi"}, true},
                      Case{"^/a/|\\.pl$", ""}, Case{"^/(a|b)/", "/"}, Case{"^/a+/", "/a"},
                      Case{"^/~([^/]+)/", "/~"}, Case{"", ""}, Case{"^", ""}, Case{"^(", ""},
                      Case{"\\", ""}, Case{"^(/a", "/a"}, Case{"\\.(cgi", ""}));

TEST(FirstGroup, is_what_comes_before_the_path_info) {
  EXPECT_EQ(first_group_of("^(/a\\.cgi)(/.*)$"), "^/a\\.cgi");
  EXPECT_EQ(first_group_of("^(?<name>.+\\.pl)(/.+)$"), "^.+\\.pl");
  EXPECT_EQ(first_group_of("^/a"), "^/a");
  EXPECT_EQ(first_group_of("^(/a"), "^/");
  EXPECT_EQ(first_group_of(""), "");
}

TEST(CleanPath, has_no_slash_twice) {
  EXPECT_EQ(clean_path("/srv//x///y/"), "/srv/x/y/");
  EXPECT_EQ(clean_path(""), "");
}

}  // namespace
}  // namespace migrate
