#include "router/resolver.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "fakes/hand_clock.h"
#include "unit/router/temp_folder.h"

namespace {

using namespace std::literals;

class Resolver : public testing::Test {
 protected:
  void expect_refused(std::string_view path, int status, std::string_view reason) {
    const auto resolution = resolver_.resolve(path);
    ASSERT_FALSE(resolution.ok()) << path;
    EXPECT_EQ(resolution.refusal().status, status) << resolution.refusal().reason;
    EXPECT_NE(resolution.refusal().reason.find(reason), std::string::npos)
        << resolution.refusal().reason;
  }

  TempFolder temp_;
  router::Resolver resolver_{loop::system_clock(), {temp_.folder("cgi")}, {}, 3};
};

TEST_F(Resolver, finds_a_program) {
  const std::string script = temp_.file("cgi/s.cgi", 0755, "12345");
  for (int round = 0; round < 2; ++round) {  // looked up, then remembered
    const auto found = resolver_.resolve(script);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found.value().program, script);
    EXPECT_EQ(found.value().script, script);
    EXPECT_EQ(found.value().path_info, "");
    EXPECT_EQ(found.value().file.identity.bytes, 5);
    EXPECT_EQ(found.value().file.identity.mode & 07777, 0755u);
  }
}

TEST_F(Resolver, splits_path_info_off_at_the_first_file) {
  const std::string script = temp_.file("cgi/s.cgi");
  for (const std::string rest : {"/", "/a", "/a/b c", "//x", "/s.cgi", "/a?b", "/a//"}) {
    const auto found = resolver_.resolve(script + rest);
    ASSERT_TRUE(found.ok()) << rest;
    EXPECT_EQ(found.value().script, script);
    EXPECT_EQ(found.value().path_info, rest);
  }
}

TEST_F(Resolver, takes_repeated_slashes_before_the_script) {
  temp_.file("cgi/s.cgi");
  for (int round = 0; round < 2; ++round) {
    const auto found = resolver_.resolve(temp_.at("cgi//s.cgi/p"));
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found.value().program, temp_.at("cgi/s.cgi"));
    EXPECT_EQ(found.value().path_info, "/p");
  }
}

TEST_F(Resolver, takes_a_very_long_path_info) {
  const std::string script = temp_.file("cgi/s.cgi");
  const std::string rest = "/" + std::string(4000, 'x');
  const auto found = resolver_.resolve(script + rest);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value().path_info, rest);
}

TEST_F(Resolver, runs_a_linked_program_by_its_name) {
  const std::string real = temp_.file("cgi/real.cgi");
  temp_.link("cgi/second.cgi", real);
  for (int round = 0; round < 2; ++round) {  // looked up, then remembered
    const std::string link =
        round == 0 ? temp_.link("cgi/link.cgi", "second.cgi") : temp_.at("cgi/link.cgi");
    const auto found = resolver_.resolve(temp_.at("cgi//link.cgi/p"));
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found.value().program, link);
    EXPECT_EQ(found.value().file.path, real);
    ASSERT_EQ(found.value().file.links.size(), 2u);
    EXPECT_EQ(found.value().file.links[0].path, link);
    EXPECT_EQ(found.value().script, temp_.at("cgi//link.cgi"));
    EXPECT_EQ(found.value().path_info, "/p");
  }
}

TEST_F(Resolver, keeps_the_names_of_linked_folders) {
  const std::string real = temp_.file("cgi/s.cgi");
  temp_.link("cgi/site", ".");
  temp_.link("docroot", temp_.at("cgi"));
  for (const std::string name : {"cgi/site/s.cgi", "docroot/s.cgi", "docroot/site/s.cgi"}) {
    const auto found = resolver_.resolve(temp_.at(name));
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found.value().program, temp_.at(name));
    EXPECT_EQ(found.value().file.path, real);
  }
}

// Outside the roots, a user who can move a link would choose what an interpreter reads.
TEST_F(Resolver, takes_the_real_path_where_others_can_move_a_link) {
  const std::string real = temp_.file("cgi/s.cgi");
  temp_.folder("open");
  ASSERT_EQ(chmod(temp_.at("open").c_str(), 0777), 0);
  temp_.link("open/s.cgi", real);
  temp_.link("by_way", temp_.at("open"));
  for (const std::string name : {"open/s.cgi", "by_way/s.cgi"}) {
    const auto found = resolver_.resolve(temp_.at(name));
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found.value().program, real);
    EXPECT_TRUE(found.value().file.links.empty());
  }
}

