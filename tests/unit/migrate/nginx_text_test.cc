#include "migrate/nginx_text.h"

#include <gtest/gtest.h>

#include "some_files.h"

namespace migrate {
namespace {

struct Case {
  const char* text;
  const char* outline;
};

class NginxWords : public ::testing::TestWithParam<Case> {};

TEST_P(NginxWords, are_those_that_nginx_reads) {
  const Parsed parsed = parse_nginx(GetParam().text);
  EXPECT_EQ(parsed.why, "");
  EXPECT_EQ(outline_of_tree(parsed.directives), GetParam().outline);
}

INSTANTIATE_TEST_SUITE_P(
    all, NginxWords,
    ::testing::Values(
        Case{"", ""}, Case{"# only; a comment {\n", ""}, Case{"user www-data;", "user[www-data]"},
        Case{"events { }", "events[]{}"},
        Case{"server{listen 80;listen [::]:80;}", "server[]{listen[80] listen[[::]:80]}"},
        Case{"a b # c;\n  d;", "a[b|d]"}, Case{"a b#c;", "a[b#c]"},
        Case{"map $a $b { default ''; '~x y' \"z\"; }", "map[$a|$b]{default[] ~x y[z]}"},
        Case{"if (!-f $file) { return 404; }", "if[(!-f|$file)]{return[404]}"},
        Case{"location ~ ^/cgi(?<path>/.*)$ { }", "location[~|^/cgi(?<path>/.*)$]{}"},
        Case{"location ~ \"^/[0-9]{3}\\.cgi$\" { }", "location[~|^/[0-9]{3}\\.cgi$]{}"},
        Case{"set $a ${b}c;", "set[$a|${b}c]"},
        Case{R"(a "b\"c" 'd\'e' f\ g;)", "a[b\"c|d'e|f\\ g]"},
        Case{"gzip_types\n  text/css\n  text/xml;", "gzip_types[text/css|text/xml]"},
        Case{"\"events\" {}", "events[]{}"}, Case{"a b\\tc \"d\\ne\";", "a[b\tc|d\ne]"},
        Case{"content_by_lua_block { local t = {'}', \"}\"} -- }\n [[ } ]] } a;",
             "content_by_lua_block[]{} a[]"}));

class NginxMistakes : public ::testing::TestWithParam<std::pair<const char*, unsigned>> {};

TEST_P(NginxMistakes, are_named_with_their_line) {
  const Parsed parsed = parse_nginx(GetParam().first);
  EXPECT_NE(parsed.why, "");
  EXPECT_EQ(parsed.line, GetParam().second);
  EXPECT_TRUE(parsed.directives.empty());
}

INSTANTIATE_TEST_SUITE_P(all, NginxMistakes,
                         ::testing::Values(std::pair{"a\nb", 2U}, std::pair{"http {\n a;\n", 3U},
                                           std::pair{"a;\n}", 2U}, std::pair{"a;\n'b c;\n\n", 2U},
                                           std::pair{"a 'b'c;", 1U},
                                           std::pair{"s {\n a b\n}\n", 3U}, std::pair{";", 1U},
                                           std::pair{"\n{ }", 2U},
                                           std::pair{"x_by_lua_block {\n'", 1U}));

TEST(NginxText, says_where_a_directive_is) {
  const std::string text = "http {\n  a b;\n  c { }\n}\n";
  const Parsed parsed = parse_nginx(text);
  ASSERT_EQ(parsed.directives.size(), 1U);
  const Directive& http = parsed.directives[0];
  EXPECT_EQ(text.substr(http.begin, http.end - http.begin), "http {\n  a b;\n  c { }\n}");
  EXPECT_EQ(text.substr(http.body_end), "}\n");
  ASSERT_EQ(http.children.size(), 2U);
  const Directive& a = http.children[0];
  EXPECT_EQ(a.line, 2U);
  EXPECT_EQ(text.substr(a.begin, a.end - a.begin), "a b;");
}

TEST(NginxText, has_a_limit_of_depth) {
  std::string deep;
  for (unsigned i = 0; i < kDepthMax + 1; ++i) deep += "a {";
  EXPECT_NE(parse_nginx(deep).why.find("too deeply"), std::string::npos);
}

TEST(NginxText, reads_no_byte_beyond_a_cut) {
  const std::string text = "a \"b\\\"\" { c_by_lua_block { '\\'' [[ ]] -- }\n } d ${e}; } # f\n";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    parse_nginx(std::string_view(cut.data(), cut.size()));
  }
  EXPECT_EQ(parse_nginx(text).why, "");
}

}  // namespace
}  // namespace migrate
