#include "migrate/patch.h"

#include <gtest/gtest.h>

namespace migrate {
namespace {

TEST(WithEdits, makes_them_in_the_order_of_the_file) {
  EXPECT_EQ(with_edits("abcdef", {{0, 4, 5, "E"}, {0, 1, 1, "-"}, {0, 6, 6, "!"}}).text,
            "a-bcdEf!");
}

TEST(WithEdits, makes_equal_ones_once_and_refuses_what_overlaps) {
  const Edited edited = with_edits("abcdef", {{0, 1, 3, "X"}, {0, 1, 3, "X"}, {0, 2, 4, "Y"}});
  EXPECT_EQ(edited.text, "aXdef");
  EXPECT_EQ(edited.refused, 1U);
}

TEST(PatchOf, has_three_lines_around_each_change) {
  const std::string before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n";
  const std::string after = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\n13\n13b\n14\n15\n";
  EXPECT_EQ(patch_of("/etc/x", &before, after),
            "--- a/etc/x\n+++ b/etc/x\n"
            "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
            "@@ -11,5 +11,6 @@\n 11\n 12\n 13\n+13b\n 14\n 15\n");
}

TEST(PatchOf, joins_changes_that_are_near) {
  const std::string before = "1\n2\n3\n4\n5\n";
  EXPECT_EQ(patch_of("/x", &before, "one\n2\n3\n4\n5\n6\n"),
            "--- a/x\n+++ b/x\n@@ -1,5 +1,6 @@\n-1\n+one\n 2\n 3\n 4\n 5\n+6\n");
}

TEST(PatchOf, makes_a_new_file) {
  EXPECT_EQ(patch_of("/x", nullptr, "a\n"), "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n");
}

TEST(PatchOf, says_that_a_last_line_does_not_end) {
  const std::string before = "a\nb";
  EXPECT_EQ(patch_of("/x", &before, "a\nb\nc\n"),
            "--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n a\n-b\n\\ No newline at end of file\n+b\n+c\n");
}

TEST(PatchOf, is_nothing_for_equal_texts) {
  const std::string text = "a\n";
  EXPECT_EQ(patch_of("/x", &text, text), "");
}

TEST(WhyNoPatch, is_a_name_that_patch_cannot_read) {
  EXPECT_EQ(why_no_patch("/etc/nginx/sites-available/a.conf"), "");
  EXPECT_NE(why_no_patch("/etc/a b"), "");
  EXPECT_NE(why_no_patch("/etc/a\nb"), "");
}

}  // namespace
}  // namespace migrate
