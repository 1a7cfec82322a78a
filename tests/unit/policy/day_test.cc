// The plan through a day of visitors.
#include <gtest/gtest.h>

#include "simulated_day.h"

namespace policy {
namespace {

// No visitors before six, most at two in the afternoon, none again from ten on.
double day_of_a_shop(Milliseconds at, double most) {
  const double hour = at / kHour;
  if (hour < 6 || hour > 22) return 0;
  return most * std::sin((hour - 6) / 16 * 3.14159265);
}

enum class Keeps { some, none };

Simulation::Program shop(Keeps keeps, Afterwards afterwards) {
  Simulation::Program program;
  program.workers.min = keeps == Keeps::some ? 1 : 0;
  if (keeps == Keeps::none) program.workers.spare = 0;
  program.afterwards = afterwards;
  program.rate = [](Milliseconds at) { return day_of_a_shop(at, 4); };
  program.most = 4;
  return program;
}

class Day : public testing::TestWithParam<Afterwards> {};

TEST_P(Day, dynamic_pool_grows_and_shrinks_with_its_visitors) {
  Simulation day;
  const std::size_t it = day.add(shop(Keeps::some, GetParam()));
  unsigned before = 99, after = 99;
  day.look(5 * kHour, [&] { before = day.workers(it); });
  day.look(23.5 * kHour, [&] { after = day.workers(it); });
  day.run(kDay);
  const Tally& tally = day.tally(it);
  EXPECT_GT(tally.requests, 100'000u);
  EXPECT_EQ(tally.refused, 0u);
  EXPECT_EQ(before, 1u);
  EXPECT_EQ(after, 1u);
  EXPECT_LE(tally.most_running, 8u);
  EXPECT_LT(tally.waited, tally.requests / 100) << "the spares are there for that";
  EXPECT_LE(tally.longest_wait, 1 * kSecond);
}

TEST_P(Day, static_pool_keeps_all_its_workers_through_the_night) {
  Simulation day;
  Simulation::Program full = shop(Keeps::some, GetParam());
  full.workers.min = full.workers.max;
  const std::size_t it = day.add(full);
  unsigned after = 0;
  day.look(23.9 * kHour, [&] { after = day.workers(it); });
  day.run(kDay);
  EXPECT_EQ(after, 8u);
  EXPECT_EQ(day.tally(it).refused, 0u);
}

TEST_P(Day, pool_on_demand_has_nobody_at_night_and_serves_all_by_day) {
  Simulation day;
  const std::size_t it = day.add(shop(Keeps::none, GetParam()));
  unsigned after = 99;
  day.look(23.9 * kHour, [&] { after = day.workers(it); });
  day.run(kDay);
  EXPECT_EQ(after, 0u);
  EXPECT_EQ(day.tally(it).refused, 0u);
  EXPECT_GT(day.tally(it).requests, 100'000u);
}

TEST_P(Day, bursts_are_worked_off_within_the_places_there_are) {
  Simulation day;
  const std::size_t it = day.add(shop(Keeps::some, GetParam()));
  for (int hour = 8; hour < 20; ++hour) day.burst(it, hour * kHour, 100);
  day.run(kDay);
  const Tally& tally = day.tally(it);
  EXPECT_EQ(tally.refused, 0u);
  EXPECT_EQ(tally.most_running, 8u);
  // 100 requests of 50 ms by 8 workers.
  EXPECT_LT(tally.longest_wait, 2 * kSecond);
}

TEST_P(Day, a_burst_s_workers_are_gone_soon_though_visitors_keep_coming) {
  for (const auto keeps : {Keeps::some, Keeps::none}) {
    Simulation day;
    const std::size_t it = day.add(shop(keeps, GetParam()));
    day.burst(it, 8 * kHour, 100);
    unsigned during = 0, after = 99;
    day.look(8 * kHour + 10 * kSecond, [&] { during = day.workers(it); });
    day.look(8 * kHour + 200 * kSecond, [&] { after = day.workers(it); });
    day.run(8.1 * kHour);
    EXPECT_GE(during, 8u);
    EXPECT_LE(after, 5u);
  }
}

INSTANTIATE_TEST_SUITE_P(OfWorkers, Day, testing::Values(Afterwards::exits, Afterwards::returns),
                         [](const auto& info) {
                           return info.param == Afterwards::exits ? "that_exit" : "that_return";
                         });

TEST(DayOfReturningWorkers, forks_few) {
  Simulation day;
  const std::size_t it = day.add(shop(Keeps::some, Afterwards::returns));
  day.run(kDay);
  EXPECT_LT(day.tally(it).forks, day.tally(it).requests / 500);
}

TEST(DayOfReturningWorkers, forks_few_on_demand_too) {
  Simulation day;
  const std::size_t it = day.add(shop(Keeps::none, Afterwards::returns));
  day.run(kDay);
  EXPECT_LT(day.tally(it).forks, day.tally(it).requests / 50);
}

// Goal: one program that wants more than there is makes none of the others wait.
TEST(DayOfManyPrograms, lets_no_greedy_program_starve_the_others) {
  Simulation day(16);
  Simulation::Program greedy;
  greedy.workers.max = 1000;
  greedy.service = 1 * kSecond;
  greedy.rate = [](Milliseconds) { return 30.0; };
  const std::size_t most = day.add(greedy);
  std::vector<std::size_t> small;
  for (int i = 0; i < 5; ++i) {
    Simulation::Program program;
    program.service = 100;
    program.rate = [](Milliseconds) { return 0.5; };
    program.most = 0.5;
    small.push_back(day.add(program));
  }
  day.run(1 * kHour);
  EXPECT_GT(day.tally(most).refused, 30'000u) << "it does want more than there is";
  EXPECT_GE(day.tally(most).most_running, 14u) << "and gets what nobody else wants";
  for (const std::size_t one : small) {
    EXPECT_GT(day.tally(one).requests, 1000u);
    EXPECT_EQ(day.tally(one).refused, 0u);
    EXPECT_LT(day.tally(one).longest_wait, 1 * kSecond);
  }
  EXPECT_LE(day.shares().running(), 16u);
}

TEST(DayOfManyPrograms, gives_back_what_a_flood_has_squeezed_out) {
  Simulation day(6);
  Simulation::Program fixed, dynamic, flood;
  fixed.workers.min = fixed.workers.max = 4;
  dynamic.workers.min = 2;
  flood.workers.max = 20;
  flood.service = 500;
  const std::size_t pl = day.add(fixed), py = day.add(dynamic), sh = day.add(flood);
  day.burst(pl, 1 * kSecond, 1);
  day.burst(py, 2 * kSecond, 1);
  day.burst(sh, 600 * kSecond, 50);
  unsigned before = 0, during = 99, after = 0;
  day.look(599 * kSecond, [&] { before = day.workers(pl) + day.workers(py); });
  day.look(602 * kSecond, [&] { during = day.workers(pl) + day.workers(py); });
  day.look(720 * kSecond, [&] { after = day.workers(pl) + day.workers(py); });
  day.run(730 * kSecond);
  EXPECT_EQ(before, 6u);
  EXPECT_LT(during, 3u);
  EXPECT_EQ(after, 6u);
}

TEST(DayOfManyPrograms, shares_the_places_evenly_among_equals) {
  Simulation day(12);
  std::vector<std::size_t> all;
  for (int i = 0; i < 4; ++i) {
    Simulation::Program program;
    program.workers.max = 100;
    program.service = 500;
    program.rate = [](Milliseconds) { return 20.0; };
    all.push_back(day.add(program));
  }
  day.run(600 * kSecond);
  std::uint64_t least = ~0ull, most = 0;
  for (const std::size_t one : all) {
    const std::uint64_t served = day.tally(one).requests - day.tally(one).refused;
    least = std::min(least, served);
    most = std::max(most, served);
  }
  EXPECT_GT(least * 10, most * 9);
}

}  // namespace
}  // namespace policy
