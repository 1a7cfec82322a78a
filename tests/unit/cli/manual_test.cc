#include <gtest/gtest.h>

#include "cli/described.h"

namespace cli {
namespace {

TEST(CommandManual, explains_each_command_and_option) {
  const std::string page = manual_page(
      {{.name = "mode",
        .text = "Switch",
        .options = {{.name = "program",
                     .text = "Its path",
                     .positional = true,
                     .takes_value = true,
                     .choices = {}},
                    {.name = "mode",
                     .text = "Which",
                     .positional = true,
                     .takes_value = true,
                     .choices = {"classic", "persistent"}},
                    {.name = "--control", .text = "Socket", .takes_value = true, .choices = {}},
                    {.name = "--json", .text = "As JSON", .choices = {}}},
        .footer = "Exit code: 0."}},
      "1.2");
  EXPECT_NE(
      page.find(".SS \"cgibridge mode [OPTION...] program classic|persistent\"\n.PP\nSwitch.\n"),
      std::string::npos);
  EXPECT_NE(page.find(".TP\n\\fB\\-\\-control VALUE\\fR\nSocket.\n"), std::string::npos);
  EXPECT_NE(page.find(".TP\n\\fB\\-\\-json\\fR\nAs JSON.\n"), std::string::npos);
  EXPECT_NE(page.find(".PP\nExit code: 0.\n"), std::string::npos);
}

}  // namespace
}  // namespace cli
