#include "config/load.h"

#include <gtest/gtest.h>

using namespace std::chrono_literals;

namespace config {
namespace {

// The settings from a correct [bridge] table followed by rest; reports the problems if there are
// any.
Settings settings_of(const std::string& rest) {
  LoadOutcome outcome = parse("[bridge]\nroots = [\"/srv\"]\n" + rest, "test.toml");
  if (!outcome) {
    for (const Problem& problem : outcome.problems()) ADD_FAILURE() << to_string(problem);
    return {};
  }
  return outcome.take();
}

TEST(Load, needs_only_roots) {
  Settings settings = settings_of("");
  EXPECT_EQ(settings.bridge.roots, std::vector<std::string>{"/srv"});
  EXPECT_EQ(settings.defaults, ProgramSettings());
  EXPECT_TRUE(settings.programs.empty());
}

TEST(Load, has_the_documented_defaults) {
  BridgeSettings bridge = settings_of("").bridge;
  EXPECT_TRUE(bridge.listen.empty());
  EXPECT_EQ(bridge.socket_mode, 0660u);
  EXPECT_EQ(bridge.control, "/run/cgibridge/control.sock");
  EXPECT_EQ(bridge.params_max, 1048576u);
  EXPECT_EQ(bridge.response_head_max, 65536u);
  EXPECT_EQ(bridge.drain_timeout, 30s);
  EXPECT_EQ(to_string(bridge.log_level), "info");
  EXPECT_EQ(bridge.zygotes_max, 200u);
  EXPECT_EQ(bridge.zygote_idle_timeout, 10min);
  ProgramSettings program;
  EXPECT_EQ(program.mode, Mode::persistent);
  EXPECT_EQ(program.level, Level::compiled);
  EXPECT_EQ(program.workers.max, 8u);
  EXPECT_EQ(program.queue.timeout, 5s);
  EXPECT_EQ(program.timeouts.request, 30s);
  EXPECT_EQ(program.timeouts.output, 0s);
  EXPECT_EQ(program.limits.body, 0u);
}

TEST(Load, reads_every_setting_of_a_bridge) {
  LoadOutcome outcome = parse(R"([bridge]
listen = ["unix:/run/a.sock", "[::1]:9000"]
socket_mode = "666"
control = "/run/c.sock"
roots = ["/a", "/b"]
params_max = "4KiB"
connections_max = 7
drain_timeout = "1500ms"
log_level = "debug"
adapters = "/opt/adapters"
zygotes_max = 0
zygote_idle_timeout = "1h"
prewarm = ["/a/x.pl"]
page = { path = "/cgibridge", from = ["10.0.0.0/8"], switch_modes = true }
)",
                              "test.toml");
  ASSERT_TRUE(outcome.ok());
  const BridgeSettings& bridge = outcome.settings().bridge;
  ASSERT_EQ(bridge.listen.size(), 2u);
  EXPECT_EQ(to_string(bridge.listen[1]), "[::1]:9000");
  EXPECT_EQ(bridge.socket_mode, 0666u);
  EXPECT_EQ(bridge.roots, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(bridge.params_max, 4096u);
  EXPECT_EQ(bridge.connections_max, 7u);
  EXPECT_EQ(bridge.drain_timeout, 1500ms);
  EXPECT_EQ(bridge.log_level, LogLevel::debug);
  EXPECT_EQ(bridge.adapters, "/opt/adapters");
  EXPECT_EQ(bridge.zygotes_max, 0u);
  EXPECT_EQ(bridge.zygote_idle_timeout, 1h);
  EXPECT_EQ(bridge.prewarm, std::vector<std::string>{"/a/x.pl"});
  EXPECT_EQ(bridge.page.path, "/cgibridge");
  EXPECT_EQ(bridge.page.from, std::vector<std::string>{"10.0.0.0/8"});
  EXPECT_TRUE(bridge.page.switch_modes);
}

TEST(Load, reads_which_side_answers) {
  ProgramSettings program = settings_of(R"([defaults]
mode = "split"
split = { persistent = 12.5, sticky = "cookie:sid" }
shadow = { share = "1%", methods = [] }
promote = { after = 1000, max_diff = 2 }
pin = { header = "X-CGI-Mode", from = ["::1", "unix"] }
arm_header = "X-CGI-Arm"
)")
                                .defaults;
  EXPECT_EQ(program.mode, Mode::split);
  EXPECT_EQ(program.split, (ProgramSettings::Split{12.5, "cookie:sid"}));
  EXPECT_EQ(program.shadow, (ProgramSettings::Shadow{.share = 1, .methods = {}}));
  EXPECT_EQ(program.promote, (ProgramSettings::Promote{.after = 1000, .max_diff = 2}));
  EXPECT_EQ(program.pin, (ProgramSettings::Pin{"X-CGI-Mode", {"::1", "unix"}}));
  EXPECT_EQ(program.arm_header, "X-CGI-Arm");
}

// Goal: [defaults] sets the promotion of programs that have mode = "shadow".
TEST(Load, takes_a_promotion_from_defaults_for_the_programs_that_compare) {
  Settings settings = settings_of(R"([defaults]
promote.after = 1000
[[program]]
match = "/srv/a"
mode = "shadow"
[[program]]
match = "/srv/b"
mode = "classic"
)");
  ASSERT_EQ(settings.programs.size(), 2u);
  EXPECT_EQ(settings.programs[0].promote.after, 1000u);
}

TEST(Load, gives_a_program_what_it_does_not_say_from_defaults) {
  Settings settings = settings_of(R"([[program]]
match = "/srv/a"
timeouts = { request = 0 }
[defaults]
mode = "classic"
timeouts = { request = "1s", output = "2s" }
)");
  ASSERT_EQ(settings.programs.size(), 1u);
  EXPECT_EQ(settings.programs[0].mode, Mode::classic);
  EXPECT_EQ(settings.programs[0].timeouts.request, 0s);
  EXPECT_EQ(settings.programs[0].timeouts.output, 2s);
  EXPECT_EQ(settings.programs[0].timeouts.kill_grace, 3s);
  EXPECT_EQ(settings.defaults.timeouts.request, 1s);
}

TEST(Load, adds_a_programs_env_to_defaults_and_replaces_its_preload) {
  Settings settings = settings_of(R"([defaults]
env = { A = "1", B = "2" }
preload = ["json"]
[[program]]
match = "/srv/a"
env = { B = "3", C = "" }
preload = ["re"]
)");
  ASSERT_EQ(settings.programs.size(), 1u);
  EXPECT_EQ(settings.programs[0].env,
            (std::map<std::string, std::string>{{"A", "1"}, {"B", "3"}, {"C", ""}}));
  EXPECT_EQ(settings.programs[0].preload, std::vector<std::string>{"re"});
}

TEST(Load, lowers_an_unsaid_spare_to_the_max_that_is_said) {
  Settings settings = settings_of("[[program]]\nmatch = \"/srv/a\"\nworkers = { max = 1 }\n");
  ASSERT_EQ(settings.programs.size(), 1u);
  EXPECT_EQ(settings.programs[0].workers.spare, 1u);
}

TEST(Load, takes_tables_in_each_way_that_toml_writes_them) {
  for (const char* text : {"[defaults]\nworkers = { max = 3 }\n", "[defaults]\nworkers.max = 3\n",
                           "[defaults.workers]\nmax = 3\n", "defaults.workers.max = 3\n"}) {
    std::string file = std::string(text) + "[bridge]\nroots = [\"/srv\"]\n";
    LoadOutcome outcome = parse(file, "test.toml");
    ASSERT_TRUE(outcome.ok()) << text;
    EXPECT_EQ(outcome.settings().defaults.workers.max, 3u);
  }
}

TEST(Load, reads_files_with_crlf_and_a_byte_order_mark) {
  EXPECT_TRUE(parse("\xEF\xBB\xBF[bridge]\r\nroots = [\"/srv\"]\r\n", "test.toml").ok());
}

TEST(Load, says_why_a_file_cannot_be_read) {
  LoadOutcome missing = load_file("/nonexistent/config.toml");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(to_string(missing.problems().at(0)),
            "/nonexistent/config.toml: cannot be read: No such file or directory");
  LoadOutcome folder = load_file("/");
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(to_string(folder.problems().at(0)), "/: is no regular file");
}

TEST(Load, refuses_a_file_without_end) {
  LoadOutcome outcome = parse(std::string(1024 * 1024 + 1, '\n'), "test.toml");
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.problems().at(0).message, "is longer than 1 MiB");
}

}  // namespace
}  // namespace config
