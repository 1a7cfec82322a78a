#include "cli/described.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace cli {
namespace {

class Described : public ::testing::Test {
 protected:
  Described() {
    CLI::App* status = app_.add_subcommand("status", "What there is");
    status->add_flag("--json", json_, "As JSON");
    status->add_option("--control", "Socket");
    CLI::App* mode = app_.add_subcommand("mode", "Switch");
    mode->add_option("program", "Its path")->required();
    mode->add_option("mode", "Which")->check(CLI::IsMember({"classic", "persistent"}));
    mode->footer("Exit code: 0.");
    CLI::App* config = app_.add_subcommand("config", "Settings");
    config->add_subcommand("check", "Say every error");
    app_.add_subcommand("secret", "Of use to nobody")->group("");
  }

  CLI::App app_{"test", "test"};
  bool json_ = false;
};

TEST_F(Described, has_every_command_that_is_shown) {
  const auto commands = described_commands(app_);
  ASSERT_EQ(commands.size(), 3U);
  EXPECT_EQ(commands[0].name, "status");
  EXPECT_EQ(commands[0].text, "What there is");
  EXPECT_EQ(commands[1].footer, "Exit code: 0.");
  EXPECT_EQ(commands[2].name, "config check");
}

TEST_F(Described, tells_flags_from_options_and_arguments) {
  const auto commands = described_commands(app_);
  ASSERT_EQ(commands[0].options.size(), 2U);
  const DescribedOption& flag = commands[0].options[0];
  EXPECT_EQ(flag.name, "--json");
  EXPECT_FALSE(flag.takes_value || flag.positional);
  EXPECT_TRUE(commands[0].options[1].takes_value);
  ASSERT_EQ(commands[1].options.size(), 2U);
  EXPECT_EQ(commands[1].options[0].name, "program");
  EXPECT_TRUE(commands[1].options[0].positional);
  EXPECT_TRUE(commands[1].options[0].choices.empty());
  EXPECT_EQ(commands[1].options[1].choices, (std::vector<std::string>{"classic", "persistent"}));
}

}  // namespace
}  // namespace cli
