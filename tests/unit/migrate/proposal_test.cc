#include "migrate/proposal.h"

#include <gtest/gtest.h>

#include "config/load.h"
#include "migrate/places.h"
#include "some_files.h"

namespace migrate {
namespace {

// A site behind fcgiwrap, and what was found in its folders.
Findings some_findings() {
  SomeFiles files(
      {{"/n.conf",
        "user www-data;\nhttp {\n  server {\n"
        "    location /cgi-bin/ { root /usr/lib; include wrap; }\n"
        "    location /other/ { root /srv; include wrap; }\n"
        "  }\n}\n"},
       {"/wrap", "fastcgi_param PERL5LIB /opt/lib;\nfastcgi_pass unix:/run/fcgiwrap;\n"}});
  Findings findings;
  findings.nginx = read_nginx("/n.conf", files);
  findings.places = nginx_places(*findings.nginx, {});
  findings.files = {{.roots = {"/usr/lib/cgi-bin"}}, {.roots = {"/srv/other \"x\""}}};
  findings.programs = {
      {.path = "/usr/lib/cgi-bin/a", .real = "/usr/lib/cgi-bin/a", .places = {0}},
      {.path = "/usr/lib/cgi-bin/mapserv", .real = "/usr/bin/mapserv", .places = {0}}};
  return findings;
}

config::Settings settings_of(const Proposal& proposal) {
  auto loaded = config::parse(proposal.settings, "proposed");
  EXPECT_TRUE(loaded) << config::to_string(loaded.problems().front()) << proposal.settings;
  return loaded.settings();
}

TEST(Propose, names_the_roots_and_what_links_lead_to) {
  const Proposal proposal = propose(some_findings(), "/s");
  const config::Settings settings = settings_of(proposal);
  EXPECT_EQ(settings.bridge.roots,
            (std::vector<std::string>{"/srv/other \"x\"", "/usr/lib/cgi-bin", "/usr/bin/mapserv"}));
  EXPECT_EQ(settings.bridge.socket_group, "www-data");
  EXPECT_EQ(settings.defaults.user, "www-data");
  EXPECT_EQ(settings.defaults.pass_params, std::vector<std::string>{"PERL5LIB"});
  EXPECT_TRUE(settings.programs.empty());
}

TEST(Propose, makes_settings_that_can_be_read_whatever_files_are_called) {
  Findings findings = some_findings();
  findings.files[1].roots = {"/srv/caf\xe9"};
  findings.places[1].user = "shop";
  const Proposal proposal = propose(findings, "/s");
  const config::Settings settings = settings_of(proposal);
  EXPECT_EQ(settings.bridge.roots,
            (std::vector<std::string>{"/usr/lib/cgi-bin", "/usr/bin/mapserv"}));
  ASSERT_EQ(settings.programs.size(), 1U);
  EXPECT_EQ(settings.programs[0].match, "/srv/caf?/*");
  ASSERT_FALSE(proposal.remarks.empty());
  EXPECT_TRUE(proposal.remarks.back().starts_with("/srv/caf")) << proposal.remarks.back();
}

TEST(Propose, changes_a_file_that_is_included_twice_once) {
  const Proposal proposal = propose(some_findings(), "/s");
  ASSERT_EQ(proposal.changes.size(), 1U);
  EXPECT_EQ(proposal.changes[0].path, "/wrap");
  EXPECT_EQ(proposal.changes[0].after,
            "fastcgi_param PERL5LIB /opt/lib;\nfastcgi_pass unix:/run/cgibridge/fastcgi.sock;\n");
}

TEST(Propose, has_sections_for_programs_that_are_not_as_usual) {
  Findings findings = some_findings();
  findings.places[0].user = "shop:staff";
  findings.programs[0].checked = {.safety = "classic only",
                                  .arm = "classic",
                                  .level = "",
                                  .speed_up = 1,
                                  .sentence = "",
                                  .stanza =
                                      "[[program]]\nmatch = \"/usr/lib/cgi-bin/a\"\n"
                                      "mode = \"classic\"\n"};
  findings.programs[1].checked = {.safety = "safe",
                                  .arm = "rewind",
                                  .level = "linked",
                                  .speed_up = 2,
                                  .sentence = "",
                                  .stanza = "[[program]]\nmatch = \"x\"\n"};
  const config::Settings settings = settings_of(propose(findings, "/s"));
  ASSERT_EQ(settings.programs.size(), 2U);
  const auto& alone = settings.for_program("/usr/lib/cgi-bin/a");
  EXPECT_EQ(alone.mode, config::Mode::classic);
  EXPECT_EQ(alone.user, "shop:staff");
  const auto& others = settings.for_program("/usr/lib/cgi-bin/b");
  EXPECT_EQ(others.user, "shop:staff");
  EXPECT_EQ(others.mode, config::Mode::persistent);
  EXPECT_EQ(settings.for_program("/srv/other \"x\"/b").user, "www-data");
}

TEST(Propose, is_nothing_where_nothing_is_to_be_changed) {
  Findings findings = some_findings();
  for (Place& place : findings.places) {
    place.left_alone = "for a reason";
    place.edits.clear();
  }
  const Proposal proposal = propose(findings, "/s");
  EXPECT_EQ(proposal.settings, "");
  EXPECT_TRUE(proposal.changes.empty());
}

TEST(ShownAfter, is_the_part_of_the_file_as_it_will_be) {
  SomeFiles files(Texts{{"/n",
                         "http {\n server {\n  location /cgi-bin/ {\n   root /x;\n"
                         "   fastcgi_pass unix:/run/fcgiwrap;\n  }\n }\n}\n"}});
  Findings findings;
  findings.nginx = read_nginx("/n", files);
  findings.places = nginx_places(*findings.nginx, {.socket = "/s"});
  ASSERT_EQ(findings.places.size(), 1U);
  EXPECT_EQ(shown_after(findings, findings.places[0]),
            "  location /cgi-bin/ {\n   root /x;\n   fastcgi_pass unix:/s;\n  }\n");
}

}  // namespace
}  // namespace migrate
