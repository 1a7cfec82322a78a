#include "pool/warm_environment.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "message/path_sum.h"

namespace pool {
namespace {

using namespace std::string_literals;

const std::string kProgram = "/srv/cgi-bin/guest book.pl";
const std::string kAdapters = "/adapters";

WarmStart start_at(config::Level level, config::Reset reset) {
  return {.program = kProgram, .adapters = kAdapters, .level = level, .reset = reset};
}

WarmEnvironment start_with(const WarmStart& start) {
  const config::ProgramSettings settings;
  return warm_environment(policy::launch_variables({}, settings, {}), settings, start);
}

TEST(WarmEnvironment, lets_the_operators_env_win) {
  config::ProgramSettings settings;
  settings.env = {{"DOCUMENT_ROOT", "/mine"}, {"PATH", "/opt/bin"}};
  const WarmEnvironment environment =
      warm_environment(policy::launch_variables({{"DOCUMENT_ROOT", "/srv"}}, settings, {}),
                       settings, start_at(config::Level::linked, config::Reset::rewind));
  EXPECT_NE(environment.block.find("DOCUMENT_ROOT=/mine\0"s), std::string::npos);
  EXPECT_NE(environment.block.find("PATH=/opt/bin\0"s), std::string::npos);
  EXPECT_EQ(environment.block.find("/srv"), std::string::npos);
}

TEST(WarmEnvironment, keeps_a_library_that_the_operator_preloads) {
  config::ProgramSettings settings;
  settings.env = {{"LD_PRELOAD", "/lib/own.so"}};
  const WarmEnvironment environment =
      warm_environment(policy::launch_variables({}, settings, {}), settings,
                       start_at(config::Level::compiled, config::Reset::fork));
  EXPECT_NE(
      environment.block.find("LD_PRELOAD=/adapters/libcgibridge_checkpoint.so:/lib/own.so\0"s),
      std::string::npos);
  EXPECT_NE(environment.block.find("CGIBRIDGE_CHECKPOINT=fd=3 level=compiled reset=fork "
                                   "learn=installed tracking=auto "
                                   "name=guest book.pl\0"s),
            std::string::npos);
}

TEST(WarmEnvironment, says_when_the_process_itself_becomes_the_worker) {
  WarmStart start = start_at(config::Level::booted, config::Reset::none);
  start.making = worker::Making::ahead;
  EXPECT_NE(start_with(start).block.find("CGIBRIDGE_CHECKPOINT=fd=3 level=booted reset=none ahead "
                                         "learn=installed tracking=auto name=guest book.pl\0"s),
            std::string::npos);
}

TEST(WarmEnvironment, names_restless_files_by_their_sums) {
  const std::vector<std::string> paths = {"/srv/a counter", "/srv/b"};
  const WarmStart start{.program = kProgram,
                        .adapters = kAdapters,
                        .level = config::Level::compiled,
                        .reset = config::Reset::fork,
                        .restless = paths};
  const auto sum = [](const std::string& path) {
    return fmt::format("{:x}", path_sum(path.data(), path.size()));
  };
  EXPECT_NE(
      start_with(start).block.find(" restless=" + sum(paths[0]) + "," + sum(paths[1]) + " name="),
      std::string::npos);
}

TEST(WarmEnvironment, counts_its_variables) {
  const WarmEnvironment environment =
      start_with(start_at(config::Level::linked, config::Reset::rewind));
  EXPECT_EQ(environment.count, 4u);  // PATH and the checkpoint's three
}

TEST(WarmEnvironment, binds_early_unless_told_otherwise) {
  WarmStart start = start_at(config::Level::linked, config::Reset::fork);
  const auto binds_early = [&start] {
    return start_with(start).block.find("LD_BIND_NOW=1\0"s) != std::string::npos;
  };
  EXPECT_TRUE(binds_early());
  start.binding = Binding::lazy;
  EXPECT_FALSE(binds_early());
}

TEST(WarmEnvironment, keeps_the_checkpoints_library_beside_one_that_the_first_line_preloads) {
  const config::ProgramSettings settings;
  const policy::LaunchVariables launched = policy::launch_variables(
      {{"A", "of the server"}}, settings, {"A=1", "A=2", "LD_PRELOAD=/lib/own.so"});
  const WarmEnvironment environment =
      warm_environment(launched, settings, start_at(config::Level::linked, config::Reset::rewind));
  EXPECT_NE(environment.block.find("A=2\0"s), std::string::npos);
  EXPECT_EQ(environment.block.find("A=1\0"s), std::string::npos);
  EXPECT_EQ(environment.block.find("A=of"), std::string::npos);
  EXPECT_NE(
      environment.block.find("LD_PRELOAD=/adapters/libcgibridge_checkpoint.so:/lib/own.so\0"s),
      std::string::npos);
}

TEST(RequestVariables, borrows_what_needs_no_change) {
  const std::string block = "A=1\0B=2\0"s;
  const RequestVariables variables(block, 2, worker::Executable{});
  EXPECT_EQ(variables.block().data(), block.data());
  EXPECT_EQ(variables.count(), 2u);
}

TEST(RequestVariables, lose_what_dash_does_not_know_as_a_name) {
  worker::Executable executable;
  executable.assignments = {"PWD=/srv"};
  for (const char* shell : {"dash", "bash", ""}) {
    executable.shell = shell;
    const RequestVariables variables("A=1\0B-C=2\0001D=3\0_=4\0"s, 4, executable);
    const std::string odd = executable.shell == "dash" ? ""s : "B-C=2\0001D=3\0"s;
    EXPECT_EQ(variables.block(), "A=1\0"s + odd + "_=4\0PWD=/srv\0"s) << shell;
    EXPECT_EQ(variables.count(), odd.empty() ? 3u : 5u) << shell;
  }
}

TEST(RequestVariables, are_assigned_in_the_place_of_those_that_came) {
  worker::Executable executable;
  executable.assignments = {"B=x=y", "D=4", "D=5", "C=6"};
  const RequestVariables variables("A=1\0B=2\0C=\0"s, 3, executable);
  EXPECT_EQ(variables.block(), "A=1\0B=x=y\0C=6\0D=5\0"s);
  EXPECT_EQ(variables.count(), 4u);
}

}  // namespace
}  // namespace pool
