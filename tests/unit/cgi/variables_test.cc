#include "cgi/variables.h"

#include <gtest/gtest.h>

namespace {

TEST(Variables, the_last_of_a_name_counts) {
  const cgi::Variables variables = {{"A", "1"}, {"B", "2"}, {"A", "3"}};
  EXPECT_EQ(cgi::find(variables, "A"), "3");
}

TEST(Variables, only_the_first_of_a_name_is_kept) {
  cgi::Variables variables = {{"A", "1"}, {"B", "2"}, {"A", "3"}, {"", ""}, {"B", ""}, {"", "x"}};
  cgi::keep_first(variables);
  EXPECT_EQ(variables, (cgi::Variables{{"A", "1"}, {"B", "2"}, {"", ""}}));
}

TEST(Variables, an_empty_value_is_not_a_missing_one) {
  const cgi::Variables variables = {{"A", ""}};
  EXPECT_EQ(cgi::find(variables, "A"), "");
  EXPECT_EQ(cgi::find(variables, "a"), std::nullopt);
  EXPECT_EQ(cgi::value_or_empty(variables, "B"), "");
}

}  // namespace
