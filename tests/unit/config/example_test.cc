// config/config.toml, the file that an operator starts from.
#include <gtest/gtest.h>

#include <fstream>
#include <string_view>

#include "config/fields.h"
#include "config/load.h"

namespace config {
namespace {

const std::string& example_path() {
  static const std::string path = CGIBRIDGE_EXAMPLE_SETTINGS;
  return path;
}

bool is_setting(std::string_view line) {
  std::size_t end = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  return end != 0 && end != std::string_view::npos && line.substr(end).starts_with(" = ");
}

// The example with its `# key = value` lines turned into settings.
std::string with_all_lines() {
  std::ifstream file(example_path());
  std::string text;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("# ") && is_setting(line.substr(2))) line.erase(0, 2);
    if (!line.starts_with('#')) text += line + '\n';
  }
  return text;
}

Settings settings_of(const LoadOutcome& outcome) {
  if (outcome) return outcome.settings();
  for (const Problem& problem : outcome.problems()) ADD_FAILURE() << to_string(problem);
  return {};
}

TEST(Example, is_accepted) {
  Settings settings = settings_of(load_file(example_path()));
  EXPECT_EQ(settings.defaults, ProgramSettings());
  ASSERT_EQ(settings.programs.size(), 1u);
  EXPECT_EQ(settings.programs[0].name, "guestbook");
}

TEST(Example, shows_the_defaults_in_its_comments) {
  Settings settings = settings_of(parse(with_all_lines(), "config.toml"));
  BridgeSettings bridge;
  for (const auto& field : bridge_fields()) {
    if (field.name == "listen" || field.name == "roots" || field.name == "prewarm") continue;
    EXPECT_TRUE(field.same(settings.bridge, bridge)) << field.name;
  }
  for (const auto& field : defaults_fields()) {
    if (field.name == "env") continue;
    EXPECT_TRUE(field.same(settings.defaults, ProgramSettings())) << field.name;
  }
}

template <typename Section>
void expect_all_in(const std::string& text, const std::vector<Field<Section>>& fields) {
  for (const auto& field : fields) {
    std::string key(field.name.substr(field.name.find('.') + 1));
    bool own_line = text.find('\n' + key + " = ") != std::string::npos;
    bool in_table = text.find(' ' + key + " = ") != std::string::npos;
    EXPECT_TRUE(own_line || in_table) << field.name;
  }
}

TEST(Example, has_every_setting) {
  std::string text = with_all_lines();
  expect_all_in(text, bridge_fields());
  expect_all_in(text, program_fields());
}

}  // namespace
}  // namespace config
