#include "migrate/machine.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace migrate {
namespace {

namespace fs = std::filesystem;

class Machine : public ::testing::Test {
 protected:
  Machine() {
    char name[] = "/tmp/cgibridge-unit-XXXXXX";
    folder_ = fs::canonical(::mkdtemp(name));
  }
  ~Machine() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text, ::mode_t mode = 0644) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }

  // The names of the programs that a place has; the place's own path is below the folder.
  std::vector<std::string> found(const std::string& path, Programs programs = {},
                                 const WalkLimits& limits = {}) {
    programs.path = folder_ / path;
    Place place;
    place.programs = programs;
    std::vector<FoundProgram> all;
    files_ = find_programs(place, 0, limits, all);
    std::vector<std::string> names;
    for (const FoundProgram& program : all) {
      names.push_back(fs::path(program.path).lexically_relative(folder_));
    }
    return names;
  }

  fs::path folder_;
  PlaceFiles files_;
};

using Names = std::vector<std::string>;

TEST_F(Machine, programs_are_executable_and_begin_like_some) {
  write("c/a.pl", "#!/usr/bin/perl\n", 0755);
  write("c/deep/b",
        "\x7f"
        "ELF...",
        0711);
  write("c/not-executable", "#!/bin/sh\n");
  write("c/picture.png", "\x89PNG", 0755);
  write("c/empty", "", 0755);
  write("c/.hidden", "#!/bin/sh\n", 0755);
  fs::create_symlink(write("elsewhere/real", "#!/bin/sh\n", 0755), folder_ / "c/link");
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "c/folder-link");
  EXPECT_EQ(found("c/"), (Names{"c/a.pl", "c/deep/b", "c/link"}));
  EXPECT_EQ(files_.roots, Names{folder_ / "c"});
  EXPECT_EQ(found("c/", {.path = {}, .whole = false, .suffixes = {".pl"}}), Names{"c/a.pl"});
}

TEST_F(Machine, a_path_may_be_a_program_or_the_beginning_of_names_or_a_pattern) {
  write("home/ann/cgi/x", "#!/bin/sh\n", 0755);
  write("home/bob/cgi/x", "#!/bin/sh\n", 0755);
  EXPECT_EQ(found("home/ann/cgi/x", {.path = {}, .whole = true}), Names{"home/ann/cgi/x"});
  EXPECT_EQ(files_.roots, Names{folder_ / "home/ann/cgi/x"});
  EXPECT_EQ(found("home/b"), Names{"home/bob/cgi/x"});
  EXPECT_EQ(found("home/*/cgi/"), (Names{"home/ann/cgi/x", "home/bob/cgi/x"}));
  EXPECT_EQ(files_.roots.size(), 2U);
  EXPECT_EQ(found("none/"), Names{});
  EXPECT_TRUE(files_.roots.empty());
  EXPECT_TRUE(files_.problem.starts_with("there is no "));
}

TEST_F(Machine, a_walk_has_limits) {
  for (const char* name : {"c/1", "c/2", "c/3"}) write(name, "#!/bin/sh\n", 0755);
  write("c/d/d/d/4", "#!/bin/sh\n", 0755);
  EXPECT_EQ(found("c", {}, {.depth = 8, .entries = 100, .programs = 2}).size(), 2U);
  EXPECT_NE(files_.problem, "");
  EXPECT_EQ(found("c", {}, {.depth = 1, .entries = 100, .programs = 9}).size(), 3U);
  EXPECT_NE(files_.problem, "");
  found("c", {}, {.depth = 8, .entries = 2, .programs = 9});
  EXPECT_NE(files_.problem, "");
  EXPECT_EQ(found("c").size(), 4U);
  EXPECT_EQ(files_.problem, "");
}

TEST_F(Machine, reads_files_by_their_real_names) {
  MachineFiles files;
  const std::string real = write("available/a", "text\n");
  fs::create_directories(folder_ / "enabled");
  fs::create_symlink("../available/a", folder_ / "enabled/a");
  const auto read = files.read(folder_ / "enabled/a");
  ASSERT_TRUE(read);
  EXPECT_EQ(read.value().path, real);
  EXPECT_EQ(read.value().text, "text\n");
  EXPECT_EQ(files.matching((folder_ / "*/a").string()).size(), 2U);
  EXPECT_EQ(files.below(folder_).size(), 2U);
  EXPECT_FALSE(files.read(folder_ / "none"));
  EXPECT_FALSE(files.read(folder_));
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(files.read(folder_ / "pipe").error().message, "it is no file");
  write("large", std::string(MachineFiles::kBytesMax + 1, '#'));
  EXPECT_EQ(files.read(folder_ / "large").error().message, "it is larger than 1 MiB");
}

}  // namespace
}  // namespace migrate
