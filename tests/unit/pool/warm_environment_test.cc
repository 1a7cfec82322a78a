#include "pool/warm_environment.h"

#include <gtest/gtest.h>

namespace pool {
namespace {

using namespace std::string_literals;

TEST(ConstantVariables, takes_what_is_the_same_for_every_request_and_nothing_else) {
  const ConstantVariables constants = constant_variables(
      "QUERY_STRING=a=b\0DOCUMENT_ROOT=/srv\0HTTP_COOKIE=secret\0SERVER_NAME=x\0"s);
  EXPECT_EQ(constants, (ConstantVariables{{"DOCUMENT_ROOT", "/srv"}, {"SERVER_NAME", "x"}}));
}

TEST(WarmEnvironment, lets_the_operators_env_win) {
  config::ProgramSettings settings;
  settings.env = {{"DOCUMENT_ROOT", "/mine"}, {"PATH", "/opt/bin"}};
  const WarmEnvironment environment =
      warm_environment({{"DOCUMENT_ROOT", "/srv"}}, settings, config::Level::linked, "/adapters");
  EXPECT_NE(environment.block.find("DOCUMENT_ROOT=/mine\0"s), std::string::npos);
  EXPECT_NE(environment.block.find("PATH=/opt/bin\0"s), std::string::npos);
  EXPECT_EQ(environment.block.find("/srv"), std::string::npos);
}

TEST(WarmEnvironment, keeps_a_library_that_the_operator_preloads) {
  config::ProgramSettings settings;
  settings.env = {{"LD_PRELOAD", "/lib/own.so"}};
  const WarmEnvironment environment =
      warm_environment({}, settings, config::Level::compiled, "/adapters");
  EXPECT_NE(
      environment.block.find("LD_PRELOAD=/adapters/libcgibridge_checkpoint.so:/lib/own.so\0"s),
      std::string::npos);
  EXPECT_NE(environment.block.find("CGIBRIDGE_CHECKPOINT=fd=3 level=compiled\0"s),
            std::string::npos);
}

TEST(WarmEnvironment, counts_its_variables) {
  const WarmEnvironment environment =
      warm_environment({}, config::ProgramSettings{}, config::Level::linked, "/adapters");
  EXPECT_EQ(environment.count, 3u);  // PATH and the checkpoint's two
}

}  // namespace
}  // namespace pool
