#include "compare/answer.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace compare {
namespace {

std::string head_of(std::initializer_list<std::string_view> lines) {
  Answer answer;
  for (const auto line : lines) add_field(answer, line);
  return answer.head;
}

TEST(Answer, has_one_head_for_fields_in_any_order) {
  const std::string head = head_of({"Content-Type: t/p", "X-A: 1", "X-Ab: 2", "expires: 3"});
  EXPECT_EQ(head, "Content-Type: t/p\nexpires: 3\nX-A: 1\nX-Ab: 2\n");
  EXPECT_EQ(head, head_of({"X-Ab: 2", "expires: 3", "X-A: 1", "Content-Type: t/p"}));
}

TEST(Answer, keeps_the_order_of_fields_with_one_name) {
  EXPECT_EQ(head_of({"Set-Cookie: b", "X: 1", "set-cookie: a"}),
            "Set-Cookie: b\nset-cookie: a\nX: 1\n");
}

TEST(Answer, takes_a_line_that_is_no_field_as_a_name) {
  EXPECT_EQ(head_of({"stray", "", "A: 1"}), "\nA: 1\nstray\n");
}

}  // namespace
}  // namespace compare
