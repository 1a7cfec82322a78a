#include "limits/hierarchies.h"

#include <gtest/gtest.h>

namespace limits {
namespace {

using enum Controller;

const std::string kMounts =
    "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n";

TEST(FindHierarchies, of_systemd_with_v2_alone) {
  const auto found = find_hierarchies(
      kMounts + "34 24 0:29 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
      "0::/system.slice/cgibridge.service\n");
  EXPECT_EQ(
      found,
      (std::vector<Hierarchy>{
          {Version::v2, {}, "/sys/fs/cgroup", "/sys/fs/cgroup/system.slice/cgibridge.service"}}));
}

TEST(FindHierarchies, of_both_versions_side_by_side) {
  const auto found = find_hierarchies(
      kMounts +
          "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
          "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
          "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
          "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"
          "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
      "9:name=systemd:/x\n4:memory:/box/7\n3:cpuset:/\n2:cpu,cpuacct:/\n0::/\n");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0], (Hierarchy{Version::v1,
                                 {cpu, cpuacct},
                                 "/sys/fs/cgroup/cpu,cpuacct",
                                 "/sys/fs/cgroup/cpu,cpuacct"}));
  EXPECT_EQ(found[1].own, "/sys/fs/cgroup/memory/box/7");
  EXPECT_EQ(found[2],
            (Hierarchy{Version::v2, {}, "/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified"}));
}

TEST(FindHierarchies, in_a_container_that_sees_only_its_own_cgroup) {
  const std::string mount =
      "50 49 0:30 /docker/ab12 /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n";
  const auto found = find_hierarchies(mount, "7:pids:/docker/ab12/below\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].own, "/sys/fs/cgroup/pids/below");
  EXPECT_EQ(find_hierarchies(mount, "7:pids:/docker/ab12\n").at(0).own, "/sys/fs/cgroup/pids");
  EXPECT_TRUE(find_hierarchies(mount, "7:pids:/docker/ab123\n").empty());
  EXPECT_TRUE(find_hierarchies(mount, "7:pids:/\n").empty());
}

TEST(FindHierarchies, passes_over_what_lies_outside_the_namespace) {
  const std::string mount = "50 49 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
  EXPECT_TRUE(find_hierarchies(mount, "0::/../other\n").empty());
}

TEST(FindHierarchies, takes_the_first_of_two_mounts_and_plain_paths_from_escaped_ones) {
  const auto found = find_hierarchies(
      "1 0 0:30 / /a\\040b\\134c rw - cgroup cgroup rw,memory\n"
      "2 0 0:30 / /second rw - cgroup cgroup rw,memory\n",
      "4:memory:/\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].own, "/a b\\c");
}

// Goal: a cut or strange line causes no crash, and hides no other line.
TEST(FindHierarchies, survives_texts_cut_at_every_byte) {
  const std::string mounts = kMounts + "35 31 0:32 / /m\\04 rw - cgroup cgroup rw,memory\n";
  const std::string own = "::\n:\n4:memory\n4:memory:/x\n0::/\n";
  for (std::size_t size = 0; size <= mounts.size(); ++size) {
    (void)find_hierarchies(mounts.substr(0, size), own);
  }
  for (std::size_t size = 0; size <= own.size(); ++size) {
    (void)find_hierarchies(mounts, own.substr(0, size));
  }
  EXPECT_EQ(find_hierarchies(mounts, own).size(), 1u);
}

}  // namespace
}  // namespace limits
