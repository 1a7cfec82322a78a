#include "pool/file_changes.h"

#include <gtest/gtest.h>

#include "fakes/hand_clock.h"

namespace pool {
namespace {

using namespace std::chrono_literals;

class FileChangesTest : public testing::Test {
 protected:
  // A generation that a change of the file ends.
  void change_after(base::Duration life) {
    changes_.note_start();
    clock_.advance(life);
    changes_.note_file(kCounter);
    changes_.note_end();
  }

  const std::string kCounter = "/srv/counter", program_ = "/srv/x.pl";
  fakes::HandClock clock_;
  FileChanges changes_{clock_, program_};
};

TEST_F(FileChangesTest, put_off_the_next_start_until_the_file_is_known_to_be_restless) {
  change_after(1s);
  EXPECT_EQ(changes_.wait().count(), 0);
  change_after(1s);
  EXPECT_GT(changes_.wait().count(), 0);
  EXPECT_NE(changes_.why_waiting(), "");
  change_after(1s);
  EXPECT_TRUE(changes_.restless().empty());
  change_after(1s);
  EXPECT_EQ(changes_.restless(), std::vector{kCounter});
  EXPECT_EQ(changes_.wait().count(), 0);
  EXPECT_EQ(changes_.why_waiting(), "");
}

TEST_F(FileChangesTest, put_off_starts_again_if_leaving_it_to_the_requests_did_not_help) {
  for (int i = 0; i < 7; ++i) change_after(1s);
  EXPECT_GT(changes_.wait().count(), 0);
}

TEST_F(FileChangesTest, end_when_the_restless_file_is_calm) {
  for (int i = 0; i < 4; ++i) change_after(1s);
  EXPECT_FALSE(changes_.have_calmed());
  clock_.advance(61s);
  EXPECT_TRUE(changes_.have_calmed());
  EXPECT_TRUE(changes_.restless().empty());
  EXPECT_FALSE(changes_.have_calmed());
}

TEST_F(FileChangesTest, count_as_restless_when_there_are_hardly_any_requests_in_between) {
  for (int i = 0; i < 4; ++i) {
    changes_.note_request();
    change_after(1h);
  }
  EXPECT_EQ(changes_.restless(), std::vector{kCounter});
}

}  // namespace
}  // namespace pool
