#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "cgi/environment.h"

namespace {

std::string value_of(std::string_view name, const cgi::Variables& variables,
                     const cgi::ParamRules& rules = {}) {
  const auto environment = cgi::build_environment(variables, {"/s", "", ""}, "/s", {}, rules);
  EXPECT_TRUE(environment.ok());
  return std::string(cgi::value_in(environment.value().block, name));
}

TEST(JoinedFields, equal_fields_of_a_request_are_one) {
  EXPECT_EQ(value_of("HTTP_X_FORWARDED_FOR", {{"HTTP_X_FORWARDED_FOR", "192.0.2.1"},
                                              {"HTTP_VIA", "a"},
                                              {"HTTP_X_FORWARDED_FOR", ""},
                                              {"HTTP_X_FORWARDED_FOR", "192.0.2.2"},
                                              {"HTTP_X_FORWARDED_FOR", "192.0.2.3"}}),
            "192.0.2.1, 192.0.2.2, 192.0.2.3");
  EXPECT_EQ(value_of("HTTP_COOKIE", {{"HTTP_COOKIE", "a=b"}, {"HTTP_COOKIE", "c=d"}}), "a=b; c=d");
  EXPECT_EQ(value_of("HTTP_X", {{"HTTP_X", ""}, {"HTTP_X", "b"}}), "b");
}

TEST(JoinedFields, of_what_is_no_list_the_last_counts) {
  for (const std::string_view name : {"HTTP_HOST", "HTTP_AUTHORIZATION", "HTTP_USER_AGENT",
                                      "HTTP_DATE", "DOCUMENT_ROOT", "X_PARAM"}) {
    EXPECT_EQ(value_of(name, {{name, "a"}, {name, "b"}}), "b") << name;
  }
}

TEST(JoinedFields, what_the_bridge_was_started_with_is_replaced) {
  const std::vector<std::pair<std::string, std::string>> own = {{"HTTP_X", "own"}};
  EXPECT_EQ(value_of("HTTP_X", {{"HTTP_X", "a"}}, {.fallback = own}), "a");
}

// Each piece copied into the next would be 25 GB.
TEST(JoinedFields, a_hundred_thousand_pieces_are_one) {
  cgi::Variables variables(100000, {"HTTP_X", "12345"});
  EXPECT_EQ(value_of("HTTP_X", variables).size(), 100000 * 7 - 2);
}

}  // namespace
