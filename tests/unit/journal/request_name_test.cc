#include "journal/request_name.h"

#include <gtest/gtest.h>

#include <set>

#include "journal/secrets.h"

namespace journal {
namespace {

using namespace std::literals;

TEST(RequestNames, takes_over_an_id_that_is_strict_and_makes_one_else) {
  RequestNames names;
  EXPECT_EQ(names.of({{"REQUEST_ID", "5f-1C_"}}).id, "5f-1C_");
  EXPECT_EQ(names.of({{"UNIQUE_ID", "u"}}).id, "u");
  EXPECT_EQ(names.of({{"UNIQUE_ID", "u"}, {"REQUEST_ID", "r"}}).id, "r");
  EXPECT_EQ(names.of({{"UNIQUE_ID", "u"}, {"REQUEST_ID", "not one"}}).id, "u");
  const std::string longest(RequestName::kIdBytesMax, 'a'), longer = longest + "a", nul = "a\0"s;
  EXPECT_EQ(names.of({{"REQUEST_ID", longest}}).id, longest);
  for (const std::string_view bad : {""sv, "a b"sv, "a\n"sv, "a=b"sv, "\xc3\xa4"sv,
                                     std::string_view(longer), std::string_view(nul)}) {
    const std::string id = names.of({{"REQUEST_ID", bad}}).id;
    EXPECT_EQ(id.size(), 32u);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), id.npos);
  }
}

TEST(RequestNames, never_makes_one_twice) {
  RequestNames one, other;
  std::set<std::string> ids;
  for (int i = 0; i < 50'000; ++i) {
    ids.insert(one.of({}).id);
    ids.insert(other.of({}).id);
  }
  EXPECT_EQ(ids.size(), 100'000u);
}

TEST(TextOf, escapes_and_cuts_what_a_visitor_says_and_masks_secrets) {
  RequestNames names;
  const auto text = [&names](std::string_view address, std::string_view uri) {
    return text_of(names.of({{"REQUEST_ID", "i"}, {"REMOTE_ADDR", address}, {"REQUEST_URI", uri}}),
                   Secrets());
  };
  EXPECT_EQ(text("192.0.2.1", "/a?b=1"), "id=i client=192.0.2.1 uri=/a?b=1");
  EXPECT_EQ(text("", ""), "id=i client=- uri=-");
  EXPECT_EQ(text("a b", "/\n\"\\\x7f\xc3\xa4"),
            "id=i client=a\\x20b uri=/\\x0a\\x22\\x5c\\x7f\\xc3\\xa4");
  EXPECT_EQ(text("a", "/?password=abc&x=1"), "id=i client=a uri=/?password=xxx&x=1");
  const std::string uri = "/" + std::string(1000, 'u');
  EXPECT_EQ(text("a", uri),
            "id=i client=a uri=" + uri.substr(0, RequestName::kUriBytesMax) + "...(1001_bytes)");
  // Cut in the middle of a secret.
  const std::string cut = "/?" + std::string(240, 'p') + "=1&token=" + std::string(100, 's');
  EXPECT_EQ(text("a", cut).find("ss"), std::string::npos);
}

}  // namespace
}  // namespace journal
