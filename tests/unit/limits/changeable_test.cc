// Goal: every user who may change a file, or replace it, is found.
#include "limits/owner_rules.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>

namespace limits {
namespace {

constexpr ::uid_t kAlice = 1001;
constexpr ::gid_t kStaff = 50;

Identity alice() {
  return {.name = "alice", .uid = kAlice, .gid = kAlice, .groups = {kStaff}};
}

std::vector<FileFacts> good() {
  return {{"/usr/lib/m/x.py", 0, S_IFREG | 0644},
          {"/usr/lib/m", 0, S_IFDIR | 0755},
          {"/usr/lib", 0, S_IFDIR | 0755},
          {"/usr", 0, S_IFDIR | 0755},
          {"/", 0, S_IFDIR | 0755}};
}

struct Open {
  const char* name;
  std::function<void(std::vector<FileFacts>&)> change;
  const char* word;
};

// clang-format off
const Open kOpen[] = {
    {"file_of_his", [](auto& f) { f[0].owner = kAlice; }, "x.py belongs to alice"},
    {"his_read_only_file", [](auto& f) { f[0] = {f[0].path, kAlice, S_IFREG | 0444}; }, "belongs"},
    {"folder_of_his", [](auto& f) { f[1].owner = kAlice; }, "/usr/lib/m belongs"},
    {"upper_folder_of_his", [](auto& f) { f[3].owner = kAlice; }, "/usr belongs"},
    {"file_of_his_group", [](auto& f) { f[0].group = kStaff; f[0].mode |= 020; }, "a group of his"},
    {"folder_of_his_main_group", [](auto& f) { f[2].group = kAlice; f[2].mode |= 020; }, "group"},
    {"file_that_all_write", [](auto& f) { f[0].mode |= 002; }, "everybody"},
    {"folder_that_all_write", [](auto& f) { f[2].mode |= 002; }, "/usr/lib can"},
    {"access_list", [](auto& f) { f[1].mode |= 020; f[1].has_access_list = true; }, "list"},
    {"sticky_file", [](auto& f) { f[0].mode |= 01002; }, "everybody"},
};
// clang-format on

class Changeable : public testing::TestWithParam<Open> {};

TEST_P(Changeable, is_told) {
  std::vector<FileFacts> files = good();
  GetParam().change(files);
  const auto why = why_changeable(files, alice());
  ASSERT_TRUE(why.has_value());
  EXPECT_NE(why->find(GetParam().word), std::string::npos) << *why;
}

INSTANTIATE_TEST_SUITE_P(Ways, Changeable, testing::ValuesIn(kOpen),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Changeable, is_not_what_others_own) {
  EXPECT_EQ(why_changeable(good(), alice()), std::nullopt);
}

TEST(Changeable, is_not_what_lies_in_a_sticky_folder) {
  std::vector<FileFacts> files = good();
  files[2].mode |= 01002;
  EXPECT_EQ(why_changeable(files, alice()), std::nullopt);
}

TEST(Changeable, is_not_what_a_group_of_others_writes) {
  std::vector<FileFacts> files = good();
  files[1].mode |= 020;
  files[1].group = 7;
  EXPECT_EQ(why_changeable(files, alice()), std::nullopt);
}

TEST(Changeable, is_not_a_link_for_its_mode) {
  std::vector<FileFacts> files = good();
  files[0].mode = S_IFLNK | 0777;
  EXPECT_EQ(why_changeable(files, alice()), std::nullopt);
}

TEST(Changeable, by_others_than_root_is_asked_of_root) {
  const Identity root{.name = "root", .uid = 0, .gid = 0, .groups = {}};
  std::vector<FileFacts> files = good();
  EXPECT_EQ(why_changeable(files, root), std::nullopt);
  files[0].mode |= 020;
  EXPECT_EQ(why_changeable(files, root), std::nullopt) << "root's own group";
  files[0].group = kStaff;
  EXPECT_NE(why_changeable(files, root), std::nullopt);
}

TEST(Changeable, looks_at_every_folder) {
  const auto facts = facts_of("/usr/bin/env");
  ASSERT_TRUE(facts.ok());
  ASSERT_EQ(facts.value().size(), 4u);
  EXPECT_EQ(facts.value().back().path, "/");
  EXPECT_FALSE(facts_of("/usr/bin/env/x").ok());
  EXPECT_FALSE(facts_of("/no/such").ok());
}

}  // namespace
}  // namespace limits
