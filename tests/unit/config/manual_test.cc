#include <gtest/gtest.h>

#include "config/fields.h"
#include "config/show.h"

namespace config {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

TEST(Manual, has_every_setting_once) {
  const std::string page = manual_page("1.2");
  for (const auto& field : bridge_fields()) {
    EXPECT_EQ(count(page, "\n.TP\n\\fB" + std::string(field.name) + "\\fR\n"),
              field.name == "limits.memory" || field.name.starts_with("limits.") ? 2U : 1U)
        << field.name;
  }
  for (const auto& field : program_fields())
    EXPECT_GE(count(page, "\n.TP\n\\fB" + std::string(field.name) + "\\fR\n"), 1U) << field.name;
}

TEST(Manual, says_type_default_range_and_when_a_change_counts) {
  EXPECT_NE(manual_page("1.2").find(
                "Type: octal permissions. Default: \"0660\". Range: \"0000\" to \"0777\". A change "
                "takes effect after a restart."),
            std::string::npos);
}

}  // namespace
}  // namespace config
