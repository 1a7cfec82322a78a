#include "loop/path_watch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "loop/timer.h"

namespace loop {
namespace {

namespace fs = std::filesystem;

class PathWatchTest : public testing::Test {
 protected:
  PathWatchTest() {
    std::string folder = testing::TempDir() + "path_watch_XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = fs::canonical(folder);
    fs::create_directory(folder_ / "etc");
    file_ = folder_ / "etc/config.toml";
    write(file_, "one");
  }
  ~PathWatchTest() override { fs::remove_all(folder_); }

  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

  // How often the watch reports while the loop turns after the change.
  int told_by(const std::function<void()>& change) {
    const int before = told_;
    change();
    Timer over(loop_, [this] { loop_.stop(); });
    over.start(base::Duration(30));
    loop_.run();
    return told_ - before;
  }

  // A change is reported, and so is a later write to the file that the path then leads to.
  void expect_told(const std::function<void()>& change) {
    EXPECT_GE(told_by(change), 1);
    EXPECT_GE(told_by([this] { write(file_, "and then"); }), 1);
    expect_quiet_beside();
  }

  void expect_quiet_beside() {
    EXPECT_EQ(told_by([this] {
                write(file_.parent_path() / "bridge.log", "a line");
                write(file_.parent_path() / "other.toml", "x");
                fs::rename(file_.parent_path() / "other.toml", file_.parent_path() / "again.toml");
                fs::remove(file_.parent_path() / "again.toml");
              }),
              0);
  }

  void start(const fs::path& path) { ASSERT_TRUE(watch_.start(path).ok()); }

  fs::path folder_, file_;
  Loop loop_;
  int told_ = 0;
  PathWatch watch_{loop_, [this](const base::Status& watching) {
                     EXPECT_TRUE(watching.ok());
                     ++told_;
                   }};
};

TEST_F(PathWatchTest, tells_of_a_write_and_of_nothing_beside_it) {
  start(file_);
  expect_quiet_beside();
  expect_told([this] { write(file_, "two"); });
}

TEST_F(PathWatchTest, tells_of_a_file_that_replaces_it) {
  start(file_);
  for (int i = 0; i < 3; ++i) {
    expect_told([this] {
      write(folder_ / "etc/new", "two");
      fs::rename(folder_ / "etc/new", file_);
    });
  }
}

TEST_F(PathWatchTest, tells_of_a_file_that_replaces_one_that_has_another_name_as_well) {
  fs::create_hard_link(file_, folder_ / "backup");
  start(file_);
  expect_told([this] {
    write(folder_ / "etc/new", "two");
    fs::rename(folder_ / "etc/new", file_);
  });
  EXPECT_EQ(told_by([this] { write(folder_ / "backup", "not it any more"); }), 0);
}

TEST_F(PathWatchTest, tells_of_one_that_is_moved_away_and_written_anew) {
  start(file_);
  expect_told([this] {
    fs::rename(file_, folder_ / "etc/config.toml~");
    write(file_, "two");
  });
}

TEST_F(PathWatchTest, tells_of_one_that_is_removed_and_comes_back) {
  start(file_);
  EXPECT_GE(told_by([this] { fs::remove(file_); }), 1);
  expect_quiet_beside();
  expect_told([this] { write(file_, "back"); });
}

TEST_F(PathWatchTest, tells_of_one_that_was_not_there_at_the_start) {
  fs::remove_all(folder_ / "etc");
  start(file_);
  EXPECT_EQ(told_by([this] { fs::create_directory(folder_ / "elsewhere"); }), 0);
  EXPECT_EQ(told_by([this] { fs::create_directory(folder_ / "etc"); }), 0);
  expect_told([this] { write(file_, "here"); });
}

TEST_F(PathWatchTest, tells_of_a_change_of_rights) {
  start(file_);
  expect_told([this] { ::chmod(file_.c_str(), 0600); });
}

TEST_F(PathWatchTest, follows_links_and_tells_when_one_leads_elsewhere) {
  write(folder_ / "real", "one");
  write(folder_ / "other", "two");
  fs::remove(file_);
  fs::create_symlink("../middle", file_);
  fs::create_symlink("real", folder_ / "middle");
  start(file_);
  expect_told([this] { write(folder_ / "real", "more"); });
  EXPECT_EQ(told_by([this] { write(folder_ / "other", "not yet"); }), 0);
  expect_told([this] {
    fs::create_symlink("other", folder_ / "new");
    fs::rename(folder_ / "new", folder_ / "middle");
  });
  EXPECT_EQ(told_by([this] { write(folder_ / "real", "no longer"); }), 0);
  expect_told([this] {
    fs::remove(file_);
    write(file_, "a file in the link's place");
  });
}

// Like the settings that Kubernetes mounts: the folder behind a link is swapped as a whole.
TEST_F(PathWatchTest, tells_when_a_folder_on_the_way_is_a_link_that_is_swapped) {
  fs::create_directory(folder_ / "etc/..1");
  fs::create_directory(folder_ / "etc/..2");
  write(folder_ / "etc/..1/config.toml", "one");
  write(folder_ / "etc/..2/config.toml", "two");
  fs::create_symlink("..1", folder_ / "etc/..data");
  fs::remove(file_);
  fs::create_symlink("..data/config.toml", file_);
  start(file_);
  expect_told([this] {
    fs::create_symlink("..2", folder_ / "etc/..data_tmp");
    fs::rename(folder_ / "etc/..data_tmp", folder_ / "etc/..data");
    fs::remove_all(folder_ / "etc/..1");
  });
}

TEST_F(PathWatchTest, tells_when_its_folder_is_moved_and_another_takes_its_place) {
  start(file_);
  fs::create_directory(folder_ / "etc.new");
  write(folder_ / "etc.new/config.toml", "two");
  expect_told([this] {
    fs::rename(folder_ / "etc", folder_ / "etc.old");
    fs::rename(folder_ / "etc.new", folder_ / "etc");
  });
  EXPECT_EQ(told_by([this] { write(folder_ / "etc.old/config.toml", "the old one"); }), 0);
}

TEST_F(PathWatchTest, refuses_links_in_a_circle) {
  fs::create_symlink("circle", folder_ / "circle");
  EXPECT_FALSE(watch_.start(folder_ / "circle").ok());
}

}  // namespace
}  // namespace loop
