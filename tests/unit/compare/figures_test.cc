#include "compare/figures.h"

#include <gtest/gtest.h>

namespace compare {
namespace {

using namespace std::chrono_literals;

const base::TimePoint kBegin = base::TimePoint(1h);

Observation observation(Failure failure, int status) {
  Observation one;
  one.failure = failure;
  one.status = status;
  return one;
}

TEST(Figures, count_requests_by_failure_and_status_class) {
  Figures figures;
  for (auto [failure, status] :
       std::initializer_list<std::pair<Failure, int>>{{Failure::none, 200},
                                                      {Failure::none, 204},
                                                      {Failure::none, 404},
                                                      {Failure::status, 500},
                                                      {Failure::timeout, 504},
                                                      {Failure::gone, 0},
                                                      {Failure::signal, 200}}) {
    figures.add(observation(failure, status), kBegin);
  }
  EXPECT_EQ(figures.requests(), 7u);
  EXPECT_EQ(figures.failed(Failure::none), 3u);
  EXPECT_EQ(figures.failed(Failure::timeout), 1u);
  EXPECT_EQ(figures.status_class(2), 3u);
  EXPECT_EQ(figures.status_class(4), 1u);
  EXPECT_EQ(figures.status_class(5), 2u);
  EXPECT_EQ(figures.status_class(0), 1u);
}

TEST(Figures, take_a_client_that_left_for_no_error) {
  Figures figures;
  figures.add(observation(Failure::gone, 0), kBegin);
  EXPECT_EQ(figures.errors(), 0u);
  for (std::size_t i = 0; i < kFailures; ++i) figures.add(observation(Failure(i), 200), kBegin);
  EXPECT_EQ(figures.errors(), kFailures - 2);  // all except none and gone
}

TEST(Figures, have_a_place_for_a_status_that_is_none) {
  Figures figures;
  for (int status : {-1, 0, 99, 600, 999}) figures.add(observation(Failure::none, status), kBegin);
  EXPECT_EQ(figures.status_class(0), 5u);
  EXPECT_EQ(figures.status_class(6), 0u);
}

TEST(Figures, sum_bytes_and_keep_the_greatest_memory) {
  Figures figures;
  for (std::uint64_t n : {3u, 9u, 5u}) {
    Observation one;
    one.latency = Microseconds(n * 100);
    one.queue = Microseconds(n);
    one.cpu = Microseconds(n * 10);
    one.peak_kib = n;
    one.bytes_in = n;
    one.bytes_out = n * 2;
    figures.add(one, kBegin);
  }
  EXPECT_EQ(figures.peak_kib(), 9u);
  EXPECT_EQ(figures.bytes_in(), 17u);
  EXPECT_EQ(figures.bytes_out(), 34u);
  EXPECT_EQ(figures.latency().max(), 900u);
  EXPECT_EQ(figures.queue().max(), 9u);
  EXPECT_EQ(figures.cpu().max(), 90u);
}

// One request per millisecond for a minute, then none.
TEST(Figures, know_the_rate_of_the_last_seconds_at_any_time) {
  Figures figures;
  base::TimePoint now = kBegin;
  for (int i = 0; i < 60'000; ++i, now += 1ms) {
    figures.add(observation(Failure::none, 200), now);
    if (i < 10'000 || i % 777 != 0) continue;
    Figures::Recent recent = figures.recent(now);
    EXPECT_GE(recent.span, Figures::kWindow);
    EXPECT_LT(recent.span, 2 * Figures::kWindow);
    EXPECT_NEAR(double(recent.latency.count()), double(recent.span.count()), 2);
  }
  EXPECT_GT(figures.recent(now + 4s).latency.count(), 0u);
  EXPECT_EQ(figures.recent(now + 11s).latency.count(), 0u);
  EXPECT_GE(figures.recent(now + 1h).span, Figures::kWindow);
}

TEST(Figures, forget_an_old_burst_when_one_request_comes_later) {
  Figures figures;
  for (int i = 0; i < 100; ++i) figures.add(observation(Failure::none, 200), kBegin);
  figures.add(observation(Failure::none, 200), kBegin + 1h);
  EXPECT_EQ(figures.recent(kBegin + 1h).latency.count(), 1u);
  EXPECT_EQ(figures.requests(), 101u);
}

TEST(Figures, of_nothing_have_an_empty_window) {
  Figures::Recent recent = Figures().recent(kBegin);
  EXPECT_EQ(recent.latency.count(), 0u);
  EXPECT_GT(recent.span, 0ms);
}

}  // namespace
}  // namespace compare
