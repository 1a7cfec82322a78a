#include "migrate/directive.h"

#include <gtest/gtest.h>

namespace migrate {
namespace {

TEST(LineAt, counts_from_one) {
  EXPECT_EQ(line_at("a\nb\n", 0), 1U);
  EXPECT_EQ(line_at("a\nb\n", 2), 2U);
}

TEST(IndentAt, is_what_the_line_begins_with) {
  EXPECT_EQ(indent_at("a\n \tb c\n", 6), " \t");
  EXPECT_EQ(indent_at("a", 0), "");
  EXPECT_EQ(indent_at("  ", 2), "  ");
}

TEST(SameName, does_not_tell_cases_apart) {
  EXPECT_TRUE(same_name("ScriptAlias", "scriptalias"));
  EXPECT_FALSE(same_name("Script", "ScriptAlias"));
}

}  // namespace
}  // namespace migrate
