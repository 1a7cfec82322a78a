#include "base/append_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace base {
namespace {

class AppendFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cgibridge-unit-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    path_ = folder_ + "/lines";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_, path_;
};

TEST_F(AppendFileTest, writes_behind_what_is_there) {
  std::ofstream(path_) << "old\n";
  AppendFile file;
  ASSERT_TRUE(file.open(path_));
  EXPECT_EQ(file.append("one\ntwo\n"), AppendFile::Outcome::written);
  EXPECT_EQ(text_of(path_), "old\none\ntwo\n");
  EXPECT_EQ(file.lines(), 2u);
}

TEST_F(AppendFileTest, goes_on_in_a_new_file_once_the_old_one_was_moved_and_it_is_reopened) {
  AppendFile file;
  ASSERT_TRUE(file.open(path_));
  file.append("one\n");
  std::filesystem::rename(path_, path_ + ".1");
  file.append("two\n");
  ASSERT_TRUE(file.reopen());
  file.append("three\n");
  EXPECT_EQ(text_of(path_ + ".1"), "one\ntwo\n");
  EXPECT_EQ(text_of(path_), "three\n");
}

TEST_F(AppendFileTest, stays_as_it_is_when_it_cannot_be_reopened) {
  const std::string inner = folder_ + "/inner";
  std::filesystem::create_directory(inner);
  AppendFile file;
  ASSERT_TRUE(file.open(inner + "/lines"));
  std::filesystem::rename(inner, folder_ + "/moved");
  EXPECT_FALSE(file.reopen());
  EXPECT_EQ(file.append("one\n"), AppendFile::Outcome::written);
  EXPECT_EQ(text_of(folder_ + "/moved/lines"), "one\n");
}

TEST_F(AppendFileTest, drops_and_counts_what_a_full_disk_does_not_take) {
  AppendFile file;
  ASSERT_TRUE(file.open("/dev/full"));
  EXPECT_EQ(file.append("one\ntwo\n"), AppendFile::Outcome::dropped);
  EXPECT_EQ(file.dropped(), 2u);
  EXPECT_EQ(file.error_number(), ENOSPC);
}

TEST_F(AppendFileTest, never_waits_for_a_pipe_that_nobody_empties_and_leaves_no_half_line_in_it) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  AppendFile file;
  EXPECT_FALSE(file.open(path_)) << "nobody reads it";
  const UniqueFd reader(::open(path_.c_str(), O_RDONLY | O_NONBLOCK));
  ASSERT_TRUE(file.open(path_));
  const std::string line = std::string(9999, 'a') + "\n";
  int written = 0;
  while (file.append(line) == AppendFile::Outcome::written && written < 1000) ++written;
  EXPECT_LT(written, 1000);
  std::string seen;
  char bytes[65536];
  for (ssize_t got; (got = ::read(reader.get(), bytes, sizeof bytes)) > 0;) seen.append(bytes, got);
  EXPECT_EQ(file.append("last\n"), AppendFile::Outcome::written);
  for (ssize_t got; (got = ::read(reader.get(), bytes, sizeof bytes)) > 0;) seen.append(bytes, got);
  EXPECT_TRUE(seen.ends_with("\nlast\n"));
  EXPECT_EQ(file.dropped(), 1u);
}

// As a disk that has room for this many bytes of a file, until it goes out of scope.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_ = {};
};

TEST_F(AppendFileTest, ends_a_cut_line_before_the_next_one_also_when_it_was_reopened) {
  AppendFile file;
  ASSERT_TRUE(file.open(path_));
  {
    const SmallDisk small(6);
    EXPECT_EQ(file.append("one\ntwo\n"), AppendFile::Outcome::dropped);
  }
  ASSERT_TRUE(file.reopen());
  file.append("three\n");
  EXPECT_EQ(text_of(path_), "one\ntw\nthree\n");
  ASSERT_TRUE(file.reopen());
  file.append("four\n");
  EXPECT_EQ(text_of(path_), "one\ntw\nthree\nfour\n");
}

TEST_F(AppendFileTest, begins_a_new_file_without_an_empty_line_although_the_old_one_was_cut) {
  AppendFile file;
  ASSERT_TRUE(file.open(path_));
  {
    const SmallDisk small(6);
    file.append("one\ntwo\n");
  }
  std::filesystem::rename(path_, path_ + ".1");
  ASSERT_TRUE(file.reopen());
  file.append("three\n");
  EXPECT_EQ(text_of(path_), "three\n");
}

TEST_F(AppendFileTest, ends_a_line_that_another_process_left_cut) {
  std::ofstream(path_) << "one\ntw";
  AppendFile file;
  ASSERT_TRUE(file.open(path_));
  file.append("three\n");
  EXPECT_EQ(text_of(path_), "one\ntw\nthree\n");
}

TEST_F(AppendFileTest, knows_a_pipe_again_in_which_it_left_half_a_line) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const UniqueFd reader(::open(path_.c_str(), O_RDONLY | O_NONBLOCK));
  AppendFile file;
  ASSERT_TRUE(file.open(path_));
  while (file.append(std::string(9999, 'a') + "\n") == AppendFile::Outcome::written) {
  }
  ASSERT_TRUE(file.reopen());
  std::string seen(1 << 20, ' ');
  ASSERT_GT(::read(reader.get(), seen.data(), seen.size()), 0);
  file.append("last\n");
  seen.resize(static_cast<std::size_t>(::read(reader.get(), seen.data(), seen.size())));
  EXPECT_EQ(seen, "\nlast\n");
}

}  // namespace
}  // namespace base
