#include "cli/fcgiwrap.h"

#include <gtest/gtest.h>

#include "config/load.h"

namespace cli {
namespace {

using Words = std::vector<std::string>;

TEST(FcgiwrapWords, a_link_of_that_name_is_the_command) {
  EXPECT_EQ(fcgiwrap_words({"/usr/sbin/fcgiwrap", "-f"}),
            (Words{"/usr/sbin/fcgiwrap", "fcgiwrap", "-f"}));
  EXPECT_EQ(fcgiwrap_words({"cgibridge", "fcgiwrap", "-f"}),
            (Words{"cgibridge", "fcgiwrap", "-f"}));
}

TEST(FcgiwrapWords, of_other_commands_stay_as_they_are) {
  EXPECT_EQ(fcgiwrap_words({"cgibridge", "try", "", "-c 4"}),
            (Words{"cgibridge", "try", "", "-c 4"}));
  EXPECT_EQ(fcgiwrap_words({"cgibridge"}), Words{"cgibridge"});
  EXPECT_EQ(fcgiwrap_words({}), Words{});
}

TEST(FcgiwrapWords, come_from_one_variable_of_a_unit) {
  EXPECT_EQ(fcgiwrap_words({"fcgiwrap", "-f -c 4"}),
            (Words{"fcgiwrap", "fcgiwrap", "-f", "-c", "4"}));
  EXPECT_EQ(fcgiwrap_words({"fcgiwrap", "-c   4 "}), (Words{"fcgiwrap", "fcgiwrap", "-c", "4"}));
  EXPECT_EQ(fcgiwrap_words({"fcgiwrap", ""}), (Words{"fcgiwrap", "fcgiwrap"}));
}

TEST(FcgiwrapWords, keep_paths_with_blanks) {
  EXPECT_EQ(fcgiwrap_words({"fcgiwrap", "-s", "unix:/a b", "-p", "/c d"}),
            (Words{"fcgiwrap", "fcgiwrap", "-s", "unix:/a b", "-p", "/c d"}));
}

config::Settings settings_for(const FcgiwrapOptions& options, const Words& environment = {}) {
  auto settings = fcgiwrap_settings(options, environment, 022, "/here");
  EXPECT_TRUE(settings.ok());
  return settings ? settings.take() : config::Settings{};
}

std::string listens_on(const std::string& socket) {
  const auto settings = fcgiwrap_settings({.socket = socket}, {}, 022, "/here");
  return settings ? config::to_string(settings.value().bridge.listen.at(0))
                  : settings.error().message;
}

TEST(FcgiwrapSettings, have_the_socket_in_each_spelling) {
  EXPECT_EQ(listens_on("unix:/run/a.sock"), "unix:/run/a.sock");
  EXPECT_EQ(listens_on("unix:a.sock"), "unix:/here/a.sock");
  EXPECT_EQ(listens_on("tcp:127.0.0.1:9000"), "127.0.0.1:9000");
  EXPECT_EQ(listens_on("tcp6:[::1]:9000"), "[::1]:9000");
  EXPECT_TRUE(settings_for({}).bridge.listen.empty());
}

TEST(FcgiwrapSettings, refuse_what_is_no_socket) {
  const std::string hint =
      "; it is unix:/path/to/socket, tcp:dot.ted.qu.ad:port or tcp6:[ipv6_addr]:port";
  EXPECT_EQ(listens_on("/run/a.sock"), "-s /run/a.sock: is no socket" + hint);
  EXPECT_EQ(listens_on("help"), "-s help: is no socket" + hint);
  EXPECT_TRUE(listens_on("tcp:127.0.0.1").ends_with(hint));
  EXPECT_TRUE(listens_on("tcp6:::1:9000").ends_with(hint));
}

TEST(FcgiwrapSettings, run_any_program_or_those_that_are_named) {
  EXPECT_EQ(settings_for({}).bridge.roots, Words{"/"});
  EXPECT_EQ(settings_for({.programs = {"/a", "/b"}}).bridge.roots, (Words{"/a", "/b"}));
  EXPECT_FALSE(fcgiwrap_settings({.programs = {"a"}}, {}, 022, "/here").ok());
}

TEST(FcgiwrapSettings, limit_how_many_run_only_if_asked_to) {
  const config::Settings as_usual;
  EXPECT_EQ(settings_for({}).bridge.workers_max, as_usual.bridge.workers_max);
  EXPECT_EQ(settings_for({.at_once = 3}).bridge.workers_max, 3U);
  EXPECT_EQ(settings_for({.at_once = 1}).defaults.workers.spare, 1U);
  EXPECT_EQ(settings_for({.at_once = 30}).defaults.workers.max, 30U);
}

TEST(FcgiwrapSettings, give_programs_the_variables_of_the_process) {
  const auto settings = settings_for(
      {}, {"PATH=/bin", "HOME=/var/www", "EMPTY=", "PERL5LIB=/lib", "HTTPS=on", "HTTP_X=1",
           "QUERY_STRING=a", "LISTEN_FDS=1", "NOTIFY_SOCKET=/n", "CGIBRIDGE_X=1", "a.b=c", "x",
           "PWD=/", "OLDPWD=/usr", "SHLVL=0", "_=/bin/sh"});
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"PATH", "/bin"}, {"HOME", "/var/www"}, {"EMPTY", ""}, {"PERL5LIB", "/lib"}};
  EXPECT_EQ(settings.defaults.fallback_env, expected);
}

TEST(FcgiwrapSettings, are_what_a_file_can_say) {
  const FcgiwrapOptions options{
      .errors_to_server = true, .at_once = 2, .socket = "unix:/run/a", .programs = {"/p"}};
  const config::Settings settings = settings_for(options, {"HOME=/var/www"});
  const auto read = config::parse(fcgiwrap_file(options, settings), "printed.toml");
  ASSERT_TRUE(read.ok()) << config::to_string(read.problems().front());
  config::Settings expected = settings;
  expected.bridge.control = config::BridgeSettings{}.control;
  expected.defaults.env = {{"HOME", "/var/www"}};
  expected.defaults.fallback_env.clear();
  expected.bridge.first_param_counts = false;
  EXPECT_EQ(read.settings(), expected);
}

TEST(FcgiwrapSettings, say_what_a_file_cannot) {
  const std::string text = fcgiwrap_file({}, settings_for({}));
  EXPECT_NE(text.find("# Without -f,"), text.npos);
  EXPECT_NE(text.find("# Any program may run"), text.npos);
}

}  // namespace
}  // namespace cli
