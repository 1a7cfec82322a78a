#include "cli/report.h"

#include <gtest/gtest.h>

#include "unit/cli/some_findings.h"

namespace cli {
namespace {

using compare::Arm;

const Terminal kPlain{};

std::string page_of(const Findings& findings, const Terminal& terminal = kPlain) {
  return report_text(findings, judge(findings), terminal);
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

// The text as one line with single spaces, so that line breaks do not matter.
std::string unwrapped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank) out += c;
    if (blank && !out.ends_with(' ')) out += ' ';
  }
  return out;
}

TEST(ReportText, says_all_that_was_found) {
  Findings findings = good_findings();
  arm_of(findings, Arm::rewind).verified = 12;
  arm_of(findings, Arm::rewind).worker_kib = 2048;
  arm_of(findings, Arm::rewind).retired = {{"children", "1 child", 2}};
  findings.masks = {{"Date: ", "\n", "digits", 4}};
  const std::string page = unwrapped(page_of(findings));
  for (const char* part :
       {"/srv/cgi-bin/report.pl", "#!/usr/bin/perl -T", "compiled", "GET /: status 200", "no POST",
        "12 rewinds were compared", "children (1 child)", "2.0 MiB", "digits after \"Date: \"",
        "10.0 ms", "100 us", "100 x", "Safe with reset = \"rewind\"", "[[program]]"}) {
    EXPECT_TRUE(has(page, part)) << part << " is missing in\n" << page;
  }
}

TEST(ReportText, fits_a_terminal) {
  Findings findings = good_findings();
  findings.level_reason =
      "it reads REMOTE_ADDR while it is compiled, and that differs from one "
      "request to the next, so it cannot be kept";
  arm_of(findings, Arm::rewind).retired = {{"threads", "2 threads are alive after a request", 30}};
  findings.requests.push_back({AskedRequest{.query = "a=1&b=two", .body_file = {}}, 200, {}});
  for (ArmFindings& arm : findings.arms) arm.times.push_back(arm.times.front());
  for (const Charset charset : {Charset::ascii, Charset::unicode}) {
    const std::string page = page_of(findings, {charset, Colours::off, 80});
    for (std::size_t begin = 0; begin < page.size();) {
      const std::size_t end = page.find('\n', begin);
      EXPECT_LE(width_of(page.substr(begin, end - begin)), 80u) << page.substr(begin, end - begin);
      begin = end + 1;
    }
  }
}

TEST(ReportText, shows_the_first_difference) {
  Findings findings = good_findings();
  make_different(arm_of(findings, Arm::rewind), "body");
  const std::string page = page_of(findings);
  EXPECT_TRUE(has(page, "DIFFERENT in 3 of 15 answers")) << page;
  EXPECT_TRUE(has(page, "    -one\n    +two\n")) << page;
}

TEST(ReportText, cuts_a_long_diff) {
  Findings findings = good_findings();
  make_different(arm_of(findings, Arm::rewind), "body");
  for (int i = 0; i < 100; ++i) arm_of(findings, Arm::rewind).differences[0].diff += "+more\n";
  EXPECT_TRUE(has(page_of(findings), "--json has all of it"));
}

TEST(ReportText, says_what_none_would_keep) {
  Findings findings = good_findings();
  findings.arms.push_back(an_arm(Arm::none, Microseconds(90)));
  EXPECT_TRUE(has(page_of(findings), "which proves nothing"));
  make_different(arm_of(findings, Arm::none), "body");
  EXPECT_TRUE(has(page_of(findings), "KEEPS STATE")) << page_of(findings);
}

TEST(ReportText, of_an_unchecked_program_recommends_nothing) {
  Findings findings;
  findings.program = "/srv/broken";
  findings.problem = "it gives no proper answer";
  findings.last_words = "  syntax error at line 2\n";
  const std::string page = page_of(findings);
  EXPECT_TRUE(has(page, "Not checked: it gives no proper answer.")) << page;
  EXPECT_TRUE(has(page, "syntax error at line 2\n"));
  EXPECT_FALSE(has(page, "[[program]]"));
}

TEST(ReportText, has_colours_only_if_asked) {
  EXPECT_FALSE(has(page_of(good_findings()), "\x1b["));
  EXPECT_TRUE(has(page_of(good_findings(), {Charset::unicode, Colours::on, 80}), "\x1b[32m"));
}

TEST(ReportText, lets_nothing_that_was_found_steer_the_terminal) {
  Findings findings = good_findings();
  findings.program = "/srv/a\x1b]0;b\x07.pl";
  findings.first_line = "/usr/bin/perl\x9b";
  findings.level_reason = "a\x1b[2J";
  make_different(arm_of(findings, Arm::fork), "field \x1b[1m");
  const std::string page = page_of(findings);
  for (const char* control : {"\x1b", "\x07", "\x9b"}) EXPECT_FALSE(has(page, control)) << page;
}

TEST(ReportJson, holds_what_scripts_need) {
  Findings findings = good_findings();
  make_different(arm_of(findings, Arm::fork), "body");
  const auto json = report_json(findings, judge(findings));
  EXPECT_EQ(json["verdict"]["safety"], "safe");
  EXPECT_EQ(json["verdict"]["arm"], "rewind");
  EXPECT_EQ(json["verdict"]["exit_code"], 0);
  EXPECT_EQ(json["arms"]["rewind"]["times"][0]["median_us"], 100);
  EXPECT_EQ(json["arms"]["rewind"]["speed_up"], 100.0);
  EXPECT_EQ(json["arms"]["fork"]["differences"][0]["what"], "body");
  EXPECT_EQ(json["requests"][0]["request"], "GET /");
  EXPECT_EQ(json["stanza"], stanza(findings, judge(findings)));
}

}  // namespace
}  // namespace cli
