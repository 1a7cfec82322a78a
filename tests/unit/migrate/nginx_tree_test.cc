#include <gtest/gtest.h>

#include "some_files.h"

namespace migrate {
namespace {

TEST(NginxTree, has_what_is_included_where_it_is_included) {
  SomeFiles files(
      Texts{{"/etc/nginx/nginx.conf", "a;\nhttp { include sites/*.conf; include /srv/x; }"},
            {"/etc/nginx/sites/1.conf", "one;"},
            {"/etc/nginx/sites/2.conf", "two { include snippet; }"},
            {"/etc/nginx/snippet", "small;"},
            {"/srv/x", "\nother;"}});
  const Tree tree = read_nginx("/etc/nginx/nginx.conf", files);
  EXPECT_EQ(outline_of_tree(tree.directives),
            "a[] http[]{include[sites/*.conf]{one[] two[]{include[snippet]{small[]}}} "
            "include[/srv/x]{other[]}}");
  EXPECT_EQ(tree.files.size(), 5U);
  EXPECT_TRUE(tree.problems.empty());
  const Directive& other = tree.directives[1].children[1].children[0];
  EXPECT_EQ(tree.files[other.file].path, "/srv/x");
  EXPECT_EQ(other.line, 2U);
}

TEST(NginxTree, goes_on_without_a_file_that_is_wrong) {
  SomeFiles files(Texts{{"/n.conf", "include bad;\ninclude none;\na;"}, {"/bad", "x;\n}\n"}});
  const Tree tree = read_nginx("/n.conf", files);
  EXPECT_EQ(outline_of_tree(tree.directives), "include[bad] include[none] a[]");
  ASSERT_EQ(tree.problems.size(), 2U);
  EXPECT_EQ(tree.problems[0].file, "/bad");
  EXPECT_EQ(tree.problems[0].line, 2U);
  EXPECT_EQ(tree.problems[0].why, "unexpected \"}\"; the file is left out");
  EXPECT_EQ(tree.problems[1].file, "/n.conf");
  EXPECT_EQ(tree.problems[1].line, 2U);
  EXPECT_EQ(tree.problems[1].why,
            "/none cannot be read, and is left out: No such file or directory");
}

TEST(NginxTree, notices_a_circle) {
  SomeFiles files(Texts{{"/n.conf", "include a;"}, {"/a", "include b;"}, {"/b", "include a; x;"}});
  const Tree tree = read_nginx("/n.conf", files);
  EXPECT_EQ(tree.files.size(), 3U);
  ASSERT_EQ(tree.problems.size(), 1U);
  EXPECT_NE(tree.problems[0].why.find("it includes itself"), std::string::npos);
}

TEST(NginxTree, may_include_a_file_twice) {
  SomeFiles files(Texts{{"/n.conf", "include a; include a;"}, {"/a", "x;"}});
  EXPECT_TRUE(read_nginx("/n.conf", files).problems.empty());
}

TEST(NginxTree, has_limits) {
  SomeFiles files(
      {{"/n.conf", "include a; include a; include a;"}, {"/a", "include b;"}, {"/b", ""}});
  const Tree few = read_nginx("/n.conf", files, {.files = 3, .depth = 30});
  EXPECT_EQ(few.files.size(), 3U);
  EXPECT_EQ(few.problems.size(), 2U);
  const Tree flat = read_nginx("/n.conf", files, {.files = 100, .depth = 2});
  EXPECT_EQ(flat.problems.size(), 3U);
  EXPECT_NE(flat.problems[0].why.find("nested too deeply"), std::string::npos);
}

TEST(NginxTree, says_that_the_main_file_cannot_be_read) {
  SomeFiles files(Texts{});
  const Tree tree = read_nginx("/n.conf", files);
  ASSERT_EQ(tree.problems.size(), 1U);
  EXPECT_EQ(tree.problems[0].file, "/n.conf");
}

}  // namespace
}  // namespace migrate
