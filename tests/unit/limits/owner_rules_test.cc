// suEXEC's conditions, each broken in turn.
#include "limits/owner_rules.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>

namespace limits {
namespace {

constexpr ::uid_t kAlice = 1001, kBob = 1002;

std::vector<FileFacts> good() {
  return {{"/home/alice/cgi/s", kAlice, S_IFREG | 0755},
          {"/home/alice/cgi", kAlice, S_IFDIR | 0755},
          {"/home/alice", kAlice, S_IFDIR | 0711},
          {"/home", 0, S_IFDIR | 0755},
          {"/", 0, S_IFDIR | 0755}};
}

struct Broken {
  const char* name;
  std::function<void(std::vector<FileFacts>&)> change;
  const char* word;  // must be in the message
};

void PrintTo(const Broken& broken, std::ostream* out) {
  *out << broken.name;
}

// clang-format off
const std::vector<Broken> kBroken = {
    {"program_of_root", [](auto& f) { f[0].owner = 0; }, "belongs to root"},
    {"program_of_a_system_user", [](auto& f) { f[0].owner = f[1].owner = 999; }, "uid_min"},
    {"program_that_its_group_can_write", [](auto& f) { f[0].mode |= 020; }, "its group"},
    {"program_that_all_can_write", [](auto& f) { f[0].mode |= 002; }, "everybody"},
    {"setuid_program", [](auto& f) { f[0].mode |= S_ISUID; }, "setuid"},
    {"setgid_program", [](auto& f) { f[0].mode |= S_ISGID; }, "setgid"},
    {"no_program_at_all", [](auto& f) { f[0].mode = S_IFIFO | 0755; }, "regular"},
    {"folder_of_another", [](auto& f) { f[1].owner = kBob; }, "folder"},
    {"folder_of_root", [](auto& f) { f[1].owner = 0; }, "folder"},
    {"folder_that_its_group_can_write", [](auto& f) { f[1].mode |= 020; }, "/home/alice/cgi can"},
    {"folder_that_all_can_write", [](auto& f) { f[1].mode |= 002; }, "/home/alice/cgi can"},
    {"folder_that_is_sticky_too", [](auto& f) { f[1].mode |= 01002; }, "/home/alice/cgi can"},
    {"upper_folder_of_another", [](auto& f) { f[2].owner = kBob; }, "neither root"},
    {"upper_folder_that_its_group_can_write", [](auto& f) { f[2].mode |= 020; }, "/home/alice can"},
    {"upper_folder_that_all_can_write", [](auto& f) { f[3].mode |= 002; }, "/home can"},
    {"top_folder_that_all_can_write", [](auto& f) { f[4].mode |= 002; }, "/ can"},
};
// clang-format on

class OwnerRules : public testing::TestWithParam<Broken> {};

TEST_P(OwnerRules, refuse) {
  std::vector<FileFacts> files = good();
  GetParam().change(files);
  const auto why = why_not_as_owner(files, {});
  ASSERT_TRUE(why.has_value());
  EXPECT_NE(why->find(GetParam().word), std::string::npos) << *why;
}

INSTANTIATE_TEST_SUITE_P(Conditions, OwnerRules, testing::ValuesIn(kBroken),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(OwnerRules, allow_a_program_that_only_its_owner_can_change) {
  EXPECT_EQ(why_not_as_owner(good(), {}), std::nullopt);
}

TEST(OwnerRules, allow_a_sticky_folder_above) {
  std::vector<FileFacts> files = good();
  files[3].mode |= 01022;
  EXPECT_EQ(why_not_as_owner(files, {}), std::nullopt);
}

TEST(OwnerRules, allow_folders_that_root_gave) {
  std::vector<FileFacts> files = good();
  files[2].owner = 0;
  EXPECT_EQ(why_not_as_owner(files, {}), std::nullopt);
}

TEST(OwnerRules, keep_to_the_floors_that_are_set) {
  EXPECT_NE(why_not_as_owner(good(), {.uid_min = 1002}), std::nullopt);
  EXPECT_EQ(why_not_as_owner(good(), {.uid_min = 1001}), std::nullopt);
  EXPECT_EQ(why_not_in_group(100, {}), std::nullopt);
  EXPECT_NE(why_not_in_group(99, {}), std::nullopt);
  EXPECT_NE(why_not_in_group(0, {.gid_min = 0}), std::nullopt);
}

TEST(OwnerRules, hold_the_link_by_which_it_is_called_to_what_the_program_is_held_to) {
  std::vector<FileFacts> link = good();
  link[0].mode = S_IFLNK | 0777;
  for (const LinkUse use : {LinkUse::named, LinkUse::on_the_way}) {
    EXPECT_FALSE(why_not_by_link(link, kAlice, use));
    EXPECT_TRUE(why_not_by_link(link, kBob, use));
  }
  link[0].owner = 0;
  EXPECT_TRUE(why_not_by_link(link, kAlice, LinkUse::named));
  EXPECT_FALSE(why_not_by_link(link, kAlice, LinkUse::on_the_way));
  link[0].owner = kAlice;
  link[1].owner = 0;
  EXPECT_TRUE(why_not_by_link(link, kAlice, LinkUse::named));
  EXPECT_FALSE(why_not_by_link(link, kAlice, LinkUse::on_the_way));
  link[1].mode |= 01002;
  EXPECT_FALSE(why_not_by_link(link, kAlice, LinkUse::on_the_way));
  link[1].mode = S_IFDIR | 0777;
  EXPECT_TRUE(why_not_by_link(link, kAlice, LinkUse::on_the_way));
}

}  // namespace
}  // namespace limits
