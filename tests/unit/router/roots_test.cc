#include "router/roots.h"

#include <gtest/gtest.h>

#include "unit/router/temp_folder.h"

namespace {

TEST(Roots, contain_what_is_below_them) {
  const TempFolder temp;
  const router::Roots roots({temp.folder("cgi")});
  EXPECT_TRUE(roots.contain(temp.at("cgi/a")));
  EXPECT_TRUE(roots.contain(temp.at("cgi/b/a")));
  EXPECT_FALSE(roots.contain(temp.at("cgi")));
  EXPECT_FALSE(roots.contain(temp.at("cgi-other/a")));
  EXPECT_FALSE(roots.contain(temp.at("a")));
}

TEST(Roots, are_resolved_when_made) {
  const TempFolder temp;
  temp.folder("real");
  const router::Roots roots({temp.link("link", temp.at("real")) + "/"});
  EXPECT_TRUE(roots.contain(temp.at("real/a")));
  EXPECT_FALSE(roots.contain(temp.at("link/a")));
}

TEST(Roots, of_everything_contain_everything) {
  const router::Roots roots({"/"});
  EXPECT_TRUE(roots.contain("/a"));
  EXPECT_FALSE(roots.contain("/"));
}

TEST(Roots, may_be_single_files) {
  const TempFolder temp;
  temp.file("one");
  const router::Roots roots({temp.link("link", "one")});
  EXPECT_TRUE(roots.contain(temp.at("one")));
  EXPECT_FALSE(roots.contain(temp.at("link")));
  EXPECT_FALSE(roots.contain(temp.at("one/x")));
  EXPECT_FALSE(roots.contain(temp.at("one2")));
  EXPECT_TRUE(roots.problems().empty());
}

TEST(Roots, that_are_unusable_are_reported_and_left_out) {
  const TempFolder temp;
  EXPECT_EQ(mkfifo(temp.at("fifo").c_str(), 0755), 0);
  const router::Roots roots({temp.at("missing"), temp.at("fifo"), "relative", temp.folder("ok")});
  ASSERT_EQ(roots.problems().size(), 3u);
  EXPECT_NE(roots.problems()[0].find("No such file"), std::string::npos);
  EXPECT_NE(roots.problems()[1].find("neither a folder nor a file"), std::string::npos);
  EXPECT_NE(roots.problems()[2].find("absolute"), std::string::npos);
  EXPECT_EQ(roots.folders(), std::vector<std::string>{temp.at("ok")});
}

}  // namespace
