#include <gtest/gtest.h>

#include <cerrno>

#include "some_observations.h"

namespace doctor {
namespace {

std::string text_of(const Findings& findings, Area area, Mark mark) {
  std::string text;
  for (const Finding& finding : findings) {
    if (finding.area != area || finding.mark != mark) continue;
    text += finding.what + " -> " + finding.to_do + "\n";
  }
  return text;
}

// What is said in that area with that mark, joined.
std::string said(const Observations& seen, Area area, Mark mark) {
  return text_of(diagnose(seen), area, mark);
}

#define EXPECT_SAYS(text, words) EXPECT_NE((text).find(words), std::string::npos) << (text)

TEST(Diagnose, finds_nothing_where_all_is_well) {
  const Findings findings = diagnose(all_is_well());
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.mark, Mark::ok) << finding.what;
    EXPECT_EQ(finding.to_do, "") << finding.what;
  }
  EXPECT_EQ(exit_code(findings), 0);
  EXPECT_LE(findings.size(), 10u);
}

TEST(Diagnose, says_something_of_nothing_at_all) {
  const Findings findings = diagnose({});
  EXPECT_FALSE(findings.empty());
  EXPECT_NE(findings_json(findings).dump(), "");
}

TEST(ExitCode, is_about_what_is_wrong_alone) {
  EXPECT_EQ(exit_code({{Area::kernel, Mark::note, "x"}}), 0);
  EXPECT_EQ(exit_code({{Area::kernel, Mark::note, "x"}, {Area::roots, Mark::wrong, "y"}}), 1);
}

TEST(Kernel, says_why_scan_is_not_possible) {
  Observations seen = all_is_well();
  seen.kernel.scan = {.works = false, .step = "userfaultfd", .error = EPERM};
  EXPECT_SAYS(said(seen, Area::kernel, Mark::note), "userfaultfd: Operation not permitted");
  EXPECT_SAYS(said(seen, Area::kernel, Mark::note), "a seccomp filter forbids it");
  seen.kernel.scan.error = ENOSYS;
  EXPECT_SAYS(said(seen, Area::kernel, Mark::note), "Linux 6.7");
  seen.kernel.soft_dirty = {.works = false, .step = "clear_refs"};
  EXPECT_SAYS(said(seen, Area::kernel, Mark::note), "compare every page");
}

TEST(Kernel, says_that_a_wish_cannot_be_met) {
  Observations seen = all_is_well();
  seen.needs.tracking = "soft-dirty";
  EXPECT_EQ(said(seen, Area::kernel, Mark::note), "");
  seen.kernel.soft_dirty = {.works = false, .step = "clear_refs"};
  EXPECT_SAYS(said(seen, Area::kernel, Mark::note), "rewind.tracking = \"soft-dirty\"");
}

TEST(Kernel, notices_a_bridge_that_may_less_than_this_process) {
  Observations seen = all_is_well();
  seen.bridge.status["programs"].push_back(some_program("/srv/b.cgi"));
  EXPECT_EQ(said(seen, Area::kernel, Mark::note), "");
  for (auto& program : seen.bridge.status["programs"]) program["rewind"]["tracking"] = "compare";
  EXPECT_SAYS(said(seen, Area::kernel, Mark::note), "no worker of the running bridge uses it");
}

TEST(Kernel, names_what_else_is_missing) {
  Observations seen = all_is_well();
  seen.kernel.dispatch = {.works = false, .step = "prctl", .error = EINVAL};
  seen.kernel.ptrace = {.works = false, .step = "ptrace", .error = EPERM};
  seen.kernel.seccomp = {.works = false, .step = "seccomp", .error = EINVAL};
  seen.kernel.landlock = 0;
  seen.kernel.hides_processes = true;
  const std::string notes = said(seen, Area::kernel, Mark::note);
  for (const auto* words :
       {"Go executables run classic", "slow log", "sandbox.syscalls", "no Landlock", "hidepid"}) {
    EXPECT_SAYS(notes, words);
  }
}

