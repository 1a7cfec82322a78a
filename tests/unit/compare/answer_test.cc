#include "compare/answer.h"

#include <gtest/gtest.h>

namespace compare {
namespace {

TEST(Sorted, has_one_order_for_fields_in_any_order) {
  const std::string head = sorted("Content-Type: t/p\nX-A: 1\nX-Ab: 2\nexpires: 3\n");
  EXPECT_EQ(head, "Content-Type: t/p\nexpires: 3\nX-A: 1\nX-Ab: 2\n");
  EXPECT_EQ(head, sorted("X-Ab: 2\nexpires: 3\nX-A: 1\nContent-Type: t/p\n"));
}

TEST(Sorted, keeps_the_order_of_fields_with_one_name) {
  EXPECT_EQ(sorted("Set-Cookie: b\nX: 1\nset-cookie: a\n"), "Set-Cookie: b\nset-cookie: a\nX: 1\n");
}

TEST(Sorted, takes_a_line_that_is_no_field_as_a_name) {
  EXPECT_EQ(sorted("stray\n\nA: 1\n"), "\nA: 1\nstray\n");
  EXPECT_EQ(sorted(""), "");
}

}  // namespace
}  // namespace compare
