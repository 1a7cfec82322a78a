#include "compare/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace compare {
namespace {

constexpr double kQuantiles[] = {0.01, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0};

struct Distribution {
  const char* name;
  std::function<double(std::mt19937_64&)> draw;
};

std::vector<Distribution> distributions() {
  return {
      {"uniform", std::uniform_real_distribution<double>(0, 1e6)},
      {"small", std::uniform_real_distribution<double>(0, 200)},
      {"exponential", std::exponential_distribution<double>(1.0 / 3000)},
      {"lognormal", std::lognormal_distribution<double>(8, 2)},
      {"normal", std::normal_distribution<double>(50'000, 1'000)},
      {"two_humps",
       [](std::mt19937_64& bits) {
         return bits() % 20 == 0 ? 900'000.0 + double(bits() % 999) : 800.0;
       }},
      {"up_to_the_limit", std::uniform_real_distribution<double>(0, 0x1p40)},
  };
}

// The definition of quantile(), applied to the values themselves.
std::uint64_t exact_quantile(const std::vector<std::uint64_t>& sorted, double q) {
  auto rank = std::size_t(std::ceil(q * double(sorted.size()) * (1 - 1e-12)));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

TEST(Histogram, gives_quantiles_within_one_per_cent_of_the_exact_ones) {
  for (const Distribution& distribution : distributions()) {
    std::mt19937_64 bits(7);
    std::vector<std::uint64_t> values;
    Histogram histogram;
    for (int i = 0; i < 20'000; ++i) {
      values.push_back(std::uint64_t(std::clamp(distribution.draw(bits), 0.0, 0x1p40 - 1)));
      histogram.add(values.back());
    }
    std::sort(values.begin(), values.end());
    for (double q : kQuantiles) {
      double exact = double(exact_quantile(values, q));
      EXPECT_NEAR(double(histogram.quantile(q)), exact, exact * 0.01)
          << distribution.name << " at " << q;
    }
  }
}

// Goal: each single value is returned to within 1 %, also at the borders of the buckets.
TEST(Histogram, keeps_each_value_to_less_than_one_per_cent) {
  for (unsigned power = 0; power < 40; ++power) {
    for (std::int64_t beside = -2; beside <= 2; ++beside) {
      std::int64_t value = (std::int64_t(1) << power) + beside;
      if (value < 0) continue;
      Histogram histogram;
      histogram.add(std::uint64_t(value));
      histogram.add((std::uint64_t(1) << 40) - 1);  // so that the exact maximum differs
      EXPECT_NEAR(double(histogram.quantile(0.5)), double(value), double(value) * 0.00999);
    }
  }
}

TEST(Histogram, is_exact_below_128) {
  Histogram histogram;
  for (std::uint64_t value = 0; value < 128; ++value) histogram.add(value);
  for (std::uint64_t value = 0; value < 128; ++value) {
    EXPECT_EQ(histogram.quantile(double(value + 1) / 128), value);
  }
}

TEST(Histogram, of_nothing_has_only_zeros) {
  Histogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0u);
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.max(), 0u);
  EXPECT_EQ(histogram.mean(), 0);
  EXPECT_EQ(histogram.count_up_to(1000), 0u);
}

TEST(Histogram, knows_count_sum_mean_and_maximum_exactly) {
  Histogram histogram;
  for (std::uint64_t value : {1000003u, 7u, 90u}) histogram.add(value);
  EXPECT_EQ(histogram.count(), 3u);
  EXPECT_EQ(histogram.sum(), 1000100u);
  EXPECT_EQ(histogram.max(), 1000003u);
  EXPECT_DOUBLE_EQ(histogram.mean(), 1000100.0 / 3);
  EXPECT_EQ(histogram.quantile(1), 1000003u);
}

TEST(Histogram, never_shows_more_than_its_maximum) {
  Histogram histogram;
  for (int i = 0; i < 10; ++i) histogram.add(1'000'000);
  EXPECT_EQ(histogram.quantile(0.5), 1'000'000u);
}

TEST(Histogram, takes_what_is_too_great_for_its_greatest_value) {
  Histogram histogram;
  histogram.add(~std::uint64_t(0));
  EXPECT_EQ(histogram.max(), (std::uint64_t(1) << 40) - 1);
  EXPECT_EQ(histogram.count_up_to(~std::uint64_t(0)), 1u);
}

TEST(Histogram, merged_is_as_if_all_values_had_been_added_to_it) {
  std::mt19937_64 bits(1);
  Histogram all, low, high;
  for (int i = 0; i < 5000; ++i) {
    std::uint64_t value = bits() % 1'000'000;
    all.add(value);
    (value < 1000 ? low : high).add(value);
  }
  low.merge(high);
  low.merge(Histogram());
  EXPECT_EQ(low.count(), all.count());
  EXPECT_EQ(low.sum(), all.sum());
  EXPECT_EQ(low.max(), all.max());
  for (double q : kQuantiles) EXPECT_EQ(low.quantile(q), all.quantile(q));
}

TEST(Histogram, counts_up_to_a_bound_to_the_precision_of_a_bucket) {
  std::mt19937_64 bits(3);
  Histogram histogram;
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 10'000; ++i) values.push_back(bits() % 100'000), histogram.add(values.back());
  std::uint64_t before = 0;
  for (std::uint64_t bound : {0u, 100u, 127u, 1000u, 5000u, 50'000u, 99'000u, 100'000u}) {
    auto up_to = [&](double most) {
      return std::count_if(values.begin(), values.end(),
                           [&](std::uint64_t value) { return double(value) <= most; });
    };
    std::uint64_t counted = histogram.count_up_to(bound);
    EXPECT_GE(std::int64_t(counted), up_to(double(bound)));
    EXPECT_LE(std::int64_t(counted), up_to(double(bound) * 65 / 64));
    EXPECT_GE(counted, before);
    before = counted;
  }
  EXPECT_EQ(before, 10'000u);
}

TEST(Histogram, cleared_begins_anew) {
  Histogram histogram;
  histogram.add(5);
  histogram.clear();
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.quantile(1), 0u);
}

}  // namespace
}  // namespace compare
