#include "pool/loaded_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace pool {
namespace {

class LoadedFilesTest : public testing::Test {
 protected:
  LoadedFilesTest() {
    char name[] = "/tmp/loaded_files_test.XXXXXX";
    folder_ = ::mkdtemp(name);
    write("one");
    write("two");
  }
  ~LoadedFilesTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name) { std::ofstream(path(name), std::ios::app) << "x"; }

  std::string folder_;
  base::TimePoint now_ = base::TimePoint() + std::chrono::hours(1);
};

TEST_F(LoadedFilesTest, names_a_file_that_has_changed) {
  LoadedFiles files;
  files.add(path("one") + "\n" + path("two"));
  EXPECT_EQ(files.changed(now_), "");
  write("two");
  EXPECT_EQ(files.changed(now_ + LoadedFiles::kCheckInterval), path("two"));
}

TEST_F(LoadedFilesTest, names_a_file_that_is_gone) {
  LoadedFiles files;
  files.add(path("one"));
  std::filesystem::remove(path("one"));
  EXPECT_EQ(files.changed(now_), path("one"));
}

TEST_F(LoadedFilesTest, looks_no_more_often_than_its_interval) {
  LoadedFiles files;
  files.add(path("one"));
  EXPECT_EQ(files.changed(now_), "");
  write("one");
  EXPECT_EQ(files.changed(now_ + LoadedFiles::kCheckInterval / 2), "");
}

TEST_F(LoadedFilesTest, passes_over_what_is_no_absolute_path) {
  LoadedFiles files;
  files.add("relative\n\n/");
  EXPECT_EQ(files.changed(now_), "");
}

}  // namespace
}  // namespace pool
