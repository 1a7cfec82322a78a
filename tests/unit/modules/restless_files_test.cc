#include "modules/restless_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "fakes/hand_clock.h"

namespace modules {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kYoung = 1s, kOld = ChangeDamper::kCalm;
constexpr unsigned kFew = RestlessFiles::kFewRequests, kMany = kFew + 1;

class RestlessFilesTest : public testing::Test {
 protected:
  RestlessFilesTest() {
    char name[] = "/tmp/restless_files_test.XXXXXX";
    folder_ = ::mkdtemp(name);
    counter_ = folder_ + "/counter";
    write();
  }
  ~RestlessFilesTest() override { std::filesystem::remove_all(folder_); }

  void write() { std::ofstream(counter_, std::ios::app) << "x"; }
  // The last of so many changes, each of which ends a generation.
  bool change(unsigned times, base::Duration lived = kYoung, unsigned requests = kMany) {
    bool is_restless = false;
    for (unsigned i = 0; i < times; ++i) {
      is_restless = files_.note_change(counter_, lived, requests);
    }
    return is_restless;
  }
  void pass(base::Duration time) { clock_.advance(time); }

  std::string folder_, counter_;
  fakes::HandClock clock_;
  RestlessFiles files_{clock_};
};

TEST_F(RestlessFilesTest, names_a_file_that_ends_one_young_generation_after_the_other) {
  EXPECT_FALSE(change(RestlessFiles::kStreak - 1));
  EXPECT_TRUE(files_.paths().empty());
  EXPECT_TRUE(change(1));
  EXPECT_EQ(files_.paths(), std::vector{counter_});
  EXPECT_FALSE(change(1));  // that is known
}

TEST_F(RestlessFilesTest, names_a_file_that_nearly_each_request_changes_however_rare_they_are) {
  EXPECT_FALSE(change(RestlessFiles::kStreak - 1, 1h, kFew));
  EXPECT_TRUE(change(1, 1h, kFew));
}

TEST_F(RestlessFilesTest, bears_changes_of_different_files_and_those_that_leave_time_in_between) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(files_.note_change(std::to_string(i % 2), kYoung, kMany));
  }
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(change(1, i % 3 == 2 ? kOld : kYoung));
}

TEST_F(RestlessFilesTest, are_calm_when_nothing_has_changed_for_a_minute) {
  EXPECT_FALSE(files_.are_calm());
  change(RestlessFiles::kStreak);
  pass(59s);
  EXPECT_FALSE(files_.are_calm());
  write();
  pass(1s);
  EXPECT_FALSE(files_.are_calm());
  pass(59s);
  EXPECT_FALSE(files_.are_calm());
  pass(1s);
  EXPECT_TRUE(files_.are_calm());
}

TEST_F(RestlessFilesTest, are_restless_again_sooner_and_for_twice_as_long) {
  change(RestlessFiles::kStreak);
  EXPECT_EQ(files_.pause(), 60s);
  files_.let_go();
  EXPECT_FALSE(files_.are_calm());  // there is none
  EXPECT_FALSE(change(1));
  EXPECT_TRUE(change(1));
  EXPECT_EQ(files_.pause(), 120s);
  for (int i = 0; i < 20; ++i) {
    files_.let_go();
    change(2);
  }
  EXPECT_EQ(files_.pause(), RestlessFiles::kLongestCalm);
  files_.forget();
  EXPECT_TRUE(files_.paths().empty());
  EXPECT_FALSE(change(2));
}

TEST_F(RestlessFilesTest, are_a_few_at_most) {
  for (std::size_t i = 0; i < 2 * RestlessFiles::kMost; ++i) {
    for (unsigned n = 0; n < RestlessFiles::kStreak; ++n) {
      files_.note_change(std::to_string(i), kYoung, kMany);
    }
  }
  EXPECT_EQ(files_.paths().size(), RestlessFiles::kMost);
}

}  // namespace
}  // namespace modules
