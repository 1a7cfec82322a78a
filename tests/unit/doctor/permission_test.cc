#include "doctor/permission.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace doctor {
namespace {

using Tag = AclEntry::Tag;

const Who kRoot{"root", 0, 0};
const Who kWeb{"www-data", 33, 33, {4}};

FileRights file(::mode_t mode, ::uid_t owner, ::gid_t group) {
  return {.path = "/x", .mode = mode, .owner = owner, .group = group};
}

TEST(May, takes_the_first_class_that_fits) {
  // The owner is not helped by what others may.
  EXPECT_FALSE(may(kWeb, file(0077, 33, 0), kRead));
  EXPECT_TRUE(may(kWeb, file(0400, 33, 0), kRead));
  EXPECT_FALSE(may(kWeb, file(0607, 0, 33), kWrite));
  EXPECT_TRUE(may(kWeb, file(0660, 0, 33), kWrite));
  EXPECT_TRUE(may(kWeb, file(0660, 0, 4), kWrite));
  EXPECT_FALSE(may(kWeb, file(0660, 0, 5), kWrite));
  EXPECT_TRUE(may(kWeb, file(0002, 0, 5), kWrite));
}

TEST(May, wants_all_of_what_is_wanted) {
  EXPECT_FALSE(may(kWeb, file(0111, 0, 0), kRead | kExecute));
  EXPECT_TRUE(may(kWeb, file(0555, 0, 0), kRead | kExecute));
}

TEST(May, lets_root_do_all_but_run_what_nobody_may_run) {
  EXPECT_TRUE(may(kRoot, file(0000, 5, 5), kRead | kWrite));
  EXPECT_TRUE(may(kRoot, file(S_IFDIR, 5, 5), kExecute));
  EXPECT_FALSE(may(kRoot, file(0666, 5, 5), kExecute));
  EXPECT_TRUE(may(kRoot, file(0010, 5, 5), kExecute));
}

TEST(May, follows_access_control_lists) {
  FileRights folder = file(S_IFDIR | 0710, 0, 0);
  folder.acl = {{Tag::owner, 7, 0},
                {Tag::user, 1, 33},
                {Tag::owning_group, 0, 0},
                {Tag::mask, 1, 0},
                {Tag::others, 0, 0}};
  EXPECT_TRUE(may(kWeb, folder, kExecute));
  EXPECT_FALSE(may(kWeb, folder, kRead));
  EXPECT_FALSE(may(Who{"other", 34, 34}, folder, kExecute));
  folder.acl[3].allowed = 0;  // the mask takes it away again
  EXPECT_FALSE(may(kWeb, folder, kExecute));
}

TEST(May, lets_any_group_of_a_list_allow_it) {
  FileRights folder = file(S_IFDIR | 0770, 0, 0);
  folder.acl = {{Tag::owner, 7, 0}, {Tag::owning_group, 0, 0}, {Tag::group, 0, 33},
                {Tag::group, 5, 4}, {Tag::mask, 7, 0},         {Tag::others, 7, 0}};
  EXPECT_TRUE(may(kWeb, folder, kExecute));
  folder.acl[3].allowed = 0;
  EXPECT_FALSE(may(kWeb, folder, kExecute)) << "what others may does not count for its groups";
}

TEST(ParseAcl, reads_what_the_kernel_stores) {
  using namespace std::string_literals;
  const auto acl = parse_acl("\2\0\0\0\2\0\5\0\x21\0\0\0\x20\0\4\0\xff\xff\xff\xff"s);
  ASSERT_EQ(acl.size(), 2u);
  EXPECT_EQ(acl[0].tag, Tag::user);
  EXPECT_EQ(acl[0].allowed, 5u);
  EXPECT_EQ(acl[0].id, 33u);
  EXPECT_EQ(acl[1].tag, Tag::others);
}

TEST(ParseAcl, takes_nothing_from_anything_else) {
  using namespace std::string_literals;
  for (const auto& bytes : {""s, "\2\0\0"s, "\3\0\0\0\2\0\5\0\x21\0\0\0"s}) {
    EXPECT_TRUE(parse_acl(bytes).empty());
  }
  EXPECT_EQ(parse_acl("\2\0\0\0\2\0\5\0\x21\0\0\0\x20\0"s).size(), 1u) << "half an entry is none";
}

TEST(WhyNot, names_the_first_folder_that_hinders) {
  PathRights path;
  path.folders = {{.path = "/", .mode = S_IFDIR | 0755},
                  {.path = "/run/x", .mode = S_IFDIR | 0750, .owner_name = "root"}};
  path.last = {.path = "/run/x/s", .mode = S_IFSOCK | 0600};
  EXPECT_EQ(why_not(kWeb, path, kWrite), "www-data may not enter /run/x (drwxr-x--- root:0)");
  path.folders[1].mode |= 1;
  EXPECT_EQ(why_not(kWeb, path, kWrite), "www-data may not connect to /run/x/s (srw------- 0:0)");
  EXPECT_EQ(why_not(kRoot, path, kWrite), "");
}

TEST(WhyNot, does_not_judge_what_was_not_seen) {
  PathRights path;
  path.folders = {{.path = "/", .mode = S_IFDIR | 0755}};
  path.unseen = "/run/x: Permission denied";
  EXPECT_EQ(why_not(kWeb, path, kWrite), "");
}

}  // namespace
}  // namespace doctor
