#include "gateway/arm_choice.h"

#include <gtest/gtest.h>

namespace gateway {
namespace {

using compare::Side;
using config::Mode;

config::ProgramSettings with_mode(Mode mode) {
  config::ProgramSettings settings;
  settings.mode = mode;
  return settings;
}

config::ProgramSettings promoted(Mode mode) {
  config::ProgramSettings settings = with_mode(mode);
  settings.promote.after = 10;
  return settings;
}

const cgi::Variables kGet = {{"REQUEST_METHOD", "GET"}, {"REMOTE_ADDR", "192.0.2.1"}};

cgi::Variables get_with(std::string_view name, std::string_view value) {
  cgi::Variables variables = kGet;
  variables.emplace_back(name, value);
  return variables;
}

TEST(ArmChoice, follows_a_plain_mode) {
  compare::Comparison comparison;
  EXPECT_EQ(choose_arm(with_mode(Mode::classic), kGet, comparison).side, Side::classic);
  EXPECT_EQ(choose_arm(with_mode(Mode::persistent), kGet, comparison).side, Side::persistent);
}

TEST(ArmChoice, answers_a_shadowed_request_classic) {
  compare::Comparison comparison;
  const ArmChoice choice = choose_arm(with_mode(Mode::shadow), kGet, comparison);
  EXPECT_EQ(choice.side, Side::classic);
  EXPECT_TRUE(choice.shadowed);
}

TEST(ArmChoice, counts_a_method_that_may_not_be_repeated) {
  compare::Comparison comparison;
  const cgi::Variables post = {{"REQUEST_METHOD", "POST"}};
  EXPECT_FALSE(choose_arm(with_mode(Mode::shadow), post, comparison).shadowed);
  EXPECT_EQ(comparison.shadow.skips(compare::Skip::method), 1u);
}

TEST(ArmChoice, splits_without_comparing_unless_the_split_may_be_promoted) {
  compare::Comparison comparison;
  config::ProgramSettings settings = with_mode(Mode::split);
  settings.split.persistent = 0;
  EXPECT_FALSE(choose_arm(settings, kGet, comparison).shadowed);
  settings.promote.after = 10;
  keep_promotion(settings, 1, comparison);
  EXPECT_TRUE(choose_arm(settings, kGet, comparison).shadowed);
}

TEST(ArmChoice, believes_a_header_only_from_listed_addresses) {
  compare::Comparison comparison;
  config::ProgramSettings settings = with_mode(Mode::classic);
  settings.pin.header = "X-CGI-Mode";
  settings.pin.from = {"198.51.100.0/24"};
  cgi::Variables pinned = get_with("HTTP_X_CGI_MODE", "persistent");
  EXPECT_EQ(choose_arm(settings, pinned, comparison).side, Side::classic);
  settings.pin.from = {"192.0.2.0/24"};
  EXPECT_EQ(choose_arm(settings, pinned, comparison).side, Side::persistent);
}

TEST(ArmChoice, does_not_compare_a_pinned_request) {
  compare::Comparison comparison;
  config::ProgramSettings settings = with_mode(Mode::shadow);
  settings.pin.header = "X-CGI-Mode";
  settings.pin.from = {"192.0.2.0/24"};
  const cgi::Variables pinned = get_with("HTTP_X_CGI_MODE", "classic");
  EXPECT_FALSE(choose_arm(settings, pinned, comparison).shadowed);
}

TEST(EffectiveMode, is_the_stage_of_a_program_that_is_promoted) {
  compare::Comparison comparison;
  const config::ProgramSettings settings = promoted(Mode::split);
  keep_promotion(settings, 1, comparison);
  EXPECT_EQ(effective_mode(settings, comparison.promotion), Mode::split);
  EXPECT_EQ(effective_mode(with_mode(Mode::classic), comparison.promotion), Mode::classic);
}

TEST(KeepPromotion, begins_anew_with_another_version_rule_or_mode) {
  compare::Comparison comparison;
  keep_promotion(promoted(Mode::shadow), 1, comparison);
  for (int i = 0; i < 10; ++i) comparison.promotion.on_compared(false, 0);
  ASSERT_EQ(comparison.promotion.stage(), compare::Stage::split);

  keep_promotion(promoted(Mode::shadow), 1, comparison);
  EXPECT_EQ(comparison.promotion.stage(), compare::Stage::split) << "nothing has changed";
  keep_promotion(promoted(Mode::shadow), 2, comparison);
  EXPECT_EQ(comparison.promotion.stage(), compare::Stage::shadow) << "another version";
  keep_promotion(promoted(Mode::split), 2, comparison);
  EXPECT_EQ(comparison.promotion.stage(), compare::Stage::split) << "another mode";
}

TEST(KeepPromotion, is_over_when_the_mode_is_the_operators) {
  compare::Comparison comparison;
  keep_promotion(promoted(Mode::shadow), 1, comparison);
  keep_promotion(promoted(Mode::persistent), 1, comparison);
  EXPECT_FALSE(comparison.promoted_from.has_value());
  EXPECT_EQ(comparison.promotion.rule().after, 0u);
}

}  // namespace
}  // namespace gateway
