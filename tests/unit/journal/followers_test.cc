#include "journal/followers.h"

#include <gtest/gtest.h>

namespace journal {
namespace {

const std::string kMarker = "0123456789abcdef";

cgi::Variables with_marker(const std::string& marker) {
  return {{"SCRIPT_NAME", "/a"}, {Followers::kParam, marker}};
}

Entry followed(const std::string& marker) {
  Entry entry;
  entry.followed = marker;
  return entry;
}

struct Heard {
  int began = 0, ended = 0;
  Followers::Events events() {
    return {[this](const Entry&) { ++began; }, [this](const Entry&) { ++ended; }};
  }
};

TEST(Followers, reports_the_first_request_with_the_marker) {
  Followers followers;
  Heard heard;
  ASSERT_TRUE(followers.add(&heard, kMarker, heard.events()));
  EXPECT_EQ(followers.marker_of(with_marker("another-long-marker")), "");
  EXPECT_EQ(followers.marker_of({}), "");
  const Entry entry = followed(followers.marker_of(with_marker(kMarker)));
  EXPECT_EQ(entry.followed, kMarker);
  followers.began(entry);
  EXPECT_EQ(followers.marker_of(with_marker(kMarker)), "") << "the second one is not followed";
  followers.ended(entry);
  EXPECT_EQ(heard.began, 1);
  EXPECT_EQ(heard.ended, 1);
}

TEST(Followers, forgets_whoever_leaves) {
  Followers followers;
  Heard heard;
  ASSERT_TRUE(followers.add(&heard, kMarker, heard.events()));
  const Entry entry = followed(kMarker);
  followers.began(entry);
  followers.forget(&heard);
  followers.ended(entry);
  EXPECT_EQ(heard.ended, 0);
}

TEST(Followers, refuses_markers_that_could_be_guessed_or_are_taken) {
  Followers followers;
  Heard heard, other;
  EXPECT_FALSE(followers.add(&heard, "short", heard.events()));
  EXPECT_FALSE(followers.add(&heard, std::string(65, 'a'), heard.events()));
  EXPECT_TRUE(followers.add(&heard, kMarker, heard.events()));
  EXPECT_FALSE(followers.add(&other, kMarker, other.events()));
}

TEST(Followers, are_few) {
  Followers followers;
  std::array<Heard, Followers::kMost + 1> many;
  for (std::size_t i = 0; i < many.size(); ++i) {
    const auto added = followers.add(&many[i], kMarker + std::to_string(i), many[i].events());
    EXPECT_EQ(added.ok(), i < Followers::kMost);
  }
  EXPECT_TRUE(followers.add(&many[0], kMarker + "again", many[0].events())) << "instead of its own";
}

}  // namespace
}  // namespace journal
