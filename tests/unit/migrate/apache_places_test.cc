#include <gtest/gtest.h>

#include "migrate/apache_text.h"
#include "migrate/patch.h"
#include "migrate/places.h"
#include "some_files.h"

namespace migrate {
namespace {

constexpr const char* kModules =
    "LoadModule cgid_module m/mod_cgid.so\nLoadModule fcgid_module m/mod_fcgid.so\n";

class ApachePlaces : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_apache().empty()) GTEST_SKIP() << why_no_apache();
  }

  std::vector<Place> find(const std::string& text) {
    text_ = kModules + text;
    SomeFiles files(Texts{{"/etc/apache2.conf", text_}});
    const ApacheTree tree = read_apache("/etc/apache2.conf", files, {});
    EXPECT_TRUE(tree.problems.empty()) << tree.problems.front().why;
    return apache_places(tree, {.socket = "/s", .is_file = [](const std::string& path) {
                                  return path.ends_with(".cgi");
                                }});
  }

  // The text after the places' edits, without the modules.
  std::string changed(const std::vector<Place>& places) {
    std::vector<Edit> edits;
    for (const Place& place : places) {
      edits.insert(edits.end(), place.edits.begin(), place.edits.end());
    }
    return with_edits(text_, edits).text.substr(std::string(kModules).size());
  }

  // "PATH", with " whole", the suffixes and the user.
  static std::string programs(const Place& place) {
    std::string text = place.programs.path + (place.programs.whole ? " whole" : "");
    for (const std::string& suffix : place.programs.suffixes) text += " " + suffix;
    return text + (place.user.empty() ? "" : " as " + place.user);
  }

  std::string text_;
};

TEST_F(ApachePlaces, script_alias_of_a_folder) {
  const auto places = find("  ScriptAlias /cgi-bin/ /usr/lib/cgi-bin/\n");
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(programs(places[0]), "/usr/lib/cgi-bin/");
  EXPECT_EQ(places[0].by, "mod_cgid");
  EXPECT_EQ(places[0].where, "ScriptAlias /cgi-bin/");
  EXPECT_EQ(changed(places),
            "  Alias /cgi-bin/ /usr/lib/cgi-bin/\n"
            "  <Directory \"/usr/lib/cgi-bin\">\n"
            "    AcceptPathInfo On\n"
            "    SetHandler \"proxy:unix:/s|fcgi://localhost\"\n"
            "    ProxyFCGIBackendType GENERIC\n"
            "  </Directory>\n");
}

TEST_F(ApachePlaces, script_alias_of_a_program) {
  const auto places = find("ScriptAlias /cgit/ \"/usr/lib/cgit/cgit.cgi/\"\n");
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(programs(places[0]), "/usr/lib/cgit/cgit.cgi whole");
  EXPECT_NE(changed(places).find("<Directory \"/usr/lib/cgit\">\n  AcceptPathInfo On\n"
                                 "  <Files \"cgit.cgi\">\n    SetHandler"),
            std::string::npos);
}

TEST_F(ApachePlaces, script_alias_in_a_location) {
  const auto places =
      find("<Location /nagios>\n  ScriptAlias /usr/lib/cgi-bin/nagios\n</Location>\n");
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(changed(places),
            "<Location /nagios>\n  Alias /usr/lib/cgi-bin/nagios\n"
            "  SetHandler \"proxy:unix:/s|fcgi://localhost\"\n"
            "  ProxyFCGIBackendType GENERIC\n</Location>\n");
}

TEST_F(ApachePlaces, script_alias_match_of_homes_runs_as_their_owners) {
  const auto places =
      find("scriptaliasmatch ^/~([^/]+)/cgi-bin/(.+) /home/$1/public_html/cgi-bin/$2\n");
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(programs(places[0]), "/home/*/public_html/cgi-bin/ as owner");
  EXPECT_TRUE(changed(places).starts_with("aliasmatch ^/~"));
}

TEST_F(ApachePlaces, of_a_virtual_host_with_suexec) {
  const auto places = find(
      "<VirtualHost *:80>\nServerName shop.example\nSuexecUserGroup shop staff\n"
      "SetEnv SHOP_CONFIG /etc/shop\nScriptAlias /cgi-bin/ /srv/shop/cgi-bin\n</VirtualHost>\n");
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(programs(places[0]), "/srv/shop/cgi-bin/ as shop:staff");
  EXPECT_EQ(places[0].site, "shop.example");
  ASSERT_EQ(places[0].variables.size(), 1U);
  EXPECT_EQ(places[0].variables[0].second, "/etc/shop");
}

