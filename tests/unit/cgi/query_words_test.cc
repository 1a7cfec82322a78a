#include "cgi/query_words.h"

#include <gtest/gtest.h>

namespace {

using Words = std::vector<std::string>;

TEST(QueryWords, splits_on_plus_and_decodes) {
  const struct {
    std::string_view query;
    Words words;
  } cases[] = {
      {"one", {"one"}},
      {"one+two+three", {"one", "two", "three"}},
      {"a%2Bb+c%3dd", {"a+b", "c=d"}},
      {"a%20b", {"a b"}},
      {"-s", {"-s"}},
      {"a%3Bb", {"a\\;b"}},
      {"*$x%0a", {"\\*\\$x\\\n"}},
      {"%C3%A4", {"\xC3\xA4"}},
  };
  for (const auto& c : cases) EXPECT_EQ(cgi::query_words("GET", c.query), c.words) << c.query;
}

TEST(QueryWords, gives_all_words_or_none) {
  using namespace std::string_view_literals;
  // A word with a NUL would be two strings to its readers.
  for (const std::string_view query :
       {""sv, "a\0A%3Db"sv, "a\0"sv, "a=b"sv, "a+b=c"sv, "="sv, "a+%"sv, "a+%4"sv, "a+%zz"sv,
        "a+%00"sv, "a++b"sv, "+a"sv, "a+"sv}) {
    EXPECT_EQ(cgi::query_words("GET", query), Words()) << query;
  }
}

TEST(QueryWords, are_for_get_and_head_only) {
  EXPECT_EQ(cgi::query_words("HEAD", "a"), Words{"a"});
  EXPECT_EQ(cgi::query_words("POST", "a"), Words());
  EXPECT_EQ(cgi::query_words("get", "a"), Words());
}

TEST(QueryWords, are_bounded) {
  std::string query = "a";
  for (std::size_t i = 1; i < cgi::kQueryWordsMax; ++i) query += "+a";
  EXPECT_EQ(cgi::query_words("GET", query).size(), cgi::kQueryWordsMax);
  EXPECT_EQ(cgi::query_words("GET", query + "+a"), Words());
  EXPECT_EQ(cgi::query_words("GET", std::string(cgi::kQueryWordsBytesMax, 'a')).size(), 1u);
  EXPECT_EQ(cgi::query_words("GET", std::string(cgi::kQueryWordsBytesMax + 1, 'a')), Words());
}

}  // namespace
