#include "cli/doubts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace cli {
namespace {

class Doubts : public testing::Test {
 protected:
  Doubts() {
    char name[] = "/tmp/doubts-XXXXXX";
    folder_ = std::filesystem::canonical(::mkdtemp(name));
    std::filesystem::create_directory(folder_ / "root");
    std::filesystem::create_directory_symlink(folder_ / "root", folder_ / "link");
    write("root/a.cgi", 0755);
    settings_.bridge.roots = {(folder_ / "root").string()};
  }
  ~Doubts() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, ::mode_t mode) {
    std::ofstream(folder_ / name) << "#!/bin/sh\n";
    ::chmod((folder_ / name).c_str(), mode);
  }
  std::string in(const std::string& name) const { return (folder_ / name).string(); }
  void add_program(const std::string& match) { settings_.programs.emplace_back().match = match; }
  void expect(const std::vector<std::string>& doubts) const {
    EXPECT_EQ(doubts_about(settings_), doubts);
  }

  std::filesystem::path folder_;
  config::Settings settings_;
};

TEST_F(Doubts, has_none_about_settings_that_can_apply) {
  for (const char* name :
       {"root/a.cgi", "root/*.pl", "root/x/[ab]", "ro*", "link/b.cgi", "link/*"}) {
    add_program(in(name));
  }
  add_program("*.py");
  settings_.programs[0].interpreter = in("root/a.cgi");
  settings_.bridge.prewarm = {in("root/a.cgi")};
  expect({});
}

TEST_F(Doubts, has_none_if_a_root_is_a_link_a_single_program_or_missing) {
  write("single.cgi", 0755);
  settings_.bridge.roots = {in("link"), in("single.cgi"), in("absent")};
  for (const char* name : {"root/a.cgi", "link/*", "single.cgi", "sing*", "absent/b/*"}) {
    add_program(in(name));
  }
  expect({});
}

TEST_F(Doubts, doubts_a_match_outside_all_roots) {
  const std::string end =
      " is in none of bridge.roots: the section is never used, unless a link there leads into one";
  add_program(in("other/*.cgi"));
  add_program(in("root"));
  settings_.programs[1].match += "2/a.cgi";
  expect({"program[1].match: \"" + in("other/*.cgi") + "\"" + end,
          "program[2].match: \"" + in("root2/a.cgi") + "\"" + end});
}

TEST_F(Doubts, doubts_a_bracket_that_is_not_closed) {
  add_program(in("root/[ab.cgi"));
  expect({"program[1].match: \"" + in("root/[ab.cgi") +
          "\" has a '[' without a ']': it matches only paths that have a '['"});
}

TEST_F(Doubts, doubts_a_section_whose_programs_an_earlier_one_takes) {
  add_program(in("root/*"));
  add_program(in("root/*.pl"));
  add_program(in("root/a.pl"));
  const std::string end =
      " is never used: program[1] (\"" + in("root/*") + "\") matches all of it and comes first";
  expect({"program[2].match: \"" + in("root/*.pl") + "\"" + end,
          "program[3].match: \"" + in("root/a.pl") + "\"" + end});
}

TEST_F(Doubts, doubts_each_interpreter_that_cannot_run_anything_once) {
  write("plain", 0644);
  settings_.defaults.interpreter = in("absent");
  for (const char* name : {"absent", "plain", "root"}) {
    add_program(in(std::string("root/") + name));
    settings_.programs.back().interpreter = in(name);
  }
  const std::string end = ": its programs are answered with an error";
  expect({"defaults.interpreter: " + in("absent") + ": No such file or directory" + end,
          "program[2].interpreter: " + in("plain") + ": not executable" + end,
          "program[3].interpreter: " + in("root") + ": not a file" + end});
}

TEST_F(Doubts, doubts_what_cannot_be_prewarmed) {
  write("outside.cgi", 0755);
  write("root/plain", 0644);
  settings_.bridge.prewarm = {in("root/a.cgi"), in("root/absent"), in("outside.cgi"),
                              in("root/plain")};
  const auto doubts = doubts_about(settings_);
  ASSERT_EQ(doubts.size(), 3u);
  EXPECT_EQ(doubts[0], "bridge.prewarm[2]: " + in("root/absent") +
                           ": No such file or directory: it is not made warm at the start");
  EXPECT_TRUE(doubts[1].starts_with("bridge.prewarm[3]: ")) << doubts[1];
  EXPECT_TRUE(doubts[2].starts_with("bridge.prewarm[4]: ")) << doubts[2];
}

TEST_F(Doubts, doubts_a_bound_program_that_would_not_run) {
  const config::ListenAddress good{.path = "/run/a", .host = {}}, bad{.path = "/run/b", .host = {}};
  settings_.bridge.bound = {{good, in("root/a.cgi")}, {bad, in("root/absent")}};
  EXPECT_EQ(doubts_about(settings_),
            std::vector<std::string>{
                "bridge.bound.\"unix:/run/b\": " + in("root/absent") +
                ": No such file or directory: all requests there are answered with an error"});
}

}  // namespace
}  // namespace cli
