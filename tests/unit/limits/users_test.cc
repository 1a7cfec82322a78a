// Names that every Debian has.
#include "limits/users.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "limits/identities.h"

namespace limits {
namespace {

TEST(Users, are_found_by_name_and_by_number) {
  Users users(loop::system_clock());
  const auto& by_name = users.named("root");
  ASSERT_TRUE(by_name.ok());
  EXPECT_EQ(by_name.value().uid, 0u);
  EXPECT_EQ(by_name.value().gid, 0u);
  EXPECT_TRUE(std::ranges::binary_search(by_name.value().groups, ::gid_t{0}));
  const auto& by_number = users.named("0");
  ASSERT_TRUE(by_number.ok());
  EXPECT_EQ(by_number.value(), by_name.value());
}

TEST(Users, take_the_group_that_is_asked_for) {
  Users users(loop::system_clock());
  const auto& user = users.named("root:4242");
  ASSERT_TRUE(user.ok());
  EXPECT_EQ(user.value().gid, 4242u);
  EXPECT_FALSE(users.named("root:no-such-group").ok());
}

TEST(Users, without_a_name_need_a_group_and_are_in_no_other) {
  Users users(loop::system_clock());
  EXPECT_FALSE(users.named("4000000000").ok());
  const auto& user = users.named("4000000000:5");
  ASSERT_TRUE(user.ok());
  EXPECT_EQ(user.value(), (Identity{"4000000000", 4'000'000'000, 5, {5}}));
  EXPECT_FALSE(users.numbered(4'000'000'000).ok());
}

TEST(Users, are_nobody_by_the_number_that_means_no_change) {
  Users users(loop::system_clock());
  EXPECT_FALSE(users.named("4294967295:5").ok());
  EXPECT_FALSE(users.named("root:4294967295").ok());
}

TEST(Users, that_are_not_known_are_named) {
  Users users(loop::system_clock());
  const auto& user = users.named("no-such-user");
  ASSERT_FALSE(user.ok());
  EXPECT_EQ(user.error().message, "there is no user \"no-such-user\"");
}

TEST(Identities, find_what_the_settings_name_in_vain_once) {
  config::Settings settings;
  settings.defaults.user = "no-such-user";
  settings.programs.push_back(settings.defaults);
  settings.programs.push_back(settings.defaults);
  settings.programs[1].user = "owner";
  settings.programs.push_back(settings.defaults);
  settings.programs[2].user = "nobody-either:0";
  EXPECT_EQ(Identities::problems_of(settings),
            (std::vector<std::string>{"defaults.user: there is no user \"no-such-user\"",
                                      "program[3].user: there is no user \"nobody-either\""}));
}

}  // namespace
}  // namespace limits