TEST_F(Resolver, takes_the_real_path_while_a_link_does_not_rest) {
  const std::string real = temp_.file("cgi/s.cgi");
  const std::string link = temp_.link("cgi/link", real);
  std::jthread swapper([&](std::stop_token stop) {
    for (int i = 0; !stop.stop_requested(); ++i) {
      const std::string next = temp_.at("cgi/next");
      std::filesystem::create_symlink(i % 2 == 0 ? "s.cgi" : real, next);
      std::filesystem::rename(next, link);
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (int i = 0; i < 100; ++i) {
    const auto found = resolver_.resolve(link);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found.value().program, real);
  }
}

// Each time it is stable long enough for the check, but it has been moved again and again.
TEST_F(Resolver, takes_the_real_path_of_a_link_that_was_moved_eight_times_within_a_minute) {
  fakes::HandClock clock;
  router::Resolver resolver(clock, {temp_.at("cgi")}, {}, 3);
  const std::string real = temp_.file("cgi/s.cgi");
  const std::string link = temp_.link("cgi/link", real);
  const auto program_after_a_move = [&](base::Duration pause) {
    std::filesystem::remove(link);
    temp_.link("cgi/link", real);
    clock.advance(std::chrono::duration_cast<std::chrono::nanoseconds>(pause));
    return resolver.resolve(link).value().program;
  };
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(resolver.resolve(link).value().program, link);
  for (int moves = 1; moves < 8; ++moves) {
    EXPECT_EQ(program_after_a_move(std::chrono::seconds(5)), link);
  }
  EXPECT_EQ(program_after_a_move(std::chrono::seconds(5)), real);
  EXPECT_EQ(program_after_a_move(std::chrono::seconds(61)), link);
  for (int deploys = 0; deploys < 20; ++deploys) {
    EXPECT_EQ(program_after_a_move(std::chrono::seconds(11)), link);
  }
}

TEST_F(Resolver, follows_roots_own_links_out_of_the_roots_if_told_so) {
  const std::string out = temp_.file("out");
  temp_.link("cgi/out", out);
  router::Resolver told(loop::system_clock(), {temp_.at("cgi")}, {}, 3,
                        router::RootLinks::may_leave);
  if (geteuid() != 0) {
    EXPECT_FALSE(told.resolve(temp_.at("cgi/out")).ok());
    return;
  }
  EXPECT_EQ(told.resolve(temp_.at("cgi/out")).value().program, temp_.at("cgi/out"));
  expect_refused(temp_.at("cgi/out"), 403, "outside the roots");
  EXPECT_FALSE(told.resolve(out).ok());  // no link in a root names it
  temp_.link("cgi/theirs", out);
  ASSERT_EQ(lchown(temp_.at("cgi/theirs").c_str(), 1000, 1000), 0);
  const auto refused = told.resolve(temp_.at("cgi/theirs"));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.refusal().reason.find("others than root can change"), std::string::npos);
  temp_.folder("cgi/open");
  ASSERT_EQ(chmod(temp_.at("cgi/open").c_str(), 0777), 0);
  temp_.link("cgi/open/out", out);
  EXPECT_FALSE(told.resolve(temp_.at("cgi/open/out")).ok());
}

TEST_F(Resolver, follows_links_to_a_root_that_is_a_file) {
  const std::string out = temp_.file("out");
  router::Resolver resolver(loop::system_clock(), {temp_.at("cgi"), out});
  const auto found = resolver.resolve(temp_.link("cgi/link", out));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value().program, temp_.at("cgi/link"));
  EXPECT_EQ(found.value().file.path, out);
}

TEST_F(Resolver, refuses_what_is_outside_the_roots) {
  expect_refused(temp_.file("s.cgi"), 403, "outside the roots");
  temp_.folder("cgi-other");
  expect_refused(temp_.file("cgi-other/s.cgi"), 403, "outside the roots");
  expect_refused(temp_.link("cgi/out.cgi", temp_.at("s.cgi")), 403, "outside the roots");
  temp_.link("cgi/away", temp_.at("cgi-other"));
  expect_refused(temp_.at("cgi/away/s.cgi"), 403, "outside the roots");
}

TEST_F(Resolver, refuses_dots_wherever_they_stand) {
  temp_.file("cgi/s.cgi");
  for (const std::string path :
       {"cgi/../cgi/s.cgi", "cgi/./s.cgi", "cgi/s.cgi/..", "cgi/s.cgi/../x"}) {
    expect_refused(temp_.at(path), 403, "..");
  }
  EXPECT_TRUE(resolver_.resolve(temp_.at("cgi/s.cgi/...")).ok());
}

TEST_F(Resolver, refuses_what_is_no_program) {
  expect_refused(temp_.at("cgi"), 403, "is a folder");
  expect_refused(temp_.at("cgi/"), 403, "is a folder");
  expect_refused("/", 403, "is a folder");
  expect_refused(temp_.file("cgi/plain", 0644), 403, "not executable");
  ASSERT_EQ(mkfifo(temp_.at("cgi/fifo").c_str(), 0755), 0);
  expect_refused(temp_.at("cgi/fifo"), 403, "a FIFO");
  expect_refused(temp_.at("cgi/fifo/p"), 403, "a FIFO");
}

TEST_F(Resolver, asks_no_x_bit_of_webassembly) {
  const std::string module = temp_.file("cgi/m.wasm", 0644, "\0asm\x01\0\0\0"s);
  EXPECT_TRUE(resolver_.resolve(module + "/p").ok());
  expect_refused(temp_.file("cgi/short.wasm", 0644, "\0as"s), 403, "not executable");
  expect_refused(temp_.file("cgi/text.wasm", 0644, "(module)"), 403, "not executable");
  // What it becomes counts.
  temp_.file("cgi/m.wasm", 0644, "#!/bin/sh\n");
  expect_refused(module, 403, "not executable");
}

