#include "policy/next_generation.h"

#include <gtest/gtest.h>

namespace policy {
namespace {

using std::chrono::seconds;

using Flag = bool GenerationsView::*;

class NextGenerationTest : public testing::Test {
 protected:
  NextGenerationTest() { view_.exists = view_.warm = true; }
  NextGeneration next() const { return next_generation(view_, now_); }

  const base::TimePoint now_ = base::TimePoint() + std::chrono::hours(1);
  GenerationsView view_;
};

TEST_F(NextGenerationTest, keeps_one_that_is_as_it_should_be) {
  EXPECT_EQ(next().step, Step::keep);
  EXPECT_FALSE(next().lets_go);
}

TEST_F(NextGenerationTest, begins_the_first_when_its_files_rest) {
  view_ = {};
  EXPECT_EQ(next().step, Step::begin_when_calm);
}

TEST_F(NextGenerationTest, lets_an_old_version_answer_no_more) {
  for (const Flag changed : {&GenerationsView::other_file, &GenerationsView::loaded_file}) {
    for (const bool other_settings : {false, true}) {
      NextGenerationTest::view_ = {.exists = true, .warm = true, .other_settings = other_settings};
      view_.*changed = true;
      EXPECT_EQ(next().step, Step::begin_when_calm);
      EXPECT_TRUE(next().lets_go);
      EXPECT_TRUE(next().is_new_version);
    }
  }
}

TEST_F(NextGenerationTest, lets_one_of_other_settings_serve_until_the_next_is_warm) {
  view_.other_settings = true;
  EXPECT_EQ(next().step, Step::begin);
  EXPECT_FALSE(next().lets_go);
  EXPECT_TRUE(next().is_change);
  EXPECT_FALSE(next().is_new_version);
}

TEST_F(NextGenerationTest, tries_what_failed_again_when_its_time_has_come) {
  view_.warm = false;
  view_.cold = true;
  view_.try_again_at = now_;
  EXPECT_EQ(next().step, Step::keep);
  view_.try_again_at = now_ - seconds(1);
  EXPECT_EQ(next().step, Step::begin);
  EXPECT_TRUE(next().lets_go);
  EXPECT_FALSE(next().is_change);
}

TEST_F(NextGenerationTest, tries_a_deeper_level_beside_the_one_that_serves) {
  view_.try_again_at = now_ - seconds(1);
  EXPECT_EQ(next().step, Step::try_deeper);
  EXPECT_FALSE(next().lets_go);
  view_.upcoming = true;
  EXPECT_EQ(next().step, Step::keep);
}

TEST_F(NextGenerationTest, trusts_rewinding_again_in_time_but_never_after_a_proof) {
  view_.demoted = true;
  EXPECT_EQ(next().step, Step::keep);
  view_.trust_again_at = now_ + seconds(1);
  EXPECT_EQ(next().step, Step::keep);
  view_.trust_again_at = now_ - seconds(1);
  EXPECT_EQ(next().step, Step::trust_again);
  EXPECT_TRUE(next().forgets_demotion);
  view_.upcoming = true;
  EXPECT_EQ(next().step, Step::keep);
  EXPECT_FALSE(next().forgets_demotion);
}

TEST_F(NextGenerationTest, forgets_a_demotion_for_any_change) {
  view_.demoted = true;
  for (const Flag changed : {&GenerationsView::other_file, &GenerationsView::loaded_file,
                             &GenerationsView::other_settings}) {
    view_.*changed = true;
    EXPECT_TRUE(next().forgets_demotion);
    view_.*changed = false;
  }
  view_.demoted_for_settings = false;
  EXPECT_TRUE(next().forgets_demotion);
  EXPECT_EQ(next().step, Step::begin);
}

}  // namespace
}  // namespace policy
