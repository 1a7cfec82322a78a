#include "compare/promotion.h"

#include <gtest/gtest.h>

#include <random>

#include "compare/split.h"

namespace compare {
namespace {

// A program under a rule, with any number of requests: does what the gateway does, stage by stage.
class Life {
 public:
  struct Side {
    double errors = 0;  // per cent
    double median_us = 10'000;
  };
  Side classic, persistent{0, 1'000};
  double differences = 0;  // per cent of shadow's comparisons
  Promotion promotion;
  std::vector<Step> steps;
  std::uint64_t requests = 0;

  explicit Life(PromotionRule rule, Stage first = Stage::shadow, unsigned seed = 1) : bits_(seed) {
    promotion.reset(rule, first);
  }

  void run(std::uint64_t count) {
    for (; count > 0; --count) one_request();
  }

  // The number of requests until the next step, at most a million.
  std::uint64_t until_step() {
    std::size_t before = steps.size();
    std::uint64_t count = 0;
    while (steps.size() == before && count < 1'000'000) one_request(), ++count;
    return count;
  }

 private:
  void one_request() {
    ++requests;
    bool split = promotion.stage() == Stage::split;
    bool all = promotion.stage() == Stage::persistent;
    bool warm = all || (split && splitter_.next(10) == compare::Side::persistent);
    const Side& side = warm ? persistent : classic;
    Observation one;
    one.arm = warm ? Arm::rewind : Arm::classic;
    one.failure = chance(side.errors) ? Failure::exit_code : Failure::none;
    std::lognormal_distribution<double> spread(0, 0.5);
    one.latency = Microseconds(std::int64_t(side.median_us * spread(bits_)));
    note(promotion.on_answer(one, std::int64_t(requests)));
    if (promotion.stage() == Stage::shadow) {
      note(promotion.on_compared(chance(differences), std::int64_t(requests)));
    }
  }

  bool chance(double per_cent) {
    return std::uniform_real_distribution<double>(0, 100)(bits_) < per_cent;
  }

  void note(const std::optional<Step>& step) {
    if (step) steps.push_back(*step);
  }

  std::mt19937 bits_;
  Splitter splitter_;
};

std::string way(const std::vector<Step>& steps) {
  std::string way;
  for (const Step& step : steps) {
    way += std::string(to_string(step.from)) + ">" + std::string(to_string(step.to)) + " ";
  }
  return way;
}

constexpr PromotionRule kRule{1000, 0, 0.1, 25};

TEST(Promotion, goes_from_shadow_over_split_to_persistent) {
  Life life(kRule);
  EXPECT_EQ(life.until_step(), 1000u);  // each request is compared
  EXPECT_EQ(life.promotion.stage(), Stage::split);
  EXPECT_EQ(life.steps[0].why, "1000 compared, 0 different");
  EXPECT_EQ(life.steps[0].unix_ms, 1000);
  EXPECT_NEAR(double(life.until_step()), 10'000, 20);  // ten per cent of them are persistent
  EXPECT_EQ(life.promotion.stage(), Stage::persistent);
  EXPECT_EQ(life.steps[1].why.find("1000 persistent requests; errors 0.00 %"), 0u)
      << life.steps[1].why;
  life.run(50'000);
  EXPECT_EQ(way(life.steps), "shadow>split split>persistent ");
  EXPECT_FALSE(life.promotion.held());
}

TEST(Promotion, begins_at_split_where_the_mode_says_so) {
  Life life(kRule, Stage::split);
  life.run(12'000);
  EXPECT_EQ(way(life.steps), "split>persistent ");
}

TEST(Promotion, does_nothing_without_a_rule) {
  Life life(PromotionRule{});
  life.differences = 50;
  life.run(5000);
  EXPECT_TRUE(life.steps.empty());
  EXPECT_EQ(life.promotion.outlook(), "no promotion");
}

TEST(Promotion, stops_at_the_first_difference_that_is_not_borne) {
  Life life(kRule);
  life.run(500);
  life.differences = 100;
  EXPECT_EQ(life.until_step(), 1u);
  EXPECT_EQ(way(life.steps), "shadow>shadow ");
  EXPECT_EQ(life.steps[0].why, "501 compared, 1 different, 0 are accepted");
  EXPECT_TRUE(life.promotion.held());
  life.differences = 0;
  life.run(20'000);
  EXPECT_EQ(life.steps.size(), 1u);  // held, whatever happens
  EXPECT_EQ(
      life.promotion.outlook(),
      "held in shadow: 501 compared, 1 different, 0 are accepted; begins anew when the program, "
      "its settings or its mode is changed");
}

TEST(Promotion, bears_as_many_differences_as_the_rule_says) {
  PromotionRule rule = kRule;
  rule.max_diff = 3;
  Promotion promotion;
  promotion.reset(rule, Stage::shadow);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(promotion.on_compared(true, 0));
  EXPECT_TRUE(promotion.on_compared(true, 0));
  EXPECT_TRUE(promotion.held());
}

TEST(Promotion, is_given_back_by_a_difference_in_a_later_stage_too) {
  Life life(kRule);
  life.until_step();
  auto step = life.promotion.on_compared(true, 7);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->to, Stage::shadow);
}

// Goal: a program that fails when it is warm is brought back after the second error, because
// max_error_delta = 0.1 allows one in a thousand.
TEST(Promotion, goes_back_at_once_when_the_warm_side_makes_errors) {
  for (Stage last : {Stage::split, Stage::persistent}) {
    Life life(kRule);
    while (life.promotion.stage() != last) life.until_step();
    std::size_t steps = life.steps.size();
    life.persistent.errors = 100;
    EXPECT_LE(life.until_step(), 25u);
    ASSERT_EQ(life.steps.size(), steps + 1);
    EXPECT_EQ(life.steps.back().to, Stage::shadow);
    EXPECT_EQ(life.steps.back().why.find("2 errors in "), 0u) << life.steps.back().why;
    EXPECT_TRUE(life.promotion.held());
  }
}

TEST(Promotion, bears_no_error_where_the_rule_allows_less_than_one) {
  PromotionRule rule = kRule;
  rule.after = 50;
  Life life(rule, Stage::split);
  life.run(40);
  life.persistent.errors = 100;
  EXPECT_LE(life.until_step(), 12u);
  EXPECT_EQ(life.steps.back().why.find("1 error in "), 0u) << life.steps.back().why;
}

TEST(Promotion, goes_back_within_some_hundred_requests_when_the_warm_side_is_slow) {
  for (Stage last : {Stage::split, Stage::persistent}) {
    Life life(kRule);
    while (life.promotion.stage() != last) life.until_step();
    life.persistent.median_us = 50'000;
    std::uint64_t warm_share = last == Stage::split ? 10 : 1;
    EXPECT_LE(life.until_step(), 300u * warm_share);
    EXPECT_EQ(life.steps.back().to, Stage::shadow);
    EXPECT_EQ(life.steps.back().why.find("p95 "), 0u) << life.steps.back().why;
  }
}

TEST(Promotion, does_not_look_at_latency_where_the_rule_says_so) {
  PromotionRule rule = kRule;
  rule.max_latency_delta = 0;
  Life life(rule);
  life.persistent.median_us = 1'000'000;
  life.run(20'000);
  EXPECT_EQ(life.promotion.stage(), Stage::persistent);
}

// Goal: chance alone brings no program back. Both sides are the same here: 5 % errors, the same
// times.
TEST(Promotion, does_not_take_chance_for_a_reason) {
  int held = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    Life life(kRule, Stage::shadow, seed);
    life.classic = life.persistent = {5, 10'000};
    life.run(20'000);
    held += life.promotion.held();
  }
  EXPECT_LE(held, 1);
}

TEST(Promotion, does_not_hold_errors_against_the_warm_side_that_classic_makes_as_well) {
  Life life(kRule);
  life.classic.errors = life.persistent.errors = 20;
  life.run(20'000);
  EXPECT_EQ(life.promotion.stage(), Stage::persistent);
  life.persistent.errors = 40;
  EXPECT_LT(life.until_step(), 1500u);
  EXPECT_EQ(life.promotion.stage(), Stage::shadow);
}

TEST(Promotion, takes_a_client_that_left_for_no_error) {
  Life life(kRule, Stage::split);
  Observation left;
  left.arm = Arm::rewind;
  left.failure = Failure::gone;
  for (int i = 0; i < 500; ++i) EXPECT_FALSE(life.promotion.on_answer(left, 0));
}

TEST(Promotion, begins_anew_when_it_is_reset) {
  Life life(kRule);
  life.differences = 100;
  life.until_step();
  life.differences = 0;
  life.promotion.reset(kRule, Stage::shadow);
  EXPECT_FALSE(life.promotion.held());
  EXPECT_EQ(life.promotion.outlook(), "0 of 1000 requests compared before split, 0 different");
  EXPECT_EQ(life.until_step(), 1000u);
  EXPECT_EQ(life.promotion.stage(), Stage::split);
  EXPECT_EQ(life.promotion.steps().size(), 2u);  // the old one is still visible
}

TEST(Promotion, says_what_it_waits_for) {
  Life life(kRule);
  life.run(412);
  EXPECT_EQ(life.promotion.outlook(), "412 of 1000 requests compared before split, 0 different");
  life.until_step();
  life.run(500);
  EXPECT_EQ(
      life.promotion.outlook().find("50 of 1000 persistent requests before persistent; errors"), 0u)
      << life.promotion.outlook();
  life.until_step();
  life.run(30);
  EXPECT_EQ(life.promotion.outlook(),
            "persistent; errors 0.00 % against classic's 0.00 % in the last 30 requests");
}

TEST(Promotion, keeps_a_bounded_number_of_steps) {
  Promotion promotion;
  for (int i = 0; i < 100; ++i) {
    promotion.reset(kRule, Stage::shadow);
    promotion.on_compared(true, i);
  }
  EXPECT_EQ(promotion.steps().size(), 20u);
  EXPECT_EQ(promotion.steps().back().unix_ms, 99);
}

}  // namespace
}  // namespace compare
