#include "sandbox/plan.h"

#include <gtest/gtest.h>

namespace sandbox {
namespace {

const Place kRoot{true, 0, 0, {"/opt/adapters", "/srv/cgi-bin"}};
const Ways kAll{.namespaces = true, .landlock = 7};

Wish strict() {
  Wish wish;
  wish.read_only = true;
  wish.write = {"/var/lib/book"};
  return wish;
}

bool has_line(const StepList& steps, const std::string& line) {
  return ('\n' + describe(steps)).find('\n' + line + '\n') != std::string::npos;
}

std::size_t place_of(const StepList& steps, const std::string& word) {
  const std::size_t found = ('\n' + describe(steps)).find('\n' + word);
  EXPECT_NE(found, std::string::npos) << word << " in\n" << describe(steps);
  return found;
}

TEST(Plan, wants_namespaces_for_mounts_and_network_only) {
  Wish wish;
  EXPECT_FALSE(wants_namespaces(wish));
  wish.syscalls = {"@cgi"};
  EXPECT_FALSE(wants_namespaces(wish));
  wish.network = false;
  EXPECT_TRUE(wants_namespaces(wish));
  EXPECT_TRUE(wants_namespaces(strict()));
}

TEST(Plan, takes_what_may_be_written_to_before_all_is_made_read_only) {
  const StepList steps = to_make(strict(), kRoot);
  EXPECT_TRUE(has_line(steps, "unshare 20000 0"));
  EXPECT_LT(place_of(steps, "private"), place_of(steps, "take /var/lib/book"));
  EXPECT_LT(place_of(steps, "take /var/lib/book"), place_of(steps, "root 1 0"));
  EXPECT_LT(place_of(steps, "root 1 0"), place_of(steps, "put /var/lib/book"));
  EXPECT_EQ(describe(steps).find("/proc"), std::string::npos) << "it is read-only like all else";
  EXPECT_TRUE(describe(steps).ends_with("ready\n"));
}

TEST(Plan, gives_proc_back_where_it_is_asked_for_but_not_the_machines_settings) {
  Wish wish = strict();
  wish.write = {"/proc"};
  const StepList steps = to_make(wish, kRoot);
  EXPECT_LT(place_of(steps, "put /proc"), place_of(steps, "close_off 0 1 /proc/sys"));
  EXPECT_TRUE(has_line(to_enter(wish, kRoot, kAll, {}, {}), "allow 7ff2 4002 /proc"));
}

TEST(Plan, makes_a_network_with_a_loopback_alone) {
  Wish wish;
  wish.network = false;
  EXPECT_EQ(describe(to_make(wish, kRoot)), "unshare 40000000 0\nloopback\nready\n");
}

TEST(Plan, takes_a_namespace_of_users_without_root) {
  Wish wish;
  wish.network = false;
  const StepList steps = to_make(wish, {false, 33, 34, {}});
  EXPECT_EQ(describe(steps), "unshare 50000000 0\nmap_ids 21 22\nloopback\nready\n");
}

TEST(Plan, keeps_programs_and_adapters_below_a_private_tmp_in_sight) {
  Wish wish = strict();
  wish.private_tmp = true;
  wish.tmp_size = 65536;
  wish.write = {"/tmp/shared/data"};
  const StepList steps =
      to_make(wish, {true, 0, 0, {"/opt/adapters", "/tmp/site/cgi-bin", "/tmpfoo"}});
  EXPECT_TRUE(has_line(steps, "tmpfs 0 1 /tmp mode=1777,size=65536"));
  EXPECT_TRUE(has_line(steps, "put 0 2 /tmp/shared/data"));
  EXPECT_TRUE(has_line(steps, "put 1 6 /tmp/site/cgi-bin"));
  EXPECT_EQ(describe(steps).find("/opt/adapters"), std::string::npos);
  EXPECT_EQ(describe(steps).find("/tmpfoo"), std::string::npos);
}

TEST(Plan, enters_namespaces_then_becomes_its_user_then_is_held) {
  const StepList steps = to_enter(strict(), kRoot, kAll, {-1, 11, -1, 12}, {"12345678"});
  const char* const order[] = {
      "join b 20000", "root_is c 0", "landlock",     "allow 7ff2 4002 /var/lib/book",
      "drop_caps",    "become",      "no_new_privs", "enforce",
      "filter"};
  std::size_t last = 0;
  for (const char* step : order) {
    EXPECT_LT(last, place_of(steps, step) + 1) << step;
    last = place_of(steps, step) + 1;
  }
}

TEST(Plan, drops_no_capabilities_that_it_does_not_have) {
  Wish wish;
  wish.syscalls = {"@cgi"};
  wish.landlock = false;
  EXPECT_EQ(describe(to_enter(wish, {false, 33, 33, {}}, kAll, {}, {"12345678"})),
            "become\nno_new_privs\nfilter ...\n");
}

TEST(Plan, allows_nothing_new_to_kernels_that_do_not_know_it) {
  Wish wish = strict();
  wish.network = false;
  const auto rules = [&](unsigned version) {
    return to_enter(wish, kRoot, {.namespaces = true, .landlock = version}, {}, {});
  };
  EXPECT_TRUE(has_line(rules(7), "landlock 7ff2 3"));
  EXPECT_TRUE(has_line(rules(3), "landlock 7ff2 0"));
  EXPECT_TRUE(has_line(rules(2), "landlock 3ff2 0"));
  EXPECT_EQ(describe(rules(1)).find("landlock"), std::string::npos);
  EXPECT_EQ(describe(rules(7)).find("/proc"), std::string::npos);
}

TEST(Plan, says_what_cannot_be_held) {
  Wish wish = strict();
  wish.private_tmp = true;
  wish.network = false;
  using Names = std::vector<std::string>;
  EXPECT_EQ(not_held(wish, kAll), Names{});
  EXPECT_EQ(not_held(wish, {.namespaces = false, .landlock = 3}), Names{"private_tmp"});
  EXPECT_EQ(not_held(wish, {}), (Names{"read_only", "private_tmp"}));
  wish.landlock = false;
  EXPECT_EQ(not_held(wish, {.namespaces = false, .landlock = 3}),
            (Names{"read_only", "private_tmp"}));
  EXPECT_EQ(in_words(wish, kAll),
            "read_only (mounts), private_tmp, no network (namespace), no_new_privs");
  wish.landlock = true;
  EXPECT_TRUE(in_words(wish, kAll).ends_with(", Landlock 7"));
  EXPECT_TRUE(in_words(wish, {.namespaces = true, .landlock = 5})
                  .ends_with("Landlock 5 (which does not rule signals)"));
  EXPECT_TRUE(in_words(wish, {.namespaces = true}).ends_with("no Landlock here"));
}

}  // namespace
}  // namespace sandbox
