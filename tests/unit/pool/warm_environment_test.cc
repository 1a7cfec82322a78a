#include "pool/warm_environment.h"

#include <gtest/gtest.h>

namespace pool {
namespace {

using namespace std::string_literals;

const std::string kProgram = "/srv/cgi-bin/guest book.pl";
const std::string kAdapters = "/adapters";

WarmStart start_at(config::Level level, config::Reset reset) {
  return {.program = kProgram, .adapters = kAdapters, .level = level, .reset = reset};
}

TEST(ConstantVariables, takes_what_is_the_same_for_every_request_and_nothing_else) {
  const ConstantVariables constants = constant_variables(
      "QUERY_STRING=a=b\0DOCUMENT_ROOT=/srv\0HTTP_COOKIE=secret\0SERVER_NAME=x\0"s);
  EXPECT_EQ(constants, (ConstantVariables{{"DOCUMENT_ROOT", "/srv"}, {"SERVER_NAME", "x"}}));
}

TEST(WarmEnvironment, lets_the_operators_env_win) {
  config::ProgramSettings settings;
  settings.env = {{"DOCUMENT_ROOT", "/mine"}, {"PATH", "/opt/bin"}};
  const WarmEnvironment environment =
      warm_environment({{"DOCUMENT_ROOT", "/srv"}}, settings,
                       start_at(config::Level::linked, config::Reset::rewind));
  EXPECT_NE(environment.block.find("DOCUMENT_ROOT=/mine\0"s), std::string::npos);
  EXPECT_NE(environment.block.find("PATH=/opt/bin\0"s), std::string::npos);
  EXPECT_EQ(environment.block.find("/srv"), std::string::npos);
}

TEST(WarmEnvironment, keeps_a_library_that_the_operator_preloads) {
  config::ProgramSettings settings;
  settings.env = {{"LD_PRELOAD", "/lib/own.so"}};
  const WarmEnvironment environment =
      warm_environment({}, settings, start_at(config::Level::compiled, config::Reset::fork));
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
  EXPECT_NE(warm_environment({}, config::ProgramSettings{}, start)
                .block.find("CGIBRIDGE_CHECKPOINT=fd=3 level=booted reset=none ahead "
                            "learn=installed tracking=auto name=guest book.pl\0"s),
            std::string::npos);
}

TEST(WarmEnvironment, counts_its_variables) {
  const WarmEnvironment environment = warm_environment(
      {}, config::ProgramSettings{}, start_at(config::Level::linked, config::Reset::rewind));
  EXPECT_EQ(environment.count, 4u);  // PATH and the checkpoint's three
}

TEST(WarmEnvironment, binds_early_unless_told_otherwise) {
  WarmStart start = start_at(config::Level::linked, config::Reset::fork);
  const auto binds_early = [&start] {
    return warm_environment({}, config::ProgramSettings{}, start).block.find("LD_BIND_NOW=1\0"s) !=
           std::string::npos;
  };
  EXPECT_TRUE(binds_early());
  start.binding = Binding::lazy;
  EXPECT_FALSE(binds_early());
}

}  // namespace
}  // namespace pool
