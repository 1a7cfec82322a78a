#include "router/resolver.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

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
  router::Resolver resolver_{{temp_.folder("cgi")}, {}, 3};
};

TEST_F(Resolver, finds_a_program) {
  const std::string script = temp_.file("cgi/s.cgi", 0755, "12345");
  for (int round = 0; round < 2; ++round) {  // looked up, then remembered
    const auto found = resolver_.resolve(script);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found.value().program, script);
    EXPECT_EQ(found.value().script, script);
    EXPECT_EQ(found.value().path_info, "");
    EXPECT_EQ(found.value().identity.bytes, 5);
    EXPECT_EQ(found.value().identity.mode & 07777, 0755u);
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

TEST_F(Resolver, follows_links_within_the_roots) {
  temp_.file("cgi/real.cgi");
  const auto found = resolver_.resolve(temp_.link("cgi/link.cgi", "real.cgi") + "/p");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value().program, temp_.at("cgi/real.cgi"));
  EXPECT_EQ(found.value().script, temp_.at("cgi/link.cgi"));
}

TEST_F(Resolver, follows_a_link_from_outside_into_the_roots) {
  temp_.file("cgi/s.cgi");
  const auto found = resolver_.resolve(temp_.link("docroot", temp_.at("cgi")) + "/s.cgi");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value().program, temp_.at("cgi/s.cgi"));
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
  EXPECT_NE(before.value().identity, after.value().identity);
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
  EXPECT_EQ(resolver_.resolve(current + "/s.cgi").value().program, temp_.at("cgi/v1/s.cgi"));
  std::filesystem::remove(current);
  temp_.link("cgi/current", "v2");
  EXPECT_EQ(resolver_.resolve(current + "/s.cgi").value().program, temp_.at("cgi/v2/s.cgi"));
  std::filesystem::remove(current);
  temp_.link("cgi/current", temp_.at("out"));
  expect_refused(current + "/s.cgi", 403, "outside the roots");
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
