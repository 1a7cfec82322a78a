#include "cli/migrate_report.h"

#include <gtest/gtest.h>

#include "cli/migrate_check.h"

namespace cli {
namespace {

// One place of nginx's with two programs, the name of one of which steers terminals.
Migration some_migration() {
  Migration migration;
  migrate::Findings& findings = migration.findings;
  findings.nginx.emplace();
  findings.nginx->files = {{"/etc/nginx/nginx.conf", "a {\n  pass x;\n}\n"}, {"/etc/nginx/b", ""}};
  findings.nginx->problems = {{"/etc/nginx/bad", 7, "unexpected \"}\"; the file is left out"}};
  migrate::Place place;
  place.site = "example.org";
  place.where = "location /cgi-bin/";
  place.by = "unix:/run/fcgiwrap.socket";
  place.line = 2;
  place.shown_end = 15;
  place.edits = {{0, 6, 13, "pass y;"}};
  place.remark = "a param is sent twice";
  migrate::Place php = place;
  php.where = "location ~ \\.php$";
  php.edits.clear();
  php.left_alone = "PHP has processes of its own";
  findings.places = {place, php};
  findings.files = {{.roots = {"/usr/lib/cgi-bin"}}, {}};
  findings.programs = {{.path = "/usr/lib/cgi-bin/a", .real = "", .places = {0}},
                       {.path = "/usr/lib/cgi-bin/\x1b[2J", .real = "", .places = {0}}};
  findings.programs[0].checked = {.safety = "safe",
                                  .arm = "rewind",
                                  .level = "compiled",
                                  .speed_up = 41.6,
                                  .sentence = "",
                                  .stanza = ""};
  migration.proposal.settings = "[bridge]\nroots = [\"/usr/lib/cgi-bin\"]\n";
  migration.proposal.changes = {
      {"/etc/nginx/nginx.conf", "a {\n  pass x;\n}\n", "a {\n  pass y;\n}\n"}};
  migration.proposal.remarks = {"Then: nginx -t && nginx -s reload."};
  migration.settings_file = "/etc/cgibridge/config.toml";
  return migration;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

TEST(MigrationText, says_what_was_read_and_found_and_what_to_change) {
  const std::string text = migration_text(some_migration(), {.columns = 200});
  for (const char* part :
       {"nginx     /etc/nginx/nginx.conf and 1 that it includes\n",
        "not read  /etc/nginx/bad:7: unexpected \"}\"; the file is left out\n",
        "nginx: location /cgi-bin/ of example.org (/etc/nginx/nginx.conf:2), run by unix:/run/",
        "    /usr/lib/cgi-bin/a                 rewind, compiled: 42 times as fast, same bytes\n",
        "    1 of them not tried; --programs N tries more\n", "(a param is sent twice)\n",
        "location ~ \\.php$ of example.org (/etc/nginx/nginx.conf:2): PHP has processes of its "
        "own\n",
        "Settings, for /etc/cgibridge/config.toml\n  [bridge]\n  roots = ",
        "In /etc/nginx/nginx.conf, from line 1 on\n  a {\n    pass y;\n  }\n",
        "Then: nginx -t && nginx -s reload.\n", "Nothing was changed."}) {
    EXPECT_TRUE(has(text, part)) << part << "\n---\n" << text;
  }
}

TEST(MigrationText, lets_no_name_steer_the_terminal) {
  Migration migration = some_migration();
  migration.findings.nginx->files[0].text = "a \x1b\n  pass x;\n}\n";
  const std::string text = migration_text(migration, {});
  EXPECT_FALSE(has(text, "\x1b"));
  EXPECT_TRUE(has(text, "\\x1b[2J"));
}

TEST(MigrationText, says_that_there_is_nothing_to_change) {
  Migration migration = some_migration();
  migration.findings.places.clear();
  migration.proposal = {};
  EXPECT_TRUE(has(migration_text(migration, {}), "There is nothing to change.\n"));
}

TEST(MigrationDiff, is_for_patch) {
  EXPECT_EQ(migration_diff(some_migration(), PatchBytes::unchanged),
            "# cgibridge migrate: to be applied with `patch -p1 -d /`; nothing was changed.\n"
            "# Then: nginx -t && nginx -s reload.\n"
            "--- /dev/null\n+++ b/etc/cgibridge/config.toml\n@@ -0,0 +1,2 @@\n"
            "+[bridge]\n+roots = [\"/usr/lib/cgi-bin\"]\n"
            "--- a/etc/nginx/nginx.conf\n+++ b/etc/nginx/nginx.conf\n@@ -1,3 +1,3 @@\n a {\n"
            "-  pass x;\n+  pass y;\n }\n");
}

TEST(MigrationDiff, has_settings_as_words_if_there_are_some_already) {
  Migration migration = some_migration();
  migration.settings = Migration::Settings::exist;
  const std::string text = migration_diff(migration, PatchBytes::unchanged);
  EXPECT_TRUE(has(text, "# roots = [\"/usr/lib/cgi-bin\"]\n")) << text;
  EXPECT_FALSE(has(text, "/dev/null"));
}

TEST(MigrationDiff, has_no_patch_for_a_name_that_patch_cannot_read) {
  Migration migration = some_migration();
  migration.proposal.changes[0].path = "/etc/my sites";
  EXPECT_TRUE(has(migration_diff(migration, PatchBytes::unchanged),
                  "# There is no patch for /etc/my sites: there are blanks"));
}

TEST(MigrationDiff, changes_bytes_only_for_a_terminal) {
  Migration migration = some_migration();
  migration.proposal.changes[0].after = "a {\n\tpass \x1b;\n}\n";
  EXPECT_TRUE(has(migration_diff(migration, PatchBytes::unchanged), "+\tpass \x1b;\n"));
  EXPECT_TRUE(has(migration_diff(migration, PatchBytes::visible), "+\tpass \\x1b;\n"));
}

TEST(MigrationJson, has_everything) {
  const nlohmann::json json = migration_json(some_migration());
  EXPECT_EQ(json["servers"][0]["files"].size(), 2U);
  EXPECT_EQ(json["problems"][0]["line"], 7);
  EXPECT_EQ(json["places"][1]["left_alone"], "PHP has processes of its own");
  EXPECT_EQ(json["programs"][0]["check"]["arm"], "rewind");
  EXPECT_TRUE(json["programs"][1]["check"].is_null());
  EXPECT_EQ(json["changes"][0]["file"], "/etc/nginx/nginx.conf");
  EXPECT_EQ(json["settings_file"], "/etc/cgibridge/config.toml");
}

TEST(ParseChecked, is_what_check_reports) {
  const migrate::Checked checked = parse_checked(
      R"({"level": "linked", "stanza": "[[program]]\n", "verdict": {"safety": "safe",
          "arm": "fork", "speed_up": 3.5, "sentence": "Safe.", "exit_code": 0}})");
  EXPECT_EQ(checked.safety, "safe");
  EXPECT_EQ(checked.arm, "fork");
  EXPECT_EQ(checked.level, "linked");
  EXPECT_EQ(checked.speed_up, 3.5);
  EXPECT_EQ(checked.stanza, "[[program]]\n");
}

TEST(ParseChecked, is_not_checked_without_a_report) {
  for (const char* text : {"", "{", "[]", "{}", "3"}) {
    EXPECT_EQ(parse_checked(text).safety, "not checked") << text;
  }
}

}  // namespace
}  // namespace cli
