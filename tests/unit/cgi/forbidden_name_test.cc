#include <gtest/gtest.h>

#include <string_view>

#include "cgi/environment.h"

namespace {

TEST(ForbiddenName, knows_what_rare_runtimes_and_tools_load_and_run) {
  for (const std::string_view name :
       {"BOOTSNAP_CACHE_DIR", "BRZ_PLUGIN_PATH", "C_INCLUDE_PATH", "CAML_DEBUG_SOCKET",
        "APT_CONFIG", "DARCS_GET_HTTP", "DBIC_TRACE", "FFREPORT", "GHC_PACKAGE_PATH",
        "GNUPLOT_DRIVER_DIR", "OCAMLLIB", "PSQLRC", "RANDFILE", "SSH_SK_PROVIDER", "SYSTEM_WGETRC",
        "TDSDUMP", "TS_NODE_PROJECT", "XDEBUG_CONFIG"}) {
    EXPECT_TRUE(cgi::forbidden_name(name)) << name;
  }
}

TEST(ForbiddenName, judges_what_no_table_has_by_its_end) {
  for (const std::string_view name :
       {"SOMELIB_PLUGIN_PATH", "SOMELIB_PLUGINS_DIR", "SOMELIB_MODULE_PATH", "SOMELIB_PRELOAD",
        "SOMELIB_LIBRARY_PATH", "SOMETOOL_EDITOR", "SOMETOOL_PAGER", "SOMETOOL_ASKPASS",
        "SOMETOOL_CA_BUNDLE"}) {
    EXPECT_TRUE(cgi::forbidden_name(name)) << name;
  }
}

TEST(ForbiddenName, knows_a_proxy_in_any_case) {
  for (const std::string_view name :
       {"Https_Proxy", "https_PROXY", "Http_Proxy", "No_Proxy", "SOCKS_PROXY", "socks5_proxy"}) {
    EXPECT_EQ(cgi::forbidden_name(name), "proxy") << name;
  }
}

TEST(ForbiddenName, leaves_data_alone) {
  for (const std::string_view name :
       {"", "A", "_", "BEHIND_PROXY", "HTTP_X_PLUGIN_PATH", "HTTP_X_EDITOR",
        "CONTEXT_DOCUMENT_ROOT", "PATH_INFO", "PATH_TRANSLATED", "MAPSERVER_CONFIG_FILE",
        "MS_MAPFILE", "BASE_PATH", "UPLOAD_DIR", "PLUGIN_PATHS", "GNUPGHOME", "MPLCONFIGDIR",
        "DJANGO_SETTINGS_MODULE"}) {
    EXPECT_FALSE(cgi::forbidden_name(name)) << name;
  }
}

}  // namespace
