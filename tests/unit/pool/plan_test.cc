#include "pool/plan.h"

#include <gtest/gtest.h>

namespace pool {
namespace {

PoolView quiet_pool() {
  return {.max = 8, .spare = 2};
}

TEST(Plan, forks_the_spares_of_a_pool_that_has_just_become_warm) {
  EXPECT_EQ(plan(quiet_pool()), (PoolPlan{.fork = 2, .retire = 0}));
}

TEST(Plan, counts_workers_that_are_being_forked_as_there) {
  PoolView pool = quiet_pool();
  pool.starting = 2;
  EXPECT_EQ(plan(pool), (PoolPlan{}));
}

TEST(Plan, keeps_as_many_idle_as_requests_came_at_once) {
  PoolView pool = quiet_pool();
  pool.busy = 6;
  pool.recent_peak = 6;
  pool.idle = 1;
  EXPECT_EQ(plan(pool).fork, 5u);
}

TEST(Plan, never_keeps_more_idle_than_max) {
  PoolView pool = quiet_pool();
  pool.recent_peak = 100;
  EXPECT_EQ(plan(pool).fork, 8u);
}

TEST(Plan, keeps_min_even_if_nothing_is_asked) {
  PoolView pool = quiet_pool();
  pool.min = 3;
  pool.rested = true;
  EXPECT_EQ(plan(pool).fork, 3u);
}

TEST(Plan, lets_a_rested_pool_shrink_to_min) {
  PoolView pool = quiet_pool();
  pool.idle = 5;
  pool.min = 1;
  pool.rested = true;
  EXPECT_EQ(plan(pool), (PoolPlan{.fork = 0, .retire = 4}));
}

TEST(Plan, retires_nothing_in_a_busy_time) {
  PoolView pool = quiet_pool();
  pool.idle = 8;
  EXPECT_EQ(plan(pool), (PoolPlan{}));
}

// Goal: no view makes the plan leave its bounds. Method: all small views.
TEST(Plan, stays_within_its_bounds_for_every_small_view) {
  for (unsigned max = 1; max <= 4; ++max)
    for (unsigned min = 0; min <= max; ++min)
      for (unsigned spare = 0; spare <= max; ++spare)
        for (unsigned idle = 0; idle <= 5; ++idle)
          for (unsigned starting = 0; starting <= 5; ++starting)
            for (unsigned peak = 0; peak <= 6; ++peak)
              for (const bool rested : {false, true}) {
                const PoolPlan made = plan({.idle = idle,
                                            .starting = starting,
                                            .recent_peak = peak,
                                            .min = min,
                                            .max = max,
                                            .spare = spare,
                                            .rested = rested});
                EXPECT_LE(made.retire, idle);
                EXPECT_TRUE(made.fork == 0 || idle + starting + made.fork <= max);
                EXPECT_TRUE(made.fork == 0 || made.retire == 0);
                EXPECT_GE(idle + starting + made.fork - made.retire, min);
              }
}

TEST(HasRoom, ends_at_max_busy_workers) {
  EXPECT_TRUE(has_room({.busy = 7, .max = 8}));
  EXPECT_FALSE(has_room({.busy = 8, .max = 8}));
}

}  // namespace
}  // namespace pool