TEST_F(ApachePlaces, exec_cgi_with_add_handler) {
  const auto places = find(
      "<Directory /srv/www>\n  Options +Indexes +ExecCGI\n</Directory>\n"
      "<Directory /srv/none>\n  Options -ExecCGI\n</Directory>\n"
      "AddHandler cgi-script .cgi pl\n"
      "<Directory /srv/other>\n  AddHandler cgi-script .py\n</Directory>\n");
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(programs(places[0]), "/srv/www/ .cgi .pl");
  EXPECT_TRUE(
      changed(places).starts_with("<Directory /srv/www>\n  Options +Indexes +ExecCGI\n"
                                  "  <FilesMatch \"\\.(cgi|pl)$\">\n    AcceptPathInfo On\n"
                                  "    SetHandler"));
}

TEST_F(ApachePlaces, exec_cgi_in_the_folder_of_a_script_alias_is_the_same_place) {
  const auto places = find(
      "AddHandler fcgid-script .fcgi\n"
      "<Directory /usr/lib/cgi-bin>\nOptions +ExecCGI\n</Directory>\n"
      "ScriptAlias /cgi-bin/ /usr/lib/cgi-bin/\n");
  EXPECT_EQ(places.size(), 1U);
}

TEST_F(ApachePlaces, set_handler_in_sections) {
  const auto places = find(
      "DocumentRoot /srv/www\nAlias /tools /opt/tools/\n"
      "<Directory /srv/a>\nSetHandler cgi-script\n</Directory>\n"
      "<Directory /srv/b>\n<Files \"*.cgi\">\nSetHandler cgi-script\n</Files>\n</Directory>\n"
      "<Directory /srv/c>\n<FilesMatch \"\\.(py|pl)$\">\nSetHandler cgi-script\n</FilesMatch>\n"
      "</Directory>\n"
      "<Directory /srv/d>\n<Files x.cgi>\nSetHandler cgi-script\n</Files>\n</Directory>\n"
      "<Location /run>\nSetHandler cgi-script\n</Location>\n"
      "<Location /tools/bin>\nSetHandler fcgid-script\n</Location>\n"
      "<DirectoryMatch \"^/home/[^/]+/cgi-bin\">\nSetHandler cgi-script\n</DirectoryMatch>\n");
  std::vector<std::string> found;
  for (const Place& place : places) found.push_back(programs(place));
  EXPECT_EQ(found, (std::vector<std::string>{"/srv/a/", "/srv/b/ .cgi", "/srv/c/ .py .pl",
                                             "/srv/d/x.cgi whole", "/srv/www/run/",
                                             "/opt/tools/bin/", "/home/"}));
  EXPECT_EQ(changed(places).find("-script"), std::string::npos);
}

TEST_F(ApachePlaces, leave_other_programs_alone) {
  const auto places = find(
      "<Directory /srv/php>\nOptions +ExecCGI\nAddHandler fcgid-script .php\n"
      "FcgidWrapper /usr/lib/cgi-bin/php .php\n</Directory>\n"
      "<Directory /srv/b>\nSetHandler fcgid-script\n"
      "FcgidWrapper \"/usr/bin/cgibridge attach\" virtual\n</Directory>\n"
      "ScriptAlias /x y\n<Location /p>\nSetHandler "
      "\"proxy:unix:/s|fcgi://localhost\"\n</Location>\n");
  ASSERT_EQ(places.size(), 3U);
  EXPECT_NE(places[0].left_alone.find("FcgidWrapper /usr/lib/cgi-bin/php"), std::string::npos);
  EXPECT_EQ(places[1].left_alone, "the bridge answers here already");
  EXPECT_EQ(places[2].left_alone, "its target is no absolute path");
  EXPECT_EQ(changed(places), text_.substr(std::string(kModules).size()));
}

TEST_F(ApachePlaces, user_and_group) {
  SomeFiles files(Texts{{"/a", "User www-data\nGroup web\n"}, {"/b", "User ${X}\n"}});
  EXPECT_EQ(apache_user(read_apache("/a", files, {})), "www-data:web");
  EXPECT_EQ(apache_user(read_apache("/b", files, {})), "");
  EXPECT_EQ(apache_user(read_apache("/b", files, {{"X", "apache"}})), "apache");
}

}  // namespace
}  // namespace migrate
