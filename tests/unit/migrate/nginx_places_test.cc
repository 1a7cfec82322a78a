#include <gtest/gtest.h>

#include "migrate/places.h"
#include "some_files.h"

namespace migrate {
namespace {

std::vector<Place> places_in(const std::string& server, const std::string& http = "") {
  SomeFiles files(
      {{"/etc/nginx/nginx.conf", "http {\n" + http + "server {\n" + server + "\n}\n}\n"},
       {"/etc/nginx/fastcgi_params",
        "fastcgi_param QUERY_STRING $query_string;\n"
        "fastcgi_param SCRIPT_NAME $fastcgi_script_name;\n"
        "fastcgi_param DOCUMENT_ROOT $document_root;\n"}});
  return nginx_places(read_nginx("/etc/nginx/nginx.conf", files), {});
}

struct Case {
  const char* name;
  const char* server;
  const char* path;  // with " whole" after it, or the suffixes
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

class NginxPrograms : public ::testing::TestWithParam<Case> {};

TEST_P(NginxPrograms, are_where_fcgiwrap_looks_for_them) {
  const auto places = places_in(GetParam().server);
  ASSERT_EQ(places.size(), 1U);
  std::string path = places[0].programs.path;
  if (places[0].programs.whole) path += " whole";
  for (const std::string& suffix : places[0].programs.suffixes) path += " " + suffix;
  EXPECT_EQ(path, GetParam().path);
  EXPECT_EQ(places[0].left_alone, "");
}

INSTANTIATE_TEST_SUITE_P(
    all, NginxPrograms,
    ::testing::Values(
        Case{"Debian's example",
             "location /cgi-bin/ { gzip off; root /usr/lib; fastcgi_pass unix:/run/fcgiwrap.socket;"
             " include /etc/nginx/fastcgi_params;"
             " fastcgi_param SCRIPT_FILENAME /usr/lib$fastcgi_script_name; }",
             "/usr/lib/cgi-bin/"},
        Case{"zoneminder's",
             "location /zm/cgi-bin { gzip off; alias /usr/lib/zoneminder/cgi-bin;"
             " include /etc/nginx/fastcgi_params;"
             " fastcgi_param SCRIPT_FILENAME $request_filename;"
             " fastcgi_pass unix:/run/fcgiwrap.socket; }",
             "/usr/lib/zoneminder/cgi-bin"},
        Case{"an ending",
             "root /var/www/; location ~ \\.cgi$ { include fastcgi_params; fastcgi_param"
             " SCRIPT_FILENAME $document_root$fastcgi_script_name; fastcgi_pass "
             "unix:/run/fcgiwrap; }",
             "/var/www/ .cgi"},
        Case{"gitweb, fixed",
             "location /gitweb { include fastcgi_params; fastcgi_param SCRIPT_FILENAME"
             " /usr/share/gitweb/gitweb.cgi; fastcgi_pass unix:/var/run/fcgiwrap.socket; }",
             "/usr/share/gitweb/gitweb.cgi whole"},
        Case{"gitweb, split",
             "location /gitweb.cgi { root /usr/share/gitweb; fastcgi_split_path_info"
             " ^(/gitweb\\.cgi)(/.*)$; include fastcgi_params; fastcgi_param SCRIPT_FILENAME"
             " $document_root$fastcgi_script_name; fastcgi_pass unix:/run/fcgiwrap.socket; }",
             "/usr/share/gitweb/gitweb.cgi"},
        Case{"git http-backend",
             "location ~ /git(/.*) { include fastcgi_params; fastcgi_param SCRIPT_FILENAME"
             " /usr/lib/git-core/git-http-backend; fastcgi_param GIT_PROJECT_ROOT /srv/git;"
             " fastcgi_param PATH_INFO $1; fastcgi_pass unix:/run/fcgiwrap.socket; }",
             "/usr/lib/git-core/git-http-backend whole"},
        Case{"a name from the expression",
             "location ~ ^/cgi-bin(?<cgi_path>/.*)$ { fastcgi_param SCRIPT_FILENAME"
             " /usr/lib/cgi-bin$cgi_path; fastcgi_pass unix:/run/fcgiwrap.socket; }",
             "/usr/lib/cgi-bin"},
        Case{"a rewrite",
             "location ^~ /cgi-bin/ { rewrite ^/cgi-bin/(.*)$ /$1 break; root /srv/cgi;"
             " fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;"
             " fastcgi_pass unix:/run/fcgiwrap.socket; }",
             "/srv/cgi/"},
        Case{"an exact location",
             "root /srv/www; location = /cgi-bin/mapserv { fastcgi_param SCRIPT_FILENAME"
             " $document_root$uri; fastcgi_pass unix:/run/fcgiwrap.socket; }",
             "/srv/www/cgi-bin/mapserv whole"},
        Case{
            "a named location, and a variable",
            "set $base /srv; location @cgi { fastcgi_param SCRIPT_FILENAME"
            " ${base}/nagios/cgi-bin/$fastcgi_script_name; fastcgi_pass unix:/run/fcgiwrap.sock; }",
            "/srv/nagios/cgi-bin/"},
        Case{"without SCRIPT_FILENAME",
             "location /cgi-bin/ { root /usr/lib; include fastcgi_params;"
             " fastcgi_pass unix:/run/fcgiwrap.socket; }",
             "/usr/lib/cgi-bin/"},
        Case{"an alias by an expression",
             "location ~ ^/~([a-z]+)/cgi-bin/(.*)$ { alias /home/$1/public_html/cgi-bin/$2;"
             " fastcgi_param SCRIPT_FILENAME $request_filename;"
             " fastcgi_pass unix:/run/fcgiwrap.socket; }",
             "/home/"},
        Case{"spawn-fcgi on a port",
             "location /cgi-bin/ { root /usr/lib; fastcgi_pass 127.0.0.1:9000; }",
             "/usr/lib/cgi-bin/"}));

TEST(NginxPlaces, inherit_params_only_if_they_have_none_of_their_own) {
  const char* outer = "fastcgi_param SCRIPT_FILENAME /srv/a.cgi; fastcgi_param MORE yes;";
  const std::string pass = "fastcgi_pass unix:/run/fcgiwrap; } }";
  const auto inherited = places_in(std::string(outer) + "location / { location /in { " + pass);
  ASSERT_EQ(inherited.size(), 1U);
  EXPECT_EQ(inherited[0].programs.path, "/srv/a.cgi");
  ASSERT_EQ(inherited[0].variables.size(), 2U);
  const auto own = places_in(std::string(outer) +
                             "location / { location /in { root /x; fastcgi_param OTHER 1; " + pass);
  EXPECT_EQ(own[0].programs.path, "/x/in");
}

TEST(NginxPlaces, change_only_where_the_request_goes) {
  const auto places =
      places_in("location /cgi-bin/ { fastcgi_pass wrap; fastcgi_param SCRIPT_FILENAME /x/$uri; }",
                "upstream wrap { server unix:/run/fcgiwrap.socket; }\n");
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(places[0].by, "unix:/run/fcgiwrap.socket");
  EXPECT_EQ(places[0].where, "location /cgi-bin/");
  EXPECT_EQ(places[0].line, 4U);
  ASSERT_EQ(places[0].edits.size(), 1U);
  EXPECT_EQ(places[0].edits[0].text, "fastcgi_pass unix:/run/cgibridge/fastcgi.sock;");
  EXPECT_EQ(places[0].edits[0].end - places[0].edits[0].begin,
            std::string("fastcgi_pass wrap;").size());
}

TEST(NginxPlaces, leave_others_alone_and_say_why) {
  const auto places = places_in(
      "root /var/www;\n"
      "location ~ \\.php$ { fastcgi_pass unix:/run/php/php8.2-fpm.sock; }\n"
      "location ~ [^/]\\.php(/|$) { fastcgi_pass 127.0.0.1:9000; }\n"
      "location /app { fastcgi_pass 127.0.0.1:9001; }\n"
      "location /done { fastcgi_pass unix:/run/cgibridge/fastcgi.sock; }\n"
      "location /vary { fastcgi_param SCRIPT_FILENAME $some/x; fastcgi_pass unix:/run/fcgiwrap; "
      "}\n");
  ASSERT_EQ(places.size(), 5U);
  const std::vector<std::string> why = {"PHP has", "PHP has", "is not known to be fcgiwrap",
                                        "already", "depends on variables"};
  for (std::size_t i = 0; i < why.size(); ++i) {
    EXPECT_NE(places[i].left_alone.find(why[i]), std::string::npos) << places[i].left_alone;
    EXPECT_TRUE(places[i].edits.empty());
  }
}

TEST(NginxPlaces, remark_on_a_param_that_is_sent_twice) {
  const auto places = places_in(
      "root /a; location /cgi-bin/ { fastcgi_param SCRIPT_FILENAME $document_root$uri;"
      " fastcgi_param SCRIPT_FILENAME /b.cgi; fastcgi_pass unix:/run/fcgiwrap; }");
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(places[0].programs.path, "/a/cgi-bin/");
  EXPECT_TRUE(places[0].remark.starts_with("SCRIPT_FILENAME is sent twice"));
}

TEST(NginxUser, is_what_it_says) {
  SomeFiles files(Texts{{"/n", "user nginx www;\n"}, {"/m", "events {}\n"}});
  EXPECT_EQ(nginx_user(read_nginx("/n", files)), "nginx:www");
  EXPECT_EQ(nginx_user(read_nginx("/m", files)), "");
}

}  // namespace
}  // namespace migrate
