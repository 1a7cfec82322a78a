#include "policy/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace policy {
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

TEST(Plan, keeps_what_is_needed_in_a_busy_time_however_long_it_has_been_idle) {
  PoolView pool = quiet_pool();
  pool.recent_peak = 8;
  pool.idle = pool.long_idle = 8;
  EXPECT_EQ(plan(pool), (PoolPlan{}));
}

TEST(Plan, lets_those_go_in_a_busy_time_that_nobody_has_needed_for_long) {
  PoolView pool = quiet_pool();
  for (const unsigned spare : {2u, 0u}) {
    pool.spare = spare;
    pool.recent_peak = 3;
    pool.idle = 8;
    pool.long_idle = 0;
    EXPECT_EQ(plan(pool), (PoolPlan{})) << "they may be needed again";
    pool.long_idle = 2;
    EXPECT_EQ(plan(pool), (PoolPlan{.fork = 0, .retire = 2}));
    pool.long_idle = 8;
    EXPECT_EQ(plan(pool), (PoolPlan{.fork = 0, .retire = 5}));
  }
}

TEST(PlanOfAStaticPool, keeps_max_whether_anything_is_asked_or_not) {
  PoolView pool = quiet_pool();
  pool.min = pool.max;
  EXPECT_EQ(plan(pool).fork, 8u);
  pool.rested = true;
  pool.idle = 8;
  EXPECT_EQ(plan(pool), (PoolPlan{}));
  pool.afterwards = Afterwards::returns;
  pool.idle = 5;
  pool.busy = 2;
  EXPECT_EQ(plan(pool).fork, 1u);
}

TEST(PlanOfAStaticPool, lets_the_surplus_go_at_once_when_max_is_lowered) {
  PoolView pool = quiet_pool();
  pool.min = pool.max;
  pool.afterwards = Afterwards::returns;
  pool.idle = 6;
  pool.busy = 6;
  EXPECT_EQ(plan(pool), (PoolPlan{.fork = 0, .retire = 4}));
}

TEST(PlanOfAPoolOnDemand, has_nobody_until_a_request_comes_and_nobody_when_it_has_rested) {
  PoolView pool = quiet_pool();
  pool.min = pool.spare = 0;
  for (const auto afterwards : {Afterwards::exits, Afterwards::returns}) {
    pool.afterwards = afterwards;
    pool.rested = false;
    pool.idle = pool.recent_peak = pool.waiting = 0;
    EXPECT_EQ(plan(pool), (PoolPlan{}));
    pool.waiting = pool.recent_peak = 2;
    EXPECT_EQ(plan(pool).fork, 2u);
    pool.waiting = pool.recent_peak = 0;
    pool.idle = 2;
    pool.rested = true;
    EXPECT_EQ(plan(pool), (PoolPlan{.fork = 0, .retire = 2}));
  }
}

TEST(PlanOfAPoolOnDemand, keeps_no_process_ahead_of_need) {
  PoolView pool = quiet_pool();
  pool.min = pool.spare = 0;
  pool.making = worker::Making::ahead;
  pool.rested = true;
  pool.idle = 1;
  EXPECT_EQ(plan(pool), (PoolPlan{.fork = 0, .retire = 1}));
}

PoolView pool_of_returning() {
  return {.max = 8, .spare = 2, .afterwards = Afterwards::returns};
}

TEST(PlanOfReturningWorkers, forks_the_spares_of_a_pool_that_has_just_become_warm) {
  EXPECT_EQ(plan(pool_of_returning()).fork, 2u);
}

TEST(PlanOfReturningWorkers, needs_no_new_worker_for_each_request) {
  PoolView pool = pool_of_returning();
  pool.recent_peak = 1;
  pool.idle = 2;
  pool.busy = 1;
  EXPECT_EQ(plan(pool), (PoolPlan{}));
  pool.busy = 0;
  pool.returning = 1;
  EXPECT_EQ(plan(pool), (PoolPlan{}));
}

TEST(PlanOfReturningWorkers, grows_with_what_came_at_once_up_to_max_in_all) {
  PoolView pool = pool_of_returning();
  pool.recent_peak = 4;
  pool.busy = 3;
  EXPECT_EQ(plan(pool).fork, 3u);
  pool.recent_peak = 8;
  EXPECT_EQ(plan(pool).fork, 5u);
  pool.busy = 8;
  EXPECT_EQ(plan(pool), (PoolPlan{}));
}

TEST(PlanOfReturningWorkers, lets_a_rested_pool_shrink_to_min) {
  PoolView pool = pool_of_returning();
  pool.idle = 5;
  pool.min = 1;
  pool.rested = true;
  EXPECT_EQ(plan(pool), (PoolPlan{.fork = 0, .retire = 4}));
}

// Goal: a request never waits without a worker on its way. Method: all small views with room and
// with waiting requests, which their peak counts.
TEST(PlanOfReturningWorkers, leaves_no_waiting_request_without_a_worker_on_its_way) {
  for (unsigned max = 1; max <= 4; ++max)
    for (unsigned busy = 0; busy < max; ++busy)
      for (unsigned waiting = 1; waiting <= 4; ++waiting)
        for (unsigned spare = 0; spare <= max; ++spare) {
          PoolView pool{.busy = busy,
                        .waiting = waiting,
                        .recent_peak = std::min(busy + waiting, max),
                        .max = max,
                        .spare = spare,
                        .afterwards = Afterwards::returns};
          EXPECT_GE(plan(pool).fork, 1u) << busy << ' ' << waiting;
        }
}

