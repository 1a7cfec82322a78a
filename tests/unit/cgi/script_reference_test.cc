#include "cgi/script_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "unit/cgi/recorded_params.h"
#include "unit/cgi/variables_from.h"

namespace {

using namespace std::string_view_literals;

// Plays the router: the program is known, and the rest follows it.
cgi::PathSplit split_at(const cgi::Variables& variables, std::string_view program) {
  const auto path = cgi::script_path(variables);
  EXPECT_TRUE(path.ok());
  EXPECT_TRUE(path.value().starts_with(program)) << path.value();
  return cgi::split_path(variables, program, path.value().substr(program.size()));
}

TEST(ScriptReference, finds_program_and_path_info_behind_every_web_server) {
  for (const recorded::Request& request : recorded::kPathInfo) {
    SCOPED_TRACE(request.server);
    const auto split = split_at(variables_from(request.params), "/srv/www/cgi-bin/s.cgi");
    EXPECT_EQ(split.script_name, "/cgi-bin/s.cgi");
    EXPECT_EQ(split.path_info, "/x/y z");
    EXPECT_EQ(split.path_translated, "/srv/www/x/y z");
  }
}

TEST(ScriptReference, finds_a_program_with_a_blank_in_its_name_behind_every_web_server) {
  for (const recorded::Request& request : recorded::kBlankInName) {
    SCOPED_TRACE(request.server);
    const auto split = split_at(variables_from(request.params), "/srv/www/cgi-bin/a b.cgi");
    EXPECT_EQ(split.script_name, "/cgi-bin/a b.cgi");
    EXPECT_EQ(split.path_info, "/p");
    EXPECT_EQ(split.path_translated, "/srv/www/p");
  }
}

TEST(ScriptReference, gives_no_path_info_when_there_is_none_behind_every_web_server) {
  for (const recorded::Request& request : recorded::kNoPathInfo) {
    SCOPED_TRACE(request.server);
    const auto split = split_at(variables_from(request.params), "/srv/www/cgi-bin/s.cgi");
    EXPECT_EQ(split.script_name, "/cgi-bin/s.cgi");
    EXPECT_EQ(split.path_info, "");
    EXPECT_EQ(split.path_translated, "");
  }
}

TEST(ScriptReference, takes_off_what_proxies_put_on) {
  const struct {
    std::string_view filename, path;
  } cases[] = {
      {"/a/s.cgi", "/a/s.cgi"},
      {"proxy:fcgi://h:9000/a/s.cgi", "/a/s.cgi"},
      {"proxy:fcgi://[::1]:9000/a/s.cgi", "/a/s.cgi"},
      {"proxy:fcgi://h//a/s.cgi", "//a/s.cgi"},
      {"proxy:unix:/run/b.sock|fcgi://h/a/s.cgi/p", "/a/s.cgi/p"},
      {"proxy:balancer://pool/a/s.cgi", "/a/s.cgi"},
      {"proxy:/a/s.cgi", "/a/s.cgi"},
      {"proxy:fcgi://h/a/s.cgi?x=1&y", "/a/s.cgi"},
      {"/a/s.cgi?other", "/a/s.cgi?other"},
  };
  for (const auto& c : cases) {
    const auto path =
        cgi::script_path({{"SCRIPT_FILENAME", c.filename}, {"QUERY_STRING", "x=1&y"}});
    ASSERT_TRUE(path.ok()) << c.filename;
    EXPECT_EQ(path.value(), c.path);
  }
}

TEST(ScriptReference, decodes_only_where_script_name_shows_the_decoded_spelling) {
  const struct {
    std::string_view filename, name, path;
  } cases[] = {
      {"/d/a%20b.cgi", "/a%20b.cgi", "/d/a%20b.cgi"},
      {"/d/a%2520b.cgi", "/a%20b.cgi", "/d/a%20b.cgi"},
      {"/d/a%20b.cgi", "/a b.cgi", "/d/a b.cgi"},
      {"/d/a%zz.cgi", "/a b.cgi", "/d/a%zz.cgi"},
      {"/d/a%00.cgi", "/a.cgi", "/d/a%00.cgi"},
      {"/d/50%25/s.cgi", "", "/d/50%25/s.cgi"},
  };
  for (const auto& c : cases) {
    const auto path = cgi::script_path({{"SCRIPT_FILENAME", c.filename}, {"SCRIPT_NAME", c.name}});
    ASSERT_TRUE(path.ok()) << c.filename;
    EXPECT_EQ(path.value(), c.path);
  }
}

// Apache with SetHandler, and nginx with fastcgi_split_path_info: what they compared with their
// rules is the name with its "%".
TEST(ScriptReference, leaves_a_percent_that_the_visitor_wrote_whatever_path_info_says) {
  for (const std::string_view info : {"/d/c/admin", "/c/admin", "/admin", "/n", "/adm%69n", ""}) {
    const auto path = cgi::script_path({{"SCRIPT_FILENAME", "/d/c/adm%69n"},
                                        {"SCRIPT_NAME", "/c/adm%69n"},
                                        {"PATH_INFO", info},
                                        {"SERVER_SOFTWARE", "Apache/2.4"}});
    EXPECT_EQ(path.value(), "/d/c/adm%69n") << info;
  }
  // The server gives the file another ending than the address has.
  const auto renamed = cgi::script_path({{"SCRIPT_FILENAME", "/d/c/adm%69n.cgi"},
                                         {"SCRIPT_NAME", "/tool/adm%69n"},
                                         {"PATH_INFO", "/d/c/admin.cgi"}});
  EXPECT_EQ(renamed.value(), "/d/c/adm%69n.cgi");
  const auto nameless =
      cgi::script_path({{"SCRIPT_FILENAME", "/d/c/adm%69n"}, {"PATH_INFO", "/d/c/admin"}});
  EXPECT_EQ(nameless.value(), "/d/c/adm%69n");
}

// As recorded from Apache's ProxyPass with proxy-fcgi-pathinfo, and one more blank in the program.
TEST(ScriptReference, decodes_a_path_info_that_apache_has_found_itself) {
  const struct {
    std::string_view name, info;
  } cases[] = {
      {"/c/s p.cgi", "/a%69 b"},    // first-dot, last-dot
      {"", "/d/c/s p.cgi/a%69 b"},  // unescape
      {"/c/s p.cgi/a%69 b", ""},
  };
  for (const auto& c : cases) {
    const auto path = cgi::script_path({{"SCRIPT_FILENAME", "/d/c/s%20p.cgi/a%2569%20b"},
                                        {"SCRIPT_NAME", c.name},
                                        {"PATH_INFO", c.info},
                                        {"SERVER_SOFTWARE", "Apache"}});
    EXPECT_EQ(path.value(), "/d/c/s p.cgi/a%69 b") << c.name;
  }
}

TEST(ScriptReference, leaves_a_question_mark_that_the_visitor_wrote) {
  const std::pair<std::string_view, std::string_view> cases[] = {{"/c/admin?x", ""},
                                                                 {"/c/admin", "?x"}};
  for (const auto& [name, info] : cases) {
    const auto path = cgi::script_path({{"SCRIPT_FILENAME", "/d/c/admin?x"},
                                        {"SCRIPT_NAME", name},
                                        {"PATH_INFO", info},
                                        {"QUERY_STRING", "x"},
                                        {"SERVER_SOFTWARE", "Apache"}});
    EXPECT_EQ(path.value(), "/d/c/admin?x");
  }
}

// As recorded from Apache 2.4.71, SetHandler and GENERIC, for /c/admin%3Fx?x and /s.cgi/a%3Fx?x.
TEST(ScriptReference, refuses_a_name_that_apache_has_cut_at_the_visitor_s_question_mark) {
  const struct {
    std::string_view filename, name, info;
    bool ok;
  } cases[] = {{"/d/c/admin", "/c/admin?x", "", false},
               {"/d/c/admin", "/tool/an-admin?x", "/p", false},
               {"/d/s.cgi", "/s.cgi", "/a?x", true},
               {"/d/s.cgi/a%3Fx", "/s.cgi/a?x", "", true}};
  for (const auto& c : cases) {
    const auto path = cgi::script_path({{"SCRIPT_FILENAME", c.filename},
                                        {"SCRIPT_NAME", c.name},
                                        {"PATH_INFO", c.info},
                                        {"QUERY_STRING", "x"},
                                        {"SERVER_SOFTWARE", "hidden"},
                                        {"CONTEXT_DOCUMENT_ROOT", "/d"}});
    EXPECT_EQ(path.ok(), c.ok) << c.filename;
  }
}

TEST(ScriptReference, knows_a_slash_that_a_visitor_has_doubled) {
  const struct {
    std::string_view name, uri;
    bool doubles;
  } cases[] = {{"/c//s", "/c//s", true},    {"/c//s", "/c/%2Fs/x?y", true},
               {"//s", "", true},           {"/c//s", "/c//s%zz", true},
               {"/c//s", "/c/s?//", false}, {"/c/s", "/c//s", false},
               {"/c/s", "/c/s/a//b", false}};
  for (const auto& c : cases) {
    const cgi::PathSplit split{std::string(c.name), "", ""};
    EXPECT_EQ(cgi::doubles_a_slash({{"REQUEST_URI", c.uri}}, split), c.doubles) << c.uri;
  }
}

TEST(ScriptReference, falls_back_to_document_root_and_script_name) {
  const auto path = cgi::script_path(
      {{"SCRIPT_FILENAME", ""}, {"DOCUMENT_ROOT", "/srv/"}, {"SCRIPT_NAME", "/s.cgi"}});
  EXPECT_EQ(path.value(), "/srv/s.cgi");
}

TEST(ScriptReference, refuses_what_is_no_path) {
  const struct {
    cgi::Variables variables;
    int status;
  } cases[] = {
      {{}, 404},
      {{{"SCRIPT_NAME", "/s.cgi"}}, 404},
      {{{"SCRIPT_FILENAME", "s.cgi"}}, 404},
      {{{"SCRIPT_FILENAME", "proxy:fcgi://h"}}, 404},
      {{{"SCRIPT_FILENAME", "proxy:unix:/run/sock"}}, 404},
      {{{"SCRIPT_FILENAME", "/a\0b"sv}}, 400},
  };
  for (const auto& c : cases) {
    const auto path = cgi::script_path(c.variables);
    ASSERT_FALSE(path.ok());
    EXPECT_EQ(path.refusal().status, c.status) << path.refusal().reason;
  }
}

TEST(PathSplit, takes_a_path_info_that_the_server_split_off_the_end_of_script_name) {
  const auto split =
      cgi::split_path({{"SCRIPT_NAME", "/c/s.cgi/p"}, {"PATH_INFO", "/p"}}, "/srv/c/s.cgi", "");
  EXPECT_EQ(split.script_name, "/c/s.cgi");
  EXPECT_EQ(split.path_info, "/p");
}

TEST(PathSplit, leaves_a_script_name_whole_that_only_looks_like_holding_path_info) {
  const auto split =
      cgi::split_path({{"SCRIPT_NAME", "/c/a"}, {"PATH_INFO", "/a"}}, "/srv/c/a", "");
  EXPECT_EQ(split.script_name, "/c/a");
  EXPECT_EQ(split.path_info, "/a");
}

// As a web server is configured for cgit: one program for all URLs.
TEST(PathSplit, leaves_script_name_alone_where_one_program_answers_every_url) {
  const auto split = cgi::split_path({{"SCRIPT_NAME", "/linux/log"}, {"PATH_INFO", "/linux/log"}},
                                     "/usr/lib/cgit/cgit.cgi", "");
  EXPECT_EQ(split.script_name, "/linux/log");
  EXPECT_EQ(split.path_info, "/linux/log");
}

TEST(PathSplit, trusts_path_translated_only_for_the_same_path_info) {
  const cgi::Variables same = {{"SCRIPT_NAME", "/s"},
                               {"PATH_INFO", "/p"},
                               {"PATH_TRANSLATED", "/alias/p"},
                               {"DOCUMENT_ROOT", "/srv"}};
  EXPECT_EQ(cgi::split_path(same, "/s", "").path_translated, "/alias/p");
  EXPECT_EQ(cgi::split_path(same, "/s", "/other").path_translated, "/srv/other");
  cgi::Variables redirected = same;
  redirected[2].second = "redirect:/s/p";
  EXPECT_EQ(cgi::split_path(redirected, "/s", "").path_translated, "/srv/p");
}

TEST(PathSplit, makes_up_a_missing_script_name) {
  EXPECT_EQ(cgi::split_path({{"DOCUMENT_URI", "/s/p"}}, "/s", "/p").script_name, "/s");
  EXPECT_EQ(cgi::split_path({{"REQUEST_URI", "/a%20b/p?q"}}, "/s", "/p").script_name, "/a b");
  EXPECT_EQ(cgi::split_path({}, "/s", "").script_name, "");
}

}  // namespace