TEST(Rights, are_compared_with_what_the_settings_ask) {
  Observations seen = all_is_well();
  seen.rights.changes_users = false;
  EXPECT_SAYS(said(seen, Area::kernel, Mark::wrong), "cannot become another user");
  seen = all_is_well();
  seen.needs.user = false;
  EXPECT_SAYS(said(seen, Area::kernel, Mark::note), "Programs run as root");
  seen.rights.missing_parts = {"/a/x.so"};
  EXPECT_SAYS(said(seen, Area::kernel, Mark::wrong), "/a/x.so");
  seen.rights.descriptors_suffice = false;
  EXPECT_SAYS(said(seen, Area::kernel, Mark::note), "RLIMIT_NOFILE");
  seen.rights.sandboxes = {{false, "defaults.sandbox: cannot hold"}};
  EXPECT_SAYS(said(seen, Area::kernel, Mark::wrong), "defaults.sandbox: cannot hold");
}

TEST(Cgroups, matter_only_if_a_limit_needs_them) {
  Observations seen = all_is_well();
  seen.rights.why_no_cgroups = "no cgroups are mounted";
  EXPECT_SAYS(said(seen, Area::kernel, Mark::ok), "there could be none: no cgroups are mounted");
  seen.needs.limits = true;
  EXPECT_SAYS(said(seen, Area::kernel, Mark::wrong), "limits that cannot hold here");
  seen.rights.why_no_cgroups.clear();
  EXPECT_EQ(said(seen, Area::kernel, Mark::wrong), "");
  seen.bridge.status["bridge"]["cgroups"] = {{"not_held", {"limits.cpu: no cpu"}}};
  EXPECT_SAYS(said(seen, Area::kernel, Mark::wrong), "limits.cpu: no cpu");
}

TEST(Bridge, that_does_not_run_is_wrong) {
  Observations seen = all_is_well();
  seen.bridge.status = {};
  seen.bridge.unreached = "cannot reach it: Connection refused";
  EXPECT_SAYS(said(seen, Area::bridge, Mark::wrong), "No bridge runs: cannot reach it");
  seen.bridge.may_be_running = true;
  EXPECT_EQ(said(seen, Area::bridge, Mark::wrong), "");
  EXPECT_SAYS(said(seen, Area::bridge, Mark::note), "could not be asked");
}

TEST(Bridge, that_is_not_as_it_should_be_says_so) {
  Observations seen = all_is_well();
  auto& status = seen.bridge.status["bridge"];
  status["version"] = "2";
  status["not_ready"] = "a.cgi is not warm";
  status["settings"] = {{"file", "/other.toml"},
                        {"refused", {"bridge.listen: wrong"}},
                        {"waiting_for_restart", {"bridge.control"}}};
  const std::string notes = said(seen, Area::bridge, Mark::note);
  for (const auto* words : {"It is version 2, and this binary is 1", "not ready: a.cgi",
                            "/other.toml", "bridge.control"}) {
    EXPECT_SAYS(notes, words);
  }
  EXPECT_SAYS(said(seen, Area::bridge, Mark::wrong), "bridge.listen: wrong");
  status["draining"] = true;
  EXPECT_SAYS(said(seen, Area::bridge, Mark::wrong), "draining");
}

TEST(Socket, that_nobody_serves_is_wrong) {
  Observations seen = all_is_well();
  seen.listening[0].accepted = false;
  EXPECT_SAYS(said(seen, Area::socket, Mark::wrong), "nobody accepts");
  seen.listening[0].exists = false;
  EXPECT_SAYS(said(seen, Area::socket, Mark::wrong), "does not exist");
}