TEST_F(Resolver, refuses_what_is_not_there) {
  expect_refused(temp_.at("cgi/missing.cgi/p"), 404, "No such file");
  expect_refused(temp_.link("cgi/dangling", "nowhere"), 404, "No such file");
  temp_.link("cgi/loop", "loop");
  expect_refused(temp_.at("cgi/loop"), 403, "symbolic links");
  expect_refused("", 404, "absolute");
  expect_refused("s.cgi", 404, "absolute");
  expect_refused(temp_.at("cgi/s\0.cgi"s), 404, "NUL");
  expect_refused(temp_.at("cgi/" + std::string(300, 'x')), 404, "too long");
  expect_refused("/" + std::string(100'000, 'x'), 404, "too long");
}

TEST_F(Resolver, notices_a_changed_program) {
  const std::string script = temp_.file("cgi/s.cgi");
  const auto before = resolver_.resolve(script);
  temp_.file("cgi/s.cgi", 0755, "#!/bin/sh\necho more\n");
  const auto after = resolver_.resolve(script);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_NE(before.value().file, after.value().file);
}

TEST_F(Resolver, notices_a_program_that_was_forbidden_or_removed) {
  const std::string script = temp_.file("cgi/s.cgi");
  EXPECT_TRUE(resolver_.resolve(script).ok());
  chmod(script.c_str(), 0644);
  expect_refused(script, 403, "not executable");
  chmod(script.c_str(), 0755);
  EXPECT_TRUE(resolver_.resolve(script).ok());
  std::filesystem::remove(script);
  expect_refused(script, 404, "No such file");
  temp_.folder("cgi/s.cgi");
  expect_refused(script, 403, "is a folder");
  const std::string deeper = temp_.file("cgi/s.cgi/t.cgi");
  EXPECT_EQ(resolver_.resolve(deeper).value().script, deeper);
}

TEST_F(Resolver, notices_a_link_that_was_swapped) {
  temp_.folder("cgi/v1");
  temp_.folder("cgi/v2");
  temp_.folder("out");
  for (const char* name : {"cgi/v1/s.cgi", "cgi/v2/s.cgi", "out/s.cgi"}) temp_.file(name);
  const std::string current = temp_.link("cgi/current", "v1");
  EXPECT_EQ(resolver_.resolve(current + "/s.cgi").value().file.path, temp_.at("cgi/v1/s.cgi"));
  std::filesystem::remove(current);
  temp_.link("cgi/current", "v2");
  EXPECT_EQ(resolver_.resolve(current + "/s.cgi").value().file.path, temp_.at("cgi/v2/s.cgi"));
  std::filesystem::remove(current);
  temp_.link("cgi/current", temp_.at("out"));
  expect_refused(current + "/s.cgi", 403, "outside the roots");
}

// The file itself does not show it: a folder above it was moved, and hard links share a file.
TEST_F(Resolver, notices_that_the_same_file_is_somewhere_else) {
  temp_.folder("cgi/a/b");
  const std::string script = temp_.file("cgi/a/b/s.cgi");
  EXPECT_TRUE(resolver_.resolve(script).ok());
  std::filesystem::rename(temp_.at("cgi/a"), temp_.at("a"));
  temp_.link("cgi/a", temp_.at("a"));
  expect_refused(script, 403, "outside the roots");

  temp_.folder("cgi/v1");
  temp_.folder("cgi/v2");
  std::filesystem::create_hard_link(temp_.file("cgi/v1/t.cgi"), temp_.at("cgi/v2/t.cgi"));
  const std::string current = temp_.link("cgi/current", "v1");
  EXPECT_EQ(resolver_.resolve(current + "/t.cgi").value().file.path, temp_.at("cgi/v1/t.cgi"));
  std::filesystem::remove(current);
  temp_.link("cgi/current", "v2");
  EXPECT_EQ(resolver_.resolve(current + "/t.cgi").value().file.path, temp_.at("cgi/v2/t.cgi"));
}

// Between two checks it may have led elsewhere, and a zygote may have read what was there.
TEST_F(Resolver, tells_a_link_that_was_made_anew_from_the_one_before) {
  const std::string real = temp_.file("cgi/s.cgi");
  const std::string link = temp_.link("cgi/link", real);
  const auto before = resolver_.resolve(link);
  std::filesystem::remove(link);
  temp_.link("cgi/link", real);
  const auto after = resolver_.resolve(link);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(after.value().program, link);
  EXPECT_NE(before.value().file, after.value().file);
}

TEST_F(Resolver, goes_on_when_more_programs_are_used_than_it_remembers) {
  for (int round = 0; round < 3; ++round) {
    for (const std::string name : {"a", "bb", "ccc", "dddd", "a", "eeeee"}) {
      const std::string script = round == 0 ? temp_.file("cgi/" + name) : temp_.at("cgi/" + name);
      const auto found = resolver_.resolve(script + "/p/q");
      ASSERT_TRUE(found.ok());
      EXPECT_EQ(found.value().script, script);
    }
  }
}

}  // namespace
