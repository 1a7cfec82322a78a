#include "limits/cgroup_files.h"

#include <gtest/gtest.h>

#include "limits/cgroups.h"
#include "limits/unified_tree.h"

namespace limits {
namespace {

using enum Controller;
using Texts = std::vector<FileText>;

const config::CgroupLimits kSome{
    .cpu = 30, .cpu_weight = 200, .memory = 64 * base::kMiB, .processes = 20};

TEST(TextsOf, a_ceiling_is_per_cent_of_one_core_in_each_period) {
  EXPECT_EQ(texts_of(Version::v2, cpu, kSome),
            (Texts{{"cpu.weight", "200"}, {"cpu.max", "30000 100000"}}));
  EXPECT_EQ(texts_of(Version::v1, cpu, kSome),
            (Texts{{"cpu.shares", "2048"}, {"cpu.cfs_quota_us", "30000"}}));
  EXPECT_EQ(texts_of(Version::v2, cpu, {.cpu = 250})[1].text, "250000 100000");
}

TEST(TextsOf, without_limits_are_the_kernels_defaults) {
  EXPECT_EQ(texts_of(Version::v2, cpu, {}),
            (Texts{{"cpu.weight", "100"}, {"cpu.max", "max 100000"}}));
  EXPECT_EQ(texts_of(Version::v1, cpu, {}),
            (Texts{{"cpu.shares", "1024"}, {"cpu.cfs_quota_us", "-1"}}));
  EXPECT_EQ(texts_of(Version::v2, memory, {}),
            (Texts{{"memory.max", "max"}, {"memory.swap.max", "max", false}}));
  EXPECT_EQ(texts_of(Version::v1, pids, {}), (Texts{{"pids.max", "max"}}));
}

TEST(TextsOf, memory_and_swap_move_together_in_either_direction) {
  EXPECT_EQ(texts_of(Version::v1, memory, kSome),
            (Texts{{"memory.memsw.limit_in_bytes", "-1", false},
                   {"memory.limit_in_bytes", "67108864"},
                   {"memory.memsw.limit_in_bytes", "67108864", false}}));
  EXPECT_EQ(texts_of(Version::v2, memory, kSome),
            (Texts{{"memory.max", "67108864"}, {"memory.swap.max", "0", false}}));
}

TEST(TextsOf, weights_stay_within_what_v1_takes) {
  EXPECT_EQ(texts_of(Version::v1, cpu, {.cpu_weight = 1})[0].text, "10");
  EXPECT_EQ(texts_of(Version::v1, cpu, {.cpu_weight = 10'000})[0].text, "102400");
}

TEST(AskedOf, names_the_settings_that_a_controller_holds) {
  EXPECT_EQ(asked_of(cpu, kSome), (std::vector<std::string_view>{"cpu", "cpu_weight"}));
  EXPECT_EQ(asked_of(memory, kSome), std::vector<std::string_view>{"memory"});
  EXPECT_EQ(asked_of(pids, kSome), std::vector<std::string_view>{"processes"});
  EXPECT_TRUE(asked_of(cpuacct, kSome).empty());
  EXPECT_TRUE(asked_of(cpu, {}).empty());
}

TEST(Within, a_program_has_no_higher_ceiling_than_all_together) {
  EXPECT_EQ(within({.cpu = 50}, {.cpu = 30}).cpu, 30);
  EXPECT_EQ(within({.cpu = 20}, {.cpu = 30}).cpu, 20);
  EXPECT_EQ(within({}, {.cpu = 30}).cpu, 0);
  EXPECT_EQ(within({.cpu = 50}, {}).cpu, 50);
}

TEST(NumberIn, finds_a_key_at_a_lines_start_only) {
  const std::string text = "nr_periods 3\nx_throttled_time 5\nthrottled_time 77\nthrottled 1\n";
  EXPECT_EQ(number_in(text, "throttled_time"), 77u);
  EXPECT_EQ(number_in(text, "throttled"), 1u);
  EXPECT_EQ(number_in(text, "time"), std::nullopt);
  EXPECT_EQ(number_in("12345\n", ""), 12345u);
  EXPECT_EQ(number_in("max\n", ""), std::nullopt);
  EXPECT_EQ(number_in("", "x"), std::nullopt);
  EXPECT_EQ(number_in("x", "x"), std::nullopt);
  EXPECT_EQ(number_in("x 1y\n", "x"), std::nullopt);
}

TEST(Names, are_plain_and_those_of_different_paths_differ) {
  EXPECT_EQ(cgroup_name_of("/srv/cgi-bin/a b\n.pl").substr(0, 7), "a_b_.pl");
  EXPECT_NE(cgroup_name_of("/srv/a/x.pl"), cgroup_name_of("/srv/b/x.pl"));
  EXPECT_EQ(cgroup_name_of("/srv/" + std::string(300, 'x')).size(), 64u + 9);
  EXPECT_EQ(bridge_cgroup_name("/run/c.sock"), bridge_cgroup_name("/run/c.sock"));
}

TEST(BaseOf, a_bridge_that_moved_itself_is_found_again) {
  EXPECT_EQ(base_of("/sys/fs/cgroup/a.service/bridge"), "/sys/fs/cgroup/a.service");
  EXPECT_EQ(base_of("/sys/fs/cgroup/a.service"), "/sys/fs/cgroup/a.service");
  EXPECT_EQ(base_of("/sys/fs/cgroup/cgibridge"), "/sys/fs/cgroup/cgibridge");
}

}  // namespace
}  // namespace limits