PoolView pool_started_ahead(unsigned idle_cores) {
  return {.max = 8, .spare = 4, .making = worker::Making::ahead, .idle_cores = idle_cores};
}

TEST(PlanOfWorkersStartedAhead, starts_as_many_at_once_as_cores_are_idle) {
  EXPECT_EQ(plan(pool_started_ahead(2)), (PoolPlan{.fork = 2, .retire = 0}));
  EXPECT_EQ(plan(pool_started_ahead(64)), (PoolPlan{.fork = 4, .retire = 0}));
}

TEST(PlanOfWorkersStartedAhead, starts_one_on_a_machine_that_others_keep_busy) {
  PoolView pool = pool_started_ahead(0);
  EXPECT_EQ(plan(pool).fork, 1u);
  pool.starting = 1;
  EXPECT_EQ(plan(pool).fork, 0u);
}

TEST(PlanOfWorkersStartedAhead, starts_one_at_a_time_beside_requests_and_only_on_an_idle_core) {
  for (PoolView pool : {PoolView{.busy = 1}, PoolView{.classic = 1}, PoolView{.beside = 1}}) {
    pool.max = 8;
    pool.spare = 4;
    pool.making = worker::Making::ahead;
    pool.idle_cores = 6;
    EXPECT_EQ(plan(pool).fork, 1u);
    pool.starting = 1;
    EXPECT_EQ(plan(pool).fork, 0u);
    pool.starting = 0;
    pool.idle_cores = 0;
    EXPECT_EQ(plan(pool).fork, 0u);
  }
}

TEST(PlanOfWorkersStartedAhead, does_not_answer_a_burst_with_a_burst_of_starts) {
  PoolView pool = pool_started_ahead(0);
  pool.busy = 2;
  pool.classic = 6;
  pool.recent_peak = 8;
  EXPECT_EQ(plan(pool), (PoolPlan{}));
}

TEST(PlanOfWorkersStartedAhead, starts_one_for_a_request_that_waits_for_workers_that_stay) {
  PoolView pool = pool_started_ahead(0);
  pool.afterwards = Afterwards::returns;
  pool.busy = 1;
  pool.waiting = 3;
  EXPECT_EQ(plan(pool).fork, 1u);
}

TEST(PlanOfWorkersStartedAhead, keeps_one_in_a_rested_pool) {
  PoolView pool = pool_started_ahead(2);
  pool.rested = true;
  EXPECT_EQ(plan(pool).fork, 1u);
  pool.idle = 4;
  EXPECT_EQ(plan(pool), (PoolPlan{.fork = 0, .retire = 3}));
}

class ChooseTest : public testing::Test {
 protected:
  std::size_t chosen(const std::vector<int>& microseconds_ago, int reset_time) const {
    return choose(
        microseconds_ago.size(),
        [&](std::size_t i) { return now_ - std::chrono::microseconds(microseconds_ago[i]); }, now_,
        std::chrono::microseconds(reset_time));
  }
  base::TimePoint now_ = base::TimePoint() + std::chrono::hours(1);
};

TEST_F(ChooseTest, takes_the_one_that_was_idle_last_of_those_that_have_reset_themselves) {
  EXPECT_EQ(chosen({900, 500, 200, 20}, 100), 2u);
  EXPECT_EQ(chosen({900, 500, 200, 20}, 0), 3u);
}

TEST_F(ChooseTest, takes_the_one_that_began_its_reset_first_if_none_is_done) {
  EXPECT_EQ(chosen({90, 50, 20}, 100), 0u);
}

// Goal: the plan stays within its bounds for every view. Method: all small views.
TEST(Plan, stays_within_its_bounds_for_every_small_view) {
  for (unsigned max = 1; max <= 4; ++max)
    for (unsigned min = 0; min <= max; ++min)
      for (unsigned spare = 0; spare <= max; ++spare)
        for (unsigned idle = 0; idle <= 5; ++idle)
          for (unsigned starting = 0; starting <= 5; ++starting)
            for (unsigned peak = 0; peak <= 6; ++peak)
              for (const bool rested : {false, true}) {
                const PoolPlan made = plan({.idle = idle,
                                            .long_idle = idle,
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

TEST(Plan, gives_what_runs_beside_the_clients_no_place_of_theirs) {
  PoolView pool = pool_of_returning();
  pool.busy = 2;
  pool.recent_peak = 2;
  pool.beside = 2;
  const unsigned without = [pool]() mutable {
    pool.beside = 0;
    return plan(pool).fork;
  }();
  EXPECT_EQ(plan(pool).fork, without);
  pool.busy = pool.max - 1;
  pool.beside = 100;
  EXPECT_TRUE(has_room(pool));
}

TEST(Plan, counts_programs_launched_for_clients_to_max_but_not_to_the_workers) {
  PoolView pool = quiet_pool();
  pool.idle = 2;
  pool.classic = 6;
  EXPECT_EQ(plan(pool), (PoolPlan{}));
  pool.busy = 2;
  EXPECT_FALSE(has_room(pool));
}

}  // namespace
}  // namespace policy
