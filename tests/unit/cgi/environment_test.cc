#include "cgi/environment.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "unit/cgi/recorded_params.h"
#include "unit/cgi/variables_from.h"

namespace {

using namespace std::literals;
using Configured = std::vector<std::pair<std::string, std::string>>;
using Map = std::map<std::string, std::string>;

// Also checks the block's promise: count entries, each with '=' and an end, no name twice.
Map parse(const cgi::Environment& environment) {
  Map map;
  std::string_view rest = environment.block;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    EXPECT_LT(entry.size(), rest.size()) << "entry without end";
    rest.remove_prefix(entry.size() + 1);
    const std::size_t equals = entry.find('=');
    EXPECT_NE(equals, std::string_view::npos);
    EXPECT_TRUE(map.emplace(entry.substr(0, equals), entry.substr(equals + 1)).second) << entry;
  }
  EXPECT_EQ(map.size(), environment.count);
  return map;
}

Map build(const cgi::Variables& variables, const cgi::PathSplit& split = {"/s", "", ""},
          const Configured& configured = {}) {
  const auto environment = cgi::build_environment(variables, split, "/real/s", configured);
  EXPECT_TRUE(environment.ok());
  return environment.ok() ? parse(environment.value()) : Map();
}

TEST(Environment, of_an_empty_request_holds_what_cgi_demands) {
  EXPECT_EQ(build({}), (Map{{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                            {"GATEWAY_INTERFACE", "CGI/1.1"},
                            {"QUERY_STRING", ""},
                            {"SCRIPT_NAME", "/s"},
                            {"SCRIPT_FILENAME", "/real/s"}}));
}

TEST(Environment, of_a_recorded_post_lacks_only_what_must_not_pass) {
  const auto environment =
      cgi::build_environment(variables_from(recorded::kNginxPost.params),
                             {"/cgi-bin/s.cgi", "", ""}, "/srv/www/cgi-bin/s.cgi", {});
  ASSERT_TRUE(environment.ok());
  EXPECT_EQ(environment.value().content_length, 3u);
  Map expected;
  for (const auto& [name, value] : variables_from(recorded::kNginxPost.params)) {
    expected.emplace(name, value);
  }
  for (const char* name : {"HTTP_PROXY", "HTTP_CONTENT_LENGTH", "HTTP_CONTENT_TYPE"}) {
    EXPECT_EQ(expected.erase(name), 1u);
  }
  expected.emplace("PATH", cgi::kDefaultPath);
  EXPECT_EQ(parse(environment.value()), expected);
  EXPECT_EQ(expected.at("HTTP_AUTHORIZATION"), "Basic dTpw");
}

TEST(Environment, leaves_out_what_is_empty_and_means_none) {
  const Map map = build({{"CONTENT_LENGTH", ""},
                         {"CONTENT_TYPE", ""},
                         {"PATH_INFO", ""},
                         {"PATH_TRANSLATED", "/srv"},
                         {"REMOTE_USER", ""}});
  for (const char* name : {"CONTENT_LENGTH", "CONTENT_TYPE", "PATH_INFO", "PATH_TRANSLATED"}) {
    EXPECT_FALSE(map.contains(name)) << name;
  }
  EXPECT_TRUE(map.contains("REMOTE_USER"));
}

TEST(Environment, takes_the_paths_from_the_split) {
  const Map map = build({{"SCRIPT_NAME", "/x"}, {"PATH_INFO", "/y"}, {"SCRIPT_FILENAME", "/z"}},
                        {"/s", "/p", "/srv/p"});
  EXPECT_EQ(map.at("SCRIPT_NAME"), "/s");
  EXPECT_EQ(map.at("PATH_INFO"), "/p");
  EXPECT_EQ(map.at("PATH_TRANSLATED"), "/srv/p");
  EXPECT_EQ(map.at("SCRIPT_FILENAME"), "/real/s");
}

TEST(Environment, lets_the_last_of_a_name_count) {
  EXPECT_EQ(build({{"A", "1"}, {"A", "2"}}).at("A"), "2");
}

TEST(Environment, drops_names_and_values_that_no_environment_can_hold) {
  EXPECT_EQ(build({{"", "1"}, {"A=B", "1"}, {"A\0B"sv, "1"}, {"C", "1\0002"sv}}).size(), 5u);
}

TEST(Environment, lets_no_parameter_steer_loader_shell_or_interpreter) {
  for (const std::string_view name : {"LD_PRELOAD",
                                      "LD_LIBRARY_PATH",
                                      "GLIBC_TUNABLES",
                                      "MALLOC_CHECK_",
                                      "GCONV_PATH",
                                      "PATH",
                                      "IFS",
                                      "ENV",
                                      "BASH_ENV",
                                      "BASH_FUNC_ls%%",
                                      "PERL5LIB",
                                      "PERL5OPT",
                                      "PERLLIB",
                                      "PYTHONPATH",
                                      "PYTHONSTARTUP",
                                      "RUBYLIB",
                                      "RUBYOPT",
                                      "NODE_OPTIONS",
                                      "NODE_EXTRA_CA_CERTS",
                                      "RESOLV_MULTI",
                                      "GIT_CONFIG_COUNT",
                                      "GIT_SSH_COMMAND",
                                      "GIT_DIR",
                                      "TAR_OPTIONS",
                                      "MAKEFLAGS",
                                      "LESSOPEN",
                                      "http_proxy",
                                      "ODBCSYSINI",
                                      "JAVA_HOME",
                                      "PHPRC",
                                      "LUA_INIT",
                                      "CGIBRIDGE_LEVEL",
                                      "LISTEN_FDS"}) {
    EXPECT_TRUE(cgi::forbidden_name(name)) << name;
    const Map map = build({{name, "evil"}});
    EXPECT_TRUE(!map.contains(std::string(name)) || name == "PATH") << name;
    EXPECT_NE(map.at("PATH"), "evil");
  }
  for (const std::string_view name : {"FCGI_ROLE", "HTTP_PROXY"}) {
    EXPECT_FALSE(build({{name, "evil"}}).contains(std::string(name))) << name;
  }
}

TEST(Environment, lets_no_parameter_choose_what_libraries_load_or_where_they_write) {
  for (const std::string_view name : {"GDAL_DRIVER_PATH",
                                      "OGR_DRIVER_PATH",
                                      "GIO_MODULE_DIR",
                                      "GIO_EXTRA_MODULES",
                                      "GDK_PIXBUF_MODULE_FILE",
                                      "GDK_PIXBUF_MODULEDIR",
                                      "GST_PLUGIN_PATH",
                                      "GST_PLUGIN_SCANNER",
                                      "LTDL_LIBRARY_PATH",
                                      "QT_PLUGIN_PATH",
                                      "QT_QPA_PLATFORM_PLUGIN_PATH",
                                      "GTK_MODULES",
                                      "GTK3_MODULES",
                                      "GTK_PATH",
                                      "GTK_EXE_PREFIX",
                                      "XDG_CONFIG_HOME",
                                      "XDG_CONFIG_DIRS",
                                      "XDG_DATA_HOME",
                                      "XDG_DATA_DIRS",
                                      "HGEDITOR",
                                      "HGMERGE",
                                      "HGRCPATH",
                                      "SVN_EDITOR",
                                      "ASAN_OPTIONS",
                                      "LSAN_OPTIONS",
                                      "MSAN_OPTIONS",
                                      "TSAN_OPTIONS",
                                      "UBSAN_OPTIONS",
                                      "HWASAN_OPTIONS",
                                      "SCUDO_OPTIONS",
                                      "LLVM_PROFILE_FILE",
                                      "GCOV_PREFIX",
                                      "GCOV_PREFIX_STRIP",
                                      "GOCOVERDIR",
                                      "GMON_OUT_PREFIX",
                                      "VALGRIND_OPTS",
                                      "VALGRIND_LIB",
                                      "JULIA_LOAD_PATH",
                                      "BUN_OPTIONS",
                                      "DENO_DIR",
                                      "RUSTC_WRAPPER",
                                      "R_LIBS",
                                      "R_DEFAULT_PACKAGES",
                                      "OCTAVE_PATH",
                                      "MAGICK_CONFIGURE_PATH",
                                      "MAGICK_CODER_MODULE_PATH",
                                      "OPENSSL_CONF",
                                      "OPENSSL_MODULES",
                                      "PKCS11_MODULE_PATH",
                                      "P11_KIT_STRICT",
                                      "KRB5_CONFIG",
                                      "KRB5_TRACE",
                                      "SASL_PATH",
                                      "SASL_CONF_PATH",
                                      "GSS_MECH_CONFIG",
                                      "LDAPCONF",
                                      "PGSYSCONFDIR",
                                      "MYSQL_HOME",
                                      "FONTCONFIG_FILE",
                                      "XML_CATALOG_FILES",
                                      "TERMINFO",
                                      "PKG_CONFIG_PATH",
                                      "TEXMFCNF",
                                      "openout_any",
                                      "GIT_TR2",
                                      "GIT_INDEX_FILE",
                                      "COMPlus_EnableDiagnostics",
                                      "HEAPPROFILE"}) {
    EXPECT_TRUE(cgi::forbidden_name(name)) << name;
    EXPECT_FALSE(build({{name, "evil"}}).contains(std::string(name))) << name;
  }
}

TEST(Environment, forbids_no_name_that_a_recorded_web_server_sent) {
  const auto demand = [](const recorded::Request& request) {
    for (const auto& [name, value] : variables_from(request.params)) {
      // Apache's own PATH does not concern the program.
      EXPECT_TRUE(!cgi::forbidden_name(name) || name == "PATH") << name;
    }
  };
  for (const recorded::Request& request : recorded::kPathInfo) demand(request);
  for (const recorded::Request& request : recorded::kBlankInName) demand(request);
  for (const recorded::Request& request : recorded::kNoPathInfo) demand(request);
  demand(recorded::kNginxPost);
}

TEST(Environment, lets_pass_what_operators_set_in_web_servers) {
  for (const std::string_view name : {"REDIRECT_STATUS",
                                      "HTTPS",
                                      "GIT_PROJECT_ROOT",
                                      "GIT_HTTP_EXPORT_ALL",
                                      "GITWEB_CONFIG",
                                      "HTTP_AUTHORIZATION",
                                      "HTTP_LD_PRELOAD",
                                      "HTTP_PROXY_CONNECTION",
                                      "PATHS",
                                      "ENVIRONMENT",
                                      "REMOTE_USER",
                                      "UNIQUE_ID",
                                      "SSL_CLIENT_S_DN",
                                      "proxy-nokeepalive",
                                      "KRB5CCNAME",
                                      "GSS_NAME",
                                      "GDAL_DATA",
                                      "PROJ_LIB",
                                      "ORACLE_HOME",
                                      "PGHOST",
                                      "OMP_NUM_THREADS",
                                      "RUST_LOG",
                                      "HOME"}) {
    EXPECT_FALSE(cgi::forbidden_name(name)) << name;
    EXPECT_TRUE(build({{name, "1"}}).contains(std::string(name))) << name;
  }
}

Map build_with(const cgi::Variables& variables, const cgi::ParamRules& rules) {
  const auto environment = cgi::build_environment(variables, {"/s", "", ""}, "/s", {}, rules);
  EXPECT_TRUE(environment.ok());
  return environment.ok() ? parse(environment.value()) : Map();
}

TEST(Environment, lets_pass_what_the_rules_name) {
  const std::vector<std::string> passed = {"NODE_ENV", "GIT_CONFIG_*"};
  const Map map = build_with({{"NODE_ENV", "production"},
                              {"NODE_OPTIONS", "evil"},
                              {"GIT_CONFIG_COUNT", "0"},
                              {"GIT_CONFIG", "evil"},
                              {"NODE_ENVIRONMENT", "evil"}},
                             {.passed = passed});
  EXPECT_EQ(map.at("NODE_ENV"), "production");
  EXPECT_EQ(map.at("GIT_CONFIG_COUNT"), "0");
  EXPECT_FALSE(map.contains("NODE_OPTIONS"));
  EXPECT_FALSE(map.contains("GIT_CONFIG"));
  EXPECT_FALSE(map.contains("NODE_ENVIRONMENT"));
}

TEST(Environment, holds_only_what_cgi_knows_where_the_rules_are_strict) {
  const std::vector<std::string> passed = {"GITWEB_CONFIG"};
  const cgi::ParamRules strict{.strict = true, .passed = passed};
  const Map map = build_with({{"REMOTE_ADDR", "::1"},
                              {"HTTP_X", "1"},
                              {"SSL_CLIENT_S_DN", "a"},
                              {"REDIRECT_STATUS", "200"},
                              {"GITWEB_CONFIG", "/etc/gitweb"},
                              {"HOME", "/tmp"},
                              {"REMOTE", "evil"},
                              {"FOO", "evil"}},
                             strict);
  for (const char* name :
       {"REMOTE_ADDR", "HTTP_X", "SSL_CLIENT_S_DN", "REDIRECT_STATUS", "GITWEB_CONFIG"}) {
    EXPECT_TRUE(map.contains(name)) << name;
  }
  for (const char* name : {"HOME", "REMOTE", "FOO"}) EXPECT_FALSE(map.contains(name)) << name;
}

TEST(Environment, of_recorded_requests_lacks_nothing_where_the_rules_are_strict) {
  const auto variables = variables_from(recorded::kNginxPost.params);
  EXPECT_EQ(build_with(variables, {.strict = true, .passed = {}}), build_with(variables, {}));
}

TEST(Environment, names_the_first_param_that_was_kept_back) {
  const auto kept_back = [](const cgi::Variables& variables) {
    const auto environment = cgi::build_environment(variables, {"/s", "", ""}, "/s", {});
    return environment.ok() ? std::string(environment.value().kept_back) : "refused";
  };
  EXPECT_EQ(kept_back({{"PATH", "/bin"}, {"LD_PRELOAD", "x"}, {"PERL5LIB", "y"}}), "LD_PRELOAD");
  EXPECT_EQ(kept_back({{"PATH", "/bin"}, {"HTTP_PROXY", "x"}, {"FCGI_ROLE", "RESPONDER"}}), "");
}

TEST(Environment, lets_the_configuration_win_over_everything) {
  const Map map = build({{"LANG", "C"}, {"QUERY_STRING", "q"}}, {"/s", "", ""},
                        {{"LANG", "C.UTF-8"},
                         {"PATH", "/opt/bin"},
                         {"LD_PRELOAD", "a.so"},
                         {"SCRIPT_NAME", "/t"},
                         {"LANG", "de"}});
  EXPECT_EQ(map.at("LANG"), "de");
  EXPECT_EQ(map.at("PATH"), "/opt/bin");
  EXPECT_EQ(map.at("LD_PRELOAD"), "a.so");
  EXPECT_EQ(map.at("SCRIPT_NAME"), "/t");
}

TEST(Environment, refuses_a_content_length_that_is_none) {
  for (const std::string_view length :
       {"-2", "+1", " 1", "1 ", "0x10", "1,1", "18446744073709551616", "a"}) {
    const auto environment =
        cgi::build_environment({{"CONTENT_LENGTH", length}}, {"/s", "", ""}, "/s", {});
    ASSERT_FALSE(environment.ok()) << length;
    EXPECT_EQ(environment.refusal().status, 400);
  }
}

TEST(Environment, tells_the_content_length) {
  const auto with = cgi::build_environment({{"CONTENT_LENGTH", "18446744073709551615"}},
                                           {"/s", "", ""}, "/s", {});
  EXPECT_EQ(with.value().content_length, 18446744073709551615u);
  const auto without = cgi::build_environment({}, {"/s", "", ""}, "/s", {});
  EXPECT_EQ(without.value().content_length, std::nullopt);
}

TEST(Environment, takes_a_length_that_is_not_known_for_none) {
  const Map map = build({{"CONTENT_LENGTH", "-1"}});
  EXPECT_EQ(map.count("CONTENT_LENGTH"), 0u);
  const auto chunked = cgi::build_environment({{"CONTENT_LENGTH", "-1"}}, {"/s", "", ""}, "/s", {});
  EXPECT_EQ(chunked.value().content_length, std::nullopt);
}

TEST(Environment, joins_cookies_that_came_in_several_fields) {
  const Map map = build({{"HTTP_COOKIE", "a=b"}, {"HTTP_COOKIE", ""}, {"HTTP_COOKIE", "c=d"}});
  EXPECT_EQ(map.at("HTTP_COOKIE"), "a=b; c=d");
}

TEST(Environment, knows_who_follows_local_redirects) {
  const auto follows = [](std::string_view server) {
    return cgi::build_environment({{"SERVER_SOFTWARE", server}}, {"/s", "", ""}, "/s", {})
        .value()
        .server_redirects;
  };
  for (const char* server : {"", "Apache/2.4.62 (Debian) mod_fcgid/2.3.9", "nginx/1.22.1",
                             "lighttpd/1.4.69", "HAProxy 2.6.12"}) {
    EXPECT_TRUE(follows(server)) << server;
  }
  // mod_proxy_fcgi would answer 200 with an empty page.
  for (const char* server : {"Apache/2.4.62 (Debian)", "Caddy/v2.6.2", "h2o/2.2.5", "another"}) {
    EXPECT_FALSE(follows(server)) << server;
  }
}

TEST(Environment, refuses_a_nul_byte_in_the_paths) {
  const auto environment = cgi::build_environment({}, {"/s\0A=1"s, "", ""}, "/s", {});
  ASSERT_FALSE(environment.ok());
  EXPECT_EQ(environment.refusal().status, 400);
}

TEST(Environment, falls_back_on_what_the_web_server_does_not_send) {
  const std::vector<std::pair<std::string, std::string>> fallback = {
      {"HOME", "/var/www"}, {"PATH", "/bin"}, {"LANG", "C"}};
  const std::vector<std::pair<std::string, std::string>> configured = {{"LANG", "C.UTF-8"}};
  const auto environment = cgi::build_environment({{"HOME", "/srv"}}, {"/s", "", ""}, "/s",
                                                  configured, {.fallback = fallback});
  const std::string block = environment.value().block;
  EXPECT_NE(block.find("HOME=/srv\0"s), block.npos);
  EXPECT_NE(block.find("PATH=/bin\0"s), block.npos);
  EXPECT_NE(block.find("LANG=C.UTF-8\0"s), block.npos);
  EXPECT_EQ(block.find("/var/www"), block.npos);
}

TEST(Environment, never_passes_on_what_the_bridge_alone_may_set) {
  const std::vector<std::string> all = {"*"};
  const auto environment =
      cgi::build_environment({{"CGIBRIDGE_CHECKPOINT", "fd=3"}, {"LD_PRELOAD", "/lib/a.so"}},
                             {"/s", "", ""}, "/s", {}, {.passed = all});
  EXPECT_EQ(environment.value().block.find("CGIBRIDGE"), std::string::npos);
  EXPECT_NE(environment.value().block.find("LD_PRELOAD=/lib/a.so"), std::string::npos);
}

}  // namespace
