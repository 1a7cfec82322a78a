#include "limits/terms.h"

#include <gtest/gtest.h>

namespace limits {
namespace {

using namespace std::chrono_literals;

const Rlimit* find(const Terms& terms, int resource) {
  for (std::size_t i = 0; i < terms.rlimit_count; ++i) {
    if (terms.rlimits[i].resource == resource) return &terms.rlimits[i];
  }
  return nullptr;
}

TEST(Terms, of_settings_that_say_nothing_change_nothing) {
  const Terms terms = terms_of({});
  EXPECT_EQ(terms.rlimit_count, 0u);
  EXPECT_FALSE(terms.identity.has_value());
  EXPECT_FALSE(terms.no_new_privileges);
  EXPECT_EQ(apply(terms), nullptr);
}

TEST(Terms, hold_each_limit_that_is_set) {
  config::ProgramSettings settings;
  settings.limits.file_size = 1;
  settings.limits.address_space = 2;
  settings.limits.open_files = 3;
  settings.limits.user_processes = 4;
  settings.limits.cpu_time = 5s;
  settings.limits.core = false;
  const Terms terms = terms_of(settings);
  EXPECT_EQ(terms.rlimit_count, terms.rlimits.size());
  EXPECT_EQ(find(terms, RLIMIT_FSIZE)->soft, 1u);
  EXPECT_EQ(find(terms, RLIMIT_AS)->hard, 2u);
  EXPECT_EQ(find(terms, RLIMIT_NOFILE)->soft, 3u);
  EXPECT_EQ(find(terms, RLIMIT_NPROC)->soft, 4u);
  EXPECT_EQ(find(terms, RLIMIT_CPU)->soft, 5u);
  EXPECT_EQ(find(terms, RLIMIT_CORE)->hard, 0u);
}

TEST(Terms, round_processor_time_up_and_leave_its_hard_limit) {
  config::ProgramSettings settings;
  settings.limits.cpu_time = 1001ms;
  Terms terms = terms_of(settings);
  EXPECT_EQ(find(terms, RLIMIT_CPU)->soft, 2u);
  EXPECT_EQ(find(terms, RLIMIT_CPU)->hard, RLIM_INFINITY);
  settings.limits.core = false;
  terms = terms_of(settings);
  without_cpu_time(terms);
  EXPECT_EQ(find(terms, RLIMIT_CPU), nullptr);
  EXPECT_NE(find(terms, RLIMIT_CORE), nullptr);
}

TEST(Terms, step_down_to_all_ids_with_the_program_behind_them) {
  Terms terms;
  terms.identity = Identity{"alice", 1001, 100, {4, 100}};
  terms.step_down = "/x/cgibridge-step-down";
  EXPECT_EQ(step_down_argv(terms, "/srv", "/srv/s", {"s", "a b"}),
            (std::vector<std::string>{"/x/cgibridge-step-down", "1001 100 4,100", "-", "/srv",
                                      "/srv/s", "s", "a b"}));
  terms.no_new_privileges = true;
  EXPECT_EQ(step_down_argv(terms, "/srv", "/srv/s", {"s"}).at(1), "n1001 100 4,100");
}

}  // namespace
}  // namespace limits
