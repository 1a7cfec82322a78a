#include "config/settings.h"

#include <gtest/gtest.h>

namespace config {
namespace {

Settings with_patterns(const std::vector<std::string>& patterns) {
  Settings settings;
  for (const std::string& pattern : patterns) settings.programs.emplace_back().match = pattern;
  return settings;
}

TEST(Settings, gives_a_program_the_first_section_that_matches) {
  Settings settings = with_patterns({"/srv/a.pl", "/srv/*.pl", "*"});
  EXPECT_EQ(&settings.for_program("/srv/a.pl"), &settings.programs[0]);
  EXPECT_EQ(&settings.for_program("/srv/b.pl"), &settings.programs[1]);
  EXPECT_EQ(&settings.for_program("/srv/b.py"), &settings.programs[2]);
}

TEST(Settings, gives_a_program_without_section_the_defaults) {
  Settings settings = with_patterns({"/srv/a.pl"});
  EXPECT_EQ(&settings.for_program("/srv/a.plx"), &settings.defaults);
}

TEST(Settings, lets_a_star_match_folders_and_leading_dots) {
  Settings settings = with_patterns({"/srv/*"});
  EXPECT_EQ(&settings.for_program("/srv/deep/er/.hidden"), &settings.programs[0]);
}

TEST(Settings, keep_a_generation_when_only_policy_changes) {
  ProgramSettings before, after;
  after.mode = Mode::shadow;
  after.split.persistent = 50;
  after.split.sticky = "client";
  after.shadow.share = 1;
  after.promote.after = 1;
  after.pin.header = "X-CGI-Mode";
  after.arm_header = "X-CGI-Arm";
  after.workers.max = 99;
  after.queue.max = 1;
  after.timeouts.request = std::chrono::seconds(1);
  after.limits.body = 1;
  after.rewind.verify = 1;
  after.rewind.max_retired = 100;
  after.workers.max_requests = 0;
  after.name = "other";
  EXPECT_NE(before, after);
  EXPECT_TRUE(same_generation(before, after));
}

TEST(Settings, end_a_generation_when_env_preload_learn_level_or_reset_changes) {
  ProgramSettings env, preload, learn, level, reset, tracking;
  env.env["A"] = "1";
  preload.preload = {"json"};
  learn.learn = Learn::none;
  level.level = Level::linked;
  reset.reset = Reset::fork;
  tracking.rewind.tracking = Tracking::compare;
  for (const ProgramSettings& changed : {env, preload, learn, level, reset, tracking}) {
    EXPECT_FALSE(same_generation(ProgramSettings(), changed));
  }
}

TEST(Settings, name_what_waits_for_a_restart) {
  Settings running, loaded;
  loaded.bridge.log_level = LogLevel::debug;
  loaded.bridge.page.path = "/cgibridge";
  loaded.bridge.workers_max = 1;
  EXPECT_TRUE(waiting_for_restart(running, loaded).empty());
  loaded.bridge.socket_mode = 0600;
  loaded.bridge.control = "/other";
  EXPECT_EQ(waiting_for_restart(running, loaded),
            (std::vector<std::string>{"bridge.socket_mode", "bridge.control"}));
}

}  // namespace
}  // namespace config
