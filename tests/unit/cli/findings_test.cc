#include "cli/findings.h"

#include <fnmatch.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "unit/cli/some_findings.h"

namespace cli {
namespace {

using compare::Arm;

// The stanza, as a bridge would read it from its settings file.
config::ProgramSettings read_back(const std::string& stanza) {
  const auto loaded = config::parse("[bridge]\nroots = [\"/srv\"]\n" + stanza, "config.toml");
  EXPECT_TRUE(loaded) << stanza;
  if (!loaded) {
    for (const auto& problem : loaded.problems()) ADD_FAILURE() << config::to_string(problem);
    return {};
  }
  EXPECT_EQ(loaded.settings().programs.size(), 1u);
  return loaded.settings().programs.at(0);
}

TEST(Times, are_the_median_and_the_95th_of_100) {
  std::vector<Microseconds> samples;
  for (int i = 100; i > 0; --i) samples.emplace_back(i);
  const Times times = times_of(samples);
  EXPECT_EQ(times.runs, 100u);
  EXPECT_EQ(times.median.count(), 50);
  EXPECT_EQ(times.p95.count(), 96);
  EXPECT_EQ(times_of({Microseconds(1), Microseconds(3)}).median.count(), 2);
  EXPECT_EQ(times_of({Microseconds(7)}).p95.count(), 7);
  EXPECT_EQ(times_of({}).runs, 0u);
}

TEST(Verdict, is_rewind_for_a_program_that_bears_it) {
  const Verdict verdict = judge(good_findings());
  EXPECT_EQ(verdict.safety, Safety::safe);
  EXPECT_EQ(verdict.arm, Arm::rewind);
  EXPECT_DOUBLE_EQ(verdict.speed_up, 100);
  EXPECT_NE(verdict.sentence.find("100 times as fast"), std::string::npos) << verdict.sentence;
  EXPECT_EQ(exit_code(verdict.safety), 0);
}

TEST(Verdict, does_not_mind_what_none_would_leak) {
  Findings findings = good_findings();
  findings.arms.push_back(an_arm(Arm::none, Microseconds(90)));
  make_different(arm_of(findings, Arm::none), "body");
  EXPECT_EQ(judge(findings).arm, Arm::rewind);
}

TEST(Verdict, is_fork_where_rewind_differs) {
  Findings findings = good_findings();
  make_different(arm_of(findings, Arm::rewind), "body");
  const Verdict verdict = judge(findings);
  EXPECT_EQ(verdict.safety, Safety::safe);
  EXPECT_EQ(verdict.arm, Arm::fork);
  EXPECT_NE(verdict.sentence.find("3 of 15 answers differ"), std::string::npos) << verdict.sentence;
}

TEST(Verdict, is_fork_where_a_rewound_worker_differs_from_its_zygote) {
  Findings findings = good_findings();
  arm_of(findings, Arm::rewind).verify_differences = 1;
  EXPECT_EQ(judge(findings).arm, Arm::fork);
}

TEST(Verdict, is_fork_where_more_than_a_fifth_of_workers_cannot_be_put_back) {
  Findings findings = good_findings();
  arm_of(findings, Arm::rewind).retired = {{"threads", "2 threads", 8}};
  EXPECT_EQ(judge(findings).arm, Arm::rewind);
  arm_of(findings, Arm::rewind).retired = {{"threads", "2 threads", 9}};
  const Verdict verdict = judge(findings);
  EXPECT_EQ(verdict.arm, Arm::fork);
  EXPECT_NE(verdict.sentence.find("threads: 2 threads"), std::string::npos) << verdict.sentence;
}

TEST(Verdict, is_classic_where_both_differ) {
  Findings findings = good_findings();
  make_different(arm_of(findings, Arm::rewind), "body");
  make_different(arm_of(findings, Arm::fork), "status");
  const Verdict verdict = judge(findings);
  EXPECT_EQ(verdict.safety, Safety::classic_only);
  EXPECT_EQ(verdict.sentence.substr(0, 24), "Not safe beyond classic:");
  EXPECT_EQ(exit_code(verdict.safety), 1);
}

TEST(Verdict, is_classic_for_a_program_that_cannot_be_warm) {
  Findings findings = good_findings();
  findings.level = "none";
  for (const Arm arm : {Arm::fork, Arm::rewind}) {
    ArmFindings cold;
    cold.arm = arm;
    cold.unavailable = "a static executable";
    arm_of(findings, arm) = cold;
  }
  const Verdict verdict = judge(findings);
  EXPECT_EQ(verdict.safety, Safety::classic_only);
  EXPECT_EQ(verdict.sentence, "Only classic is possible: a static executable.");
}

TEST(Verdict, says_when_nothing_is_gained) {
  Findings findings = good_findings();
  arm_of(findings, Arm::rewind).times = {{20, Microseconds(9'800), Microseconds(9'900)}};
  const Verdict verdict = judge(findings);
  EXPECT_EQ(verdict.safety, Safety::safe);
  EXPECT_EQ(verdict.arm, Arm::classic);
  EXPECT_NE(verdict.sentence.find("not faster"), std::string::npos) << verdict.sentence;
}

TEST(Verdict, is_none_without_an_answer) {
  Findings findings;
  findings.problem = "no such file";
  const Verdict verdict = judge(findings);
  EXPECT_EQ(verdict.safety, Safety::unchecked);
  EXPECT_EQ(exit_code(verdict.safety), 2);
  EXPECT_NE(verdict.sentence.find("no such file"), std::string::npos);
}

TEST(ProcessId, is_found_as_a_number_of_its_own_or_beside_a_time) {
  EXPECT_TRUE(holds_pid("file /tmp/form.4711\n", 4711));
  EXPECT_TRUE(holds_pid("4711", 4711));
  EXPECT_TRUE(holds_pid("id=17954046614711;", 4711));
  EXPECT_TRUE(holds_pid("id=47111795404661", 4711));
  EXPECT_FALSE(holds_pid("14711 47110 147110", 4711));
  EXPECT_FALSE(holds_pid("x1795404661471112", 4711));
  EXPECT_FALSE(holds_pid("42", 42));
  EXPECT_FALSE(holds_pid("", 4711));
}

TEST(Verdict, says_why_names_of_time_and_process_id_repeat) {
  Findings findings = good_findings();
  arm_of(findings, Arm::rewind).names_pid = true;
  EXPECT_NE(judge(findings).sentence.find("names made of the time and the process id repeat"),
            std::string::npos);
  EXPECT_EQ(judge(findings).arm, Arm::rewind);
  arm_of(findings, Arm::rewind).names_pid = false;
  make_different(arm_of(findings, Arm::rewind), "a value that was used before");
  EXPECT_NE(judge(findings).sentence.find("names made of the time and the process id repeat"),
            std::string::npos);
  EXPECT_EQ(judge(findings).arm, Arm::fork);
  make_different(arm_of(findings, Arm::rewind), "body");
  EXPECT_EQ(judge(findings).sentence.find("names made of"), std::string::npos);
}

TEST(Stanza, sets_what_the_verdict_says) {
  Findings findings = good_findings();
  findings.learned = {"CGI", "JSON::PP"};
  findings.settings_env = {{"PERL5LIB", "/srv/\"lib\""}};
  const auto settings = read_back(stanza(findings, judge(findings)));
  EXPECT_EQ(settings.mode, config::Mode::persistent);
  EXPECT_EQ(settings.reset, config::Reset::rewind);
  EXPECT_EQ(settings.level, config::Level::compiled);
  EXPECT_EQ(settings.preload, findings.learned);
  EXPECT_EQ(settings.env.at("PERL5LIB"), "/srv/\"lib\"");
}

TEST(Stanza, breaks_a_long_list_of_modules) {
  Findings findings = good_findings();
  for (int i = 0; i < 60; ++i) findings.learned.push_back("some.module" + std::to_string(i));
  const std::string text = stanza(findings, judge(findings));
  EXPECT_EQ(read_back(text).preload, findings.learned);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 80u) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(Stanza, matches_the_program_and_no_other) {
  Findings findings = good_findings();
  findings.program = "/srv/a[b]*?\\\"\x01.pl";
  const auto settings = read_back(stanza(findings, judge(findings)));
  EXPECT_EQ(::fnmatch(settings.match.c_str(), findings.program.c_str(), 0), 0) << settings.match;
  EXPECT_NE(::fnmatch(settings.match.c_str(), "/srv/abxx\\\"\x01.pl", 0), 0);
}

TEST(Stanza, for_classic_says_only_that) {
  Findings findings = good_findings();
  const Verdict verdict{Safety::classic_only, Arm::classic, 1, {}};
  const auto settings = read_back(stanza(findings, verdict));
  EXPECT_EQ(settings.mode, config::Mode::classic);
  EXPECT_EQ(stanza(findings, verdict).find("reset"), std::string::npos);
}

}  // namespace
}  // namespace cli
