#include "modules/loaded_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "fakes/hand_clock.h"

namespace modules {
namespace {

class LoadedFilesTest : public testing::Test {
 protected:
  LoadedFilesTest() {
    char name[] = "/tmp/loaded_files_test.XXXXXX";
    folder_ = ::mkdtemp(name);
    write("one");
    write("two");
    clock_.advance(std::chrono::seconds(1));  // the clock stood still while they were made
  }
  ~LoadedFilesTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name) { std::ofstream(path(name), std::ios::app) << "x"; }

  std::string folder_;
  fakes::HandClock clock_;
};

TEST_F(LoadedFilesTest, names_a_file_that_has_changed) {
  LoadedFiles files(clock_);
  files.add(path("one") + "\n" + path("two"));
  EXPECT_EQ(files.changed(), "");
  write("two");
  clock_.advance(LoadedFiles::kMostInterval);
  EXPECT_EQ(files.changed(), path("two"));
}

TEST_F(LoadedFilesTest, names_a_file_that_is_gone) {
  LoadedFiles files(clock_);
  files.add(path("one"));
  std::filesystem::remove(path("one"));
  EXPECT_EQ(files.changed(), path("one"));
}

TEST_F(LoadedFilesTest, names_a_folder_in_which_something_appears) {
  LoadedFiles files(clock_);
  files.add(folder_);
  EXPECT_EQ(files.changed(), "");
  write("three");
  clock_.advance(LoadedFiles::kMostInterval);
  EXPECT_EQ(files.changed(), folder_);
}

TEST_F(LoadedFilesTest, takes_a_path_with_a_slash_for_the_same_until_another_file_is_there) {
  std::filesystem::create_directory(path("inner"));
  LoadedFiles files(clock_);
  files.add(path("inner/") + "\n" + path("one/"));
  write("inner/three");
  write("one");
  clock_.advance(LoadedFiles::kMostInterval);
  EXPECT_EQ(files.changed(), "");
  std::filesystem::rename(path("one"), path("old"));
  write("one");
  clock_.advance(LoadedFiles::kMostInterval);
  EXPECT_EQ(files.changed(), path("one/"));
}

TEST_F(LoadedFilesTest, leaves_alone_what_only_a_program_in_a_sandbox_can_see) {
  LoadedFiles files(clock_);
  files.add(path("three/") + "\n" + path("three/four"));
  EXPECT_EQ(files.changed(), "");
}

TEST_F(LoadedFilesTest, names_a_link_that_leads_elsewhere) {
  std::filesystem::create_symlink("one", path("link"));
  std::filesystem::create_symlink("nowhere", path("astray"));
  for (const char* name : {"link", "astray"}) {
    LoadedFiles files(clock_);
    files.add(path(name));
    EXPECT_EQ(files.changed(), "");
    std::filesystem::create_symlink(name == std::string("link") ? "two" : "no", path("new"));
    std::filesystem::rename(path("new"), path(name));
    clock_.advance(LoadedFiles::kMostInterval);
    EXPECT_EQ(files.changed(), path(name));
  }
}

TEST_F(LoadedFilesTest, looks_no_more_often_than_its_interval) {
  LoadedFiles files(clock_);
  files.add(path("one"));
  EXPECT_EQ(files.changed(), "");
  write("one");
  clock_.advance(LoadedFiles::kLeastInterval / 2);
  EXPECT_EQ(files.changed(), "");
}

TEST_F(LoadedFilesTest, passes_over_what_is_no_absolute_path) {
  LoadedFiles files(clock_);
  files.add("relative\n\n/");
  EXPECT_EQ(files.changed(), "");
}

TEST_F(LoadedFilesTest, takes_a_file_that_changed_since_the_launch_for_changed) {
  LoadedFiles files(clock_, clock_.file_stamp_ns() - 60'000'000'000);
  files.add(path("one"));
  EXPECT_EQ(files.changed(), path("one"));
}

TEST_F(LoadedFilesTest, passes_over_the_program_itself) {
  LoadedFiles files(clock_, clock_.file_stamp_ns() - 60'000'000'000, path("one"));
  files.add(path("one"));
  EXPECT_EQ(files.changed(), "");
}

TEST_F(LoadedFilesTest, does_not_believe_times_in_the_future) {
  LoadedFiles earlier(clock_, clock_.file_stamp_ns() + 60'000'000'000);
  earlier.add(path("one"));
  EXPECT_EQ(earlier.changed(), "");
}

TEST_F(LoadedFilesTest, finds_the_libraries_in_the_mappings_of_a_process) {
  LoadedFiles files(clock_);
  files.add_maps("7f00-7f01 r-xp 00000000 08:01 77      " + path("one") + "\n" +
                 "7f02-7f03 rw-p 00000000 00:00 0 \n7f04-7f05 r--p 0 08:01 78 " + path("two") +
                 "\n7ffc-7ffd rw-p 0 00:00 0    [stack]\n");
  EXPECT_EQ(files.size(), 2U);
  EXPECT_EQ(files.changed(), "");
  write("two");
  clock_.advance(LoadedFiles::kMostInterval);
  EXPECT_EQ(files.changed(), path("two"));
}

TEST_F(LoadedFilesTest, takes_a_library_that_was_replaced_while_it_was_mapped_for_changed) {
  LoadedFiles files(clock_);
  files.add_maps("7f00-7f01 r-xp 00000000 08:01 77      " + path("one") + " (deleted)\n");
  EXPECT_EQ(files.changed(), path("one"));
}

TEST_F(LoadedFilesTest, passes_over_memory_that_looks_like_a_deleted_file) {
  LoadedFiles files(clock_);
  files.add_maps(
      "7f00-7f01 rw-s 00000000 00:01 77      /dev/zero (deleted)\n"
      "7f00-7f01 r--s 00000000 00:01 78      /memfd:snapshot (deleted)");
  EXPECT_EQ(files.changed(), "");
}

class ChangeDamperTest : public testing::Test {
 protected:
  // A generation starts, and a change discards it after this time.
  void change_after(base::Duration life) {
    damper_.note_start(now_);
    now_ += life;
    damper_.note_change(now_);
  }

  ChangeDamper damper_;
  base::TimePoint now_ = base::TimePoint() + std::chrono::hours(1);
};

TEST_F(ChangeDamperTest, lets_a_program_start_at_once_after_a_change) {
  EXPECT_EQ(damper_.wait(now_).count(), 0);
  damper_.note_change(now_);
  EXPECT_EQ(damper_.wait(now_).count(), 0);
  change_after(std::chrono::milliseconds(1));
  EXPECT_EQ(damper_.wait(now_).count(), 0);
}

TEST_F(ChangeDamperTest, waits_twice_as_long_for_each_young_generation_thrown_away) {
  change_after(std::chrono::milliseconds(20));
  change_after(std::chrono::milliseconds(20));
  EXPECT_EQ(damper_.wait(now_), ChangeDamper::kFirstPause);
  change_after(std::chrono::milliseconds(20));
  EXPECT_EQ(damper_.wait(now_), 2 * ChangeDamper::kFirstPause);
  for (int n = 0; n < 40; ++n) change_after(std::chrono::milliseconds(20));
  EXPECT_EQ(damper_.wait(now_), ChangeDamper::kLongestPause);
}

TEST_F(ChangeDamperTest, begins_the_wait_again_at_each_change) {
  change_after(std::chrono::milliseconds(20));
  change_after(std::chrono::milliseconds(20));
  for (int n = 0; n < 50; ++n) {
    now_ += std::chrono::milliseconds(20);
    damper_.note_change(now_);
    EXPECT_EQ(damper_.wait(now_), ChangeDamper::kFirstPause);
  }
  EXPECT_EQ(damper_.wait(now_ + ChangeDamper::kFirstPause).count(), 0);
}

TEST_F(ChangeDamperTest, forgets_when_a_generation_was_left_alone) {
  for (int n = 0; n < 10; ++n) change_after(std::chrono::milliseconds(20));
  change_after(ChangeDamper::kCalm);
  EXPECT_EQ(damper_.wait(now_).count(), 0);
}

}  // namespace
}  // namespace modules