TEST(Socket, names_what_hinders_the_web_server) {
  Observations seen = all_is_well();
  seen.listening[0].openings[0].path.last.mode = S_IFSOCK | 0660;
  std::string wrong = said(seen, Area::socket, Mark::wrong);
  EXPECT_SAYS(wrong,
              "nginx (pid 80, www-data) cannot open it: www-data may not connect to /run/s "
              "(srw-rw---- 0:0)");
  EXPECT_SAYS(wrong, "socket_group = a group of www-data");
  seen.listening[0].openings[0].path.folders[1].mode = S_IFDIR | 0700;
  wrong = said(seen, Area::socket, Mark::wrong);
  EXPECT_SAYS(wrong, "may not enter /run");
  EXPECT_SAYS(wrong, "chmod o+x /run");
}

TEST(Socket, believes_a_trial_more_than_the_permissions) {
  Observations seen = all_is_well();
  seen.listening[0].openings[0].connected =
      Trial{.works = false, .step = "connect", .error = EACCES};
  EXPECT_SAYS(said(seen, Area::socket, Mark::wrong), "connect: Permission denied");
}

TEST(Socket, notices_another_file_system) {
  Observations seen = all_is_well();
  seen.listening[0].openings[0].sees_another = true;
  EXPECT_SAYS(said(seen, Area::socket, Mark::wrong), "PrivateTmp");
}

TEST(Socket, of_two_web_servers_one_may_be_meant_for_something_else) {
  Observations seen = all_is_well();
  seen.servers.push_back({"Caddy", 90, {"caddy", 99, 99}});
  seen.listening[0].openings.push_back(seen.listening[0].openings[0]);
  seen.listening[0].openings[1].server = 1;
  seen.listening[0].openings[1].path.last.mode = S_IFSOCK | 0600;
  EXPECT_EQ(said(seen, Area::socket, Mark::wrong), "");
  EXPECT_SAYS(said(seen, Area::socket, Mark::note), "Caddy (pid 90, caddy) cannot open it");
  seen.listening[0].openings[0].path.last.mode = S_IFSOCK | 0600;
  EXPECT_SAYS(said(seen, Area::socket, Mark::wrong), "nginx (pid 80, www-data) cannot open it");
}

TEST(Socket, does_not_call_good_what_it_cannot_see) {
  Observations seen = all_is_well();
  seen.listening[0].openings[0].path.unseen = "/run/x: Permission denied";
  seen.listening[0].openings[0].connected.reset();
  EXPECT_EQ(said(seen, Area::socket, Mark::ok), "");
  EXPECT_SAYS(said(seen, Area::socket, Mark::note), "only a part of the path");
}

TEST(Socket, says_that_there_is_no_web_server) {
  Observations seen = all_is_well();
  seen.servers.clear();
  seen.listening[0].openings.clear();
  EXPECT_SAYS(said(seen, Area::socket, Mark::note), "No web server was found");
  seen.in_containers = true;
  EXPECT_SAYS(said(seen, Area::socket, Mark::note), "in containers");
}

TEST(Roots, name_what_hinders_their_programs) {
  Observations seen = all_is_well();
  seen.roots[0].rights.last.mode = S_IFDIR | 0700;
  EXPECT_SAYS(said(seen, Area::roots, Mark::wrong), "www-data may not enter /srv");
  seen = all_is_well();
  seen.roots[0].files[0].rights.mode = S_IFREG | 0700;
  EXPECT_SAYS(said(seen, Area::roots, Mark::wrong), "/srv/a.cgi (-rwx------ 0:0) by www-data");
  seen.roots[0].files[0].rights.mode = S_IFREG | 0644;
  seen.roots[0].files[0].looks_like_one = true;
  EXPECT_SAYS(said(seen, Area::roots, Mark::note), "Not executable");
  seen.roots[0].is_noexec = true;
  EXPECT_SAYS(said(seen, Area::roots, Mark::wrong), "noexec");
  seen.roots[0].problem = "root /srv: No such file or directory; left out";
  EXPECT_SAYS(said(seen, Area::roots, Mark::wrong), "left out");
}

