#include "policy/demotion.h"

#include <gtest/gtest.h>

namespace policy {
namespace {

using std::chrono::seconds;

class DemotionTest : public testing::Test {
 protected:
  config::ProgramSettings settings_;
  const base::TimePoint now_{seconds(1000)};
  Demotion demotion_{seconds(60), seconds(200)};
};

TEST_F(DemotionTest, does_not_stand_at_first) {
  EXPECT_FALSE(demotion_.stands());
  EXPECT_EQ(demotion_.ends_at(), std::nullopt);
}

TEST_F(DemotionTest, stands_for_longer_each_time_in_a_row) {
  for (const int pause : {60, 120, 200, 200}) {
    demotion_.begin("costly", settings_, now_);
    EXPECT_EQ(demotion_.why(), "costly");
    EXPECT_EQ(demotion_.ends_at(), now_ + seconds(pause));
    demotion_.try_again();
    EXPECT_FALSE(demotion_.stands());
  }
}

TEST_F(DemotionTest, is_short_again_after_a_change_and_after_what_held) {
  demotion_.begin("costly", settings_, now_);
  demotion_.forget();
  EXPECT_FALSE(demotion_.stands());
  demotion_.begin("costly", settings_, now_);
  EXPECT_EQ(demotion_.pause(), seconds(60));
  demotion_.try_again();
  demotion_.note_held();
  demotion_.begin("costly", settings_, now_);
  EXPECT_EQ(demotion_.pause(), seconds(60));
}

TEST_F(DemotionTest, stands_until_a_change_where_a_leak_was_proven) {
  demotion_.prove("a leak", settings_, now_);
  EXPECT_TRUE(demotion_.stands());
  EXPECT_TRUE(demotion_.is_proven());
  EXPECT_EQ(demotion_.ends_at(), std::nullopt);
  demotion_.forget();
  EXPECT_FALSE(demotion_.is_proven());
}

TEST_F(DemotionTest, is_for_the_settings_under_which_it_began) {
  demotion_.begin("costly", settings_, now_);
  EXPECT_TRUE(demotion_.is_for(settings_));
  settings_.queue.max += 1;  // does not make another generation
  EXPECT_TRUE(demotion_.is_for(settings_));
  settings_.preload.push_back("json");
  EXPECT_FALSE(demotion_.is_for(settings_));
}

}  // namespace
}  // namespace policy
