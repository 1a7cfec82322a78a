#include "compare/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace compare {
namespace {

std::vector<bool> drawn(double per_cent, std::size_t count) {
  Splitter splitter;
  std::vector<bool> persistent;
  for (std::size_t i = 0; i < count; ++i) {
    persistent.push_back(splitter.next(per_cent) == Side::persistent);
  }
  return persistent;
}

// Goal: in every window, wherever it begins and however long it is, the share is kept to within two
// requests. The balance after each request proves this for all windows at once.
TEST(Splitter, keeps_the_share_in_every_window) {
  for (double per_cent : {0.0, 0.1, 1.0, 5.0, 10.0, 33.3, 50.0, 66.6, 90.0, 99.5, 100.0}) {
    double balance = 0, least = 0, most = 0;
    for (bool persistent : drawn(per_cent, 100'000)) {
      balance += persistent ? 1 - per_cent / 100 : -per_cent / 100;
      least = std::min(least, balance);
      most = std::max(most, balance);
    }
    EXPECT_LE(most - least, 2.000001) << per_cent;
  }
}

TEST(Splitter, gives_all_or_nothing_when_asked) {
  for (bool persistent : drawn(0, 1000)) EXPECT_FALSE(persistent);
  for (bool persistent : drawn(100, 1000)) EXPECT_TRUE(persistent);
}

TEST(Splitter, follows_a_change_of_the_share_at_once) {
  Splitter splitter;
  for (double per_cent : {10.0, 100.0, 0.0, 50.0, 0.0, 100.0, 0.0}) {
    int persistent = 0;
    for (int i = 0; i < 1000; ++i) persistent += splitter.next(per_cent) == Side::persistent;
    EXPECT_NEAR(persistent, per_cent * 10, 2);
  }
}

// Goal: a visitor who sends every n-th request gets his share too, whatever n is.
TEST(Splitter, has_no_period_that_a_visitor_could_fall_into) {
  constexpr std::size_t kOfEach = 4000;
  for (std::size_t period : {2u, 3u, 5u, 8u, 10u, 13u, 20u, 21u, 34u, 50u, 89u, 100u}) {
    std::vector<bool> persistent = drawn(10, kOfEach * period);
    for (std::size_t first : {std::size_t(0), period / 2}) {
      std::size_t count = 0, in_a_row = 0, longest = 0;
      for (std::size_t i = first; i < persistent.size(); i += period) {
        count += persistent[i];
        in_a_row = persistent[i] ? in_a_row + 1 : 0;
        longest = std::max(longest, in_a_row);
      }
      EXPECT_NEAR(double(count), kOfEach * 0.1, 5 * std::sqrt(kOfEach * 0.1 * 0.9)) << period;
      EXPECT_LT(longest, 12u) << period;
    }
  }
}

TEST(Splitter, gives_the_same_sides_each_time) {
  EXPECT_EQ(drawn(17, 1000), drawn(17, 1000));
}

TEST(StickySide, is_the_same_for_the_same_key) {
  for (int i = 0; i < 100; ++i) {
    std::string key = "203.0.113." + std::to_string(i);
    EXPECT_EQ(sticky_side(key, 30), sticky_side(key, 30));
  }
}

TEST(StickySide, sends_nobody_back_while_the_share_grows) {
  for (int i = 0; i < 500; ++i) {
    std::string key = "visitor" + std::to_string(i);
    bool persistent = false;
    for (double per_cent = 0; per_cent <= 100; per_cent += 0.5) {
      bool now = sticky_side(key, per_cent) == Side::persistent;
      EXPECT_TRUE(now || !persistent) << key << " at " << per_cent;
      persistent = now;
    }
    EXPECT_TRUE(persistent);
  }
}

// Goal: similar keys, such as neighbouring addresses, are spread like others.
TEST(StickySide, gives_about_the_share_of_many_keys) {
  for (double per_cent : {1.0, 10.0, 50.0, 90.0}) {
    for (const char* prefix :
         {"10.0.0.", "", "2001:db8::", "a-long-cookie-value-that-begins-alike-"}) {
      int persistent = 0;
      for (int i = 0; i < 10'000; ++i) {
        persistent += sticky_side(prefix + std::to_string(i), per_cent) == Side::persistent;
      }
      double deviation = std::sqrt(10'000 * per_cent / 100 * (1 - per_cent / 100));
      EXPECT_NEAR(persistent, per_cent * 100, 4 * deviation) << prefix;
    }
  }
}

TEST(CookieValue, is_found_by_its_name) {
  EXPECT_EQ(cookie_value("sid=31d4d96e407aad42", "sid"), "31d4d96e407aad42");
  EXPECT_EQ(cookie_value("lang=en-US; sid=abc; x=1", "sid"), "abc");
  EXPECT_EQ(cookie_value("a=1;sid=b=c ;d", "sid"), "b=c");
  EXPECT_EQ(cookie_value("sid=first; sid=second", "sid"), "first");
  EXPECT_EQ(cookie_value("  sid = abc\t", "sid"), "abc");
}

TEST(CookieValue, is_none_where_there_is_no_such_cookie) {
  for (const char* header : {"", ";", "=", "sid", "sid=", "sid= ;", "xsid=1", "sidx=1", "SID=1",
                             "a=sid=1", "a=1; ; b=2;"}) {
    EXPECT_EQ(cookie_value(header, "sid"), std::nullopt) << header;
  }
}

// Every byte of the header is read at most once, and none beyond it.
TEST(CookieValue, bears_a_header_cut_anywhere) {
  std::string header = "a=1; sid=abc; b=2";
  for (std::size_t size = 0; size <= header.size(); ++size) {
    std::string cut = header.substr(0, size);
    auto value = cookie_value(cut, "sid");
    EXPECT_EQ(value.value_or(""), size <= 9 ? "" : std::string("abc").substr(0, size - 9));
  }
}

TEST(PinnedSide, knows_the_two_words) {
  EXPECT_EQ(pinned_side("classic"), Side::classic);
  EXPECT_EQ(pinned_side("persistent"), Side::persistent);
  for (const char* word : {"", "Classic", "persistent ", "rewind", "split"}) {
    EXPECT_EQ(pinned_side(word), std::nullopt) << word;
  }
}

}  // namespace
}  // namespace compare