TEST(Roots, that_the_bridge_may_not_enter_are_wrong) {
  Observations seen = all_is_well();
  seen.rights.who = {"cgibridge", 50, 50};
  seen.users.clear();
  seen.roots[0].rights.last.mode = S_IFDIR | 0750;
  EXPECT_SAYS(said(seen, Area::roots, Mark::wrong), "cgibridge may not enter /srv");
}

TEST(Roots, that_cannot_be_seen_are_not_called_good) {
  Observations seen = all_is_well();
  seen.roots[0].rights.unseen = "/srv: Permission denied";
  seen.roots[0].files.clear();
  EXPECT_EQ(said(seen, Area::roots, Mark::ok), "");
  EXPECT_SAYS(said(seen, Area::roots, Mark::note), "cannot be seen");
}

TEST(Programs, are_sorted_by_what_they_cost) {
  Observations seen = all_is_well();
  auto& programs = seen.bridge.status["programs"];
  for (const int cold : {5, 80, 30}) {
    auto program = some_program("/srv/" + std::to_string(cold));
    program["level"] = "none";
    program["level_reason"] = "it is static";
    program["warm"]["requests"] = 100 - cold;
    programs.push_back(program);
  }
  const std::string notes = said(seen, Area::programs, Mark::note);
  EXPECT_SAYS(notes,
              "/srv/80 is not warm (80 of 100 request(s), about 8 s lost): not deeper: it is");
  EXPECT_SAYS(notes, "cgibridge check /srv/80");
  EXPECT_LT(notes.find("/srv/80"), notes.find("/srv/30"));
  EXPECT_LT(notes.find("/srv/30"), notes.find("/srv/5 "));
  EXPECT_EQ(notes.find("/srv/a.cgi"), notes.npos);
}

TEST(Programs, beyond_five_are_only_counted) {
  Observations seen = all_is_well();
  for (int i = 0; i < 9; ++i) {
    auto program = some_program("/srv/" + std::to_string(i));
    program["level"] = "none";
    program["failed_steps"] = {"link"};
    seen.bridge.status["programs"].push_back(program);
  }
  EXPECT_SAYS(said(seen, Area::programs, Mark::note), "4 more program(s) are not warm");
}

TEST(Programs, tell_choice_demotion_and_share_apart) {
  Observations seen = all_is_well();
  auto& program = seen.bridge.status["programs"][0];
  program["warm"]["requests"] = 50;
  EXPECT_SAYS(said(seen, Area::programs, Mark::note), "many of its requests are not (50 of 100");
  program["reset_reason"] = "a worker differed";
  EXPECT_SAYS(said(seen, Area::programs, Mark::note), "not as its settings say");
  EXPECT_SAYS(said(seen, Area::programs, Mark::note), "not reset = rewind: a worker differed");
  program["sides"]["effective"] = "classic";
  EXPECT_SAYS(said(seen, Area::programs, Mark::note), "runs classic, because its mode");
}

TEST(Programs, that_are_about_to_be_warm_are_left_alone) {
  Observations seen = all_is_well();
  auto& program = seen.bridge.status["programs"][0];
  program["level"] = "warming";
  program["warm"] = {{"requests", 0}, {"of", 40}, {"told", ""}};
  EXPECT_EQ(said(seen, Area::programs, Mark::note), "");
}

TEST(Programs, that_nobody_asked_for_lately_are_left_alone) {
  Observations seen = all_is_well();
  seen.bridge.status["programs"][0]["level"] = "none";
  EXPECT_EQ(said(seen, Area::programs, Mark::note), "");
}

TEST(Programs, of_another_version_are_not_judged) {
  Observations seen = all_is_well();
  seen.bridge.status["programs"][0].erase("warm");
  EXPECT_SAYS(said(seen, Area::programs, Mark::note), "another version");
}

}  // namespace
}  // namespace doctor
