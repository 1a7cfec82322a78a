#include <algorithm>
#include <array>
#include <cstdint>

#include "cgi/environment.h"

namespace cgi {
namespace {

enum class Match { whole, prefix };

struct Forbidden {
  std::string_view name;
  Match match;
  std::string_view reason;
};

constexpr std::string_view kLoader = "loader", kLibc = "libc", kShell = "shell", kPerl = "perl",
                           kPython = "python", kRuby = "ruby", kNode = "node", kPhp = "php",
                           kLua = "lua", kTcl = "tcl", kJava = "java", kAwk = "awk",
                           kOpenssl = "openssl", kBridge = "bridge", kSystemd = "systemd",
                           kGit = "git", kProxy = "proxy", kPager = "pager", kRuntime = "runtime",
                           kDatabase = "database", kTool = "tool";

constexpr std::array kForbidden = std::to_array<Forbidden>({
    {"LD_", Match::prefix, kLoader},
    {"GLIBC_TUNABLES", Match::whole, kLoader},
    // Names that glibc itself ignores in setuid programs.
    {"MALLOC_", Match::prefix, kLibc},
    {"GCONV_PATH", Match::whole, kLibc},
    {"GETCONF_DIR", Match::whole, kLibc},
    {"HOSTALIASES", Match::whole, kLibc},
    {"LOCALDOMAIN", Match::whole, kLibc},
    {"LOCPATH", Match::whole, kLibc},
    {"NIS_PATH", Match::whole, kLibc},
    {"NLSPATH", Match::whole, kLibc},
    {"RESOLV_", Match::prefix, kLibc},
    {"RES_OPTIONS", Match::whole, kLibc},
    {"TMPDIR", Match::whole, kLibc},
    {"TMP", Match::whole, kLibc},
    {"TEMP", Match::whole, kLibc},
    {"TZDIR", Match::whole, kLibc},
    // The web server's own PATH (Apache sends it) does not concern the program either.
    {"PATH", Match::whole, kShell},
    {"IFS", Match::whole, kShell},
    {"ENV", Match::whole, kShell},
    {"BASH", Match::prefix, kShell},
    {"SHELLOPTS", Match::whole, kShell},
    {"SHELL", Match::whole, kShell},
    {"PS4", Match::whole, kShell},
    {"PROMPT_COMMAND", Match::whole, kShell},
    {"CDPATH", Match::whole, kShell},
    {"GLOBIGNORE", Match::whole, kShell},
    {"FPATH", Match::whole, kShell},
    {"EXECIGNORE", Match::whole, kShell},
    {"ZDOTDIR", Match::whole, kShell},
    {"PERL", Match::prefix, kPerl},
    {"PYTHON", Match::prefix, kPython},
    {"RUBY", Match::prefix, kRuby},
    {"GEM_", Match::prefix, kRuby},
    {"BUNDLE_", Match::prefix, kRuby},
    {"NODE_", Match::prefix, kNode},
    {"NPM_CONFIG_", Match::prefix, kNode},
    {"npm_config_", Match::prefix, kNode},
    {"PHPRC", Match::whole, kPhp},
    {"PHP_INI_SCAN_DIR", Match::whole, kPhp},
    {"LUA_", Match::prefix, kLua},
    {"TCLLIBPATH", Match::whole, kTcl},
    {"TCL_LIBRARY", Match::whole, kTcl},
    {"TCL8", Match::prefix, kTcl},
    {"TCL9", Match::prefix, kTcl},
    {"TK_LIBRARY", Match::whole, kTcl},
    {"CLASSPATH", Match::whole, kJava},
    {"JAVA_", Match::prefix, kJava},
    {"JDK_", Match::prefix, kJava},
    {"_JAVA_OPTIONS", Match::whole, kJava},
    // Other runtimes: what they load and where they write.
    {"GUILE_", Match::prefix, kRuntime},
    {"ERL_", Match::prefix, kRuntime},
    {"OCAMLRUNPARAM", Match::whole, kRuntime},
    {"CAMLRUNPARAM", Match::whole, kRuntime},
    {"CAML_LD_LIBRARY_PATH", Match::whole, kRuntime},
    {"GODEBUG", Match::whole, kRuntime},
    {"GHCRTS", Match::whole, kRuntime},
    {"MONO_", Match::prefix, kRuntime},
    {"DOTNET_", Match::prefix, kRuntime},
    {"CORECLR_", Match::prefix, kRuntime},
    {"R_HOME", Match::whole, kRuntime},
    {"R_LIBS", Match::prefix, kRuntime},
    {"R_PROFILE", Match::prefix, kRuntime},
    {"R_ENVIRON", Match::prefix, kRuntime},
    {"AWKPATH", Match::whole, kAwk},
    {"AWKLIBPATH", Match::whole, kAwk},
    {"OPENSSL_", Match::prefix, kOpenssl},
    {"SSL_CERT_FILE", Match::whole, kOpenssl},
    {"SSL_CERT_DIR", Match::whole, kOpenssl},
    {"SSLKEYLOGFILE", Match::whole, kOpenssl},
    // What git runs and from where; GIT_PROJECT_ROOT and the like pass.
    {"GIT_ALTERNATE_", Match::prefix, kGit},
    {"GIT_ASKPASS", Match::whole, kGit},
    {"GIT_COMMON_DIR", Match::whole, kGit},
    {"GIT_CONFIG", Match::prefix, kGit},
    {"GIT_DIR", Match::whole, kGit},  // its config and hooks name programs
    {"GIT_EDITOR", Match::whole, kGit},
    {"GIT_EXEC_PATH", Match::whole, kGit},
    {"GIT_EXTERNAL_DIFF", Match::whole, kGit},
    {"GIT_PAGER", Match::whole, kGit},
    {"GIT_OBJECT_DIRECTORY", Match::whole, kGit},
    {"GIT_PROXY_", Match::prefix, kGit},
    {"GIT_SEQUENCE_EDITOR", Match::whole, kGit},
    {"GIT_SSH", Match::prefix, kGit},
    {"GIT_TEMPLATE_DIR", Match::whole, kGit},
    {"GIT_TRACE", Match::prefix, kGit},
    {"HGRCPATH", Match::whole, kTool},
    {"SVN_SSH", Match::whole, kTool},
    {"CVS_RSH", Match::whole, kTool},
    {"RSYNC_", Match::prefix, kTool},
    {"MAGICK_", Match::prefix, kTool},
    {"GS_LIB", Match::whole, kTool},
    {"GS_OPTIONS", Match::whole, kTool},
    // Extra options for tools, added to those on their command line: tar's can run a program.
    {"TAR_OPTIONS", Match::whole, kTool},
    {"GREP_OPTIONS", Match::whole, kTool},
    {"GZIP", Match::whole, kTool},
    {"XZ_OPT", Match::whole, kTool},
    {"XZ_DEFAULTS", Match::whole, kTool},
    {"ZIPOPT", Match::whole, kTool},
    {"UNZIP", Match::whole, kTool},
    {"BC_ENV_ARGS", Match::whole, kTool},
    {"MAKEFLAGS", Match::whole, kTool},
    {"MAKEFILES", Match::whole, kTool},
    {"GNUMAKEFLAGS", Match::whole, kTool},
    {"GCC_EXEC_PREFIX", Match::whole, kTool},
    {"COMPILER_PATH", Match::whole, kTool},
    {"RPM_CONFIGDIR", Match::whole, kTool},
    {"WGETRC", Match::whole, kTool},
    {"SSH_ASKPASS", Match::prefix, kTool},
    {"SUDO_ASKPASS", Match::whole, kTool},
    {"EXINIT", Match::whole, kTool},
    {"VIMINIT", Match::whole, kTool},
    {"INPUTRC", Match::whole, kTool},
    {"GTK_MODULES", Match::whole, kTool},
    {"GTK_PATH", Match::whole, kTool},
    {"QT_PLUGIN_PATH", Match::whole, kTool},
    {"LIBGL_DRIVERS_PATH", Match::whole, kTool},
    {"EDITOR", Match::whole, kPager},
    {"VISUAL", Match::whole, kPager},
    {"PAGER", Match::whole, kPager},
    {"MANPAGER", Match::whole, kPager},
    {"BROWSER", Match::whole, kPager},
    {"LESSOPEN", Match::whole, kPager},
    {"LESSCLOSE", Match::whole, kPager},
    // Where a program's own requests go (httpoxy's other names), and which servers they trust.
    {"http_proxy", Match::whole, kProxy},
    {"https_proxy", Match::whole, kProxy},
    {"ftp_proxy", Match::whole, kProxy},
    {"all_proxy", Match::whole, kProxy},
    {"no_proxy", Match::whole, kProxy},
    {"HTTPS_PROXY", Match::whole, kProxy},
    {"FTP_PROXY", Match::whole, kProxy},
    {"ALL_PROXY", Match::whole, kProxy},
    {"NO_PROXY", Match::whole, kProxy},
    {"CGI_HTTP_PROXY", Match::whole, kProxy},
    {"CURL_", Match::prefix, kProxy},
    {"REQUESTS_CA_BUNDLE", Match::whole, kProxy},
    // Drivers and modules that database and login libraries load.
    {"ODBC", Match::prefix, kDatabase},
    {"LIBMYSQL_", Match::prefix, kDatabase},
    {"KRB5_CONFIG", Match::whole, kDatabase},
    {"SASL_PATH", Match::whole, kDatabase},
    {"GIO_EXTRA_MODULES", Match::whole, kDatabase},
    {"DBI_AUTOPROXY", Match::whole, kDatabase},
    {"DBI_TRACE", Match::whole, kDatabase},
    {"CGIBRIDGE_", Match::prefix, kBridge},
    {"LISTEN_", Match::prefix, kSystemd},
    {"NOTIFY_SOCKET", Match::whole, kSystemd},
    {"SYSTEMD_", Match::prefix, kSystemd},
});

// The first two letters as a number; the name must have two, as all in the table do.
constexpr unsigned letters_of(std::string_view name) {
  return static_cast<unsigned char>(name[0]) << 8 | static_cast<unsigned char>(name[1]);
}

struct Entry {
  unsigned first_letters;
  Forbidden forbidden;
};

constexpr unsigned first_letters(const Entry& entry) {
  return entry.first_letters;
}

// The table sorted by first letters, so that a name is compared with only a few entries.
constexpr auto kByFirstLetters = [] {
  std::array<Entry, kForbidden.size()> sorted{};
  for (std::size_t i = 0; i < kForbidden.size(); ++i) {
    sorted[i] = {letters_of(kForbidden[i].name), kForbidden[i]};
  }
  std::ranges::sort(sorted, {}, first_letters);
  return sorted;
}();

constexpr std::uint64_t bit_of(char letter) {
  return std::uint64_t{1} << (static_cast<unsigned char>(letter) % 64);
}

// For each first letter, which second letters occur: most names need no search at all.
constexpr auto kSecondLetters = [] {
  std::array<std::uint64_t, 256> seen{};
  for (const Forbidden& forbidden : kForbidden) {
    seen[static_cast<unsigned char>(forbidden.name[0])] |= bit_of(forbidden.name[1]);
  }
  return seen;
}();

bool matches(const Forbidden& forbidden, std::string_view name) {
  return forbidden.match == Match::prefix ? name.starts_with(forbidden.name)
                                          : name == forbidden.name;
}

// RFC 3875 §4.1, and what Apache's suEXEC considers safe; an entry that ends with _ stands for all
// names that begin so.
constexpr auto kMetaVariables = std::to_array<std::string_view>(
    {"AUTH_TYPE",    "CONTENT_LENGTH", "CONTENT_TYPE",  "CONTEXT_",         "DATE_GMT",
     "DATE_LOCAL",   "DOCUMENT_",      "FCGI_ROLE",     "FCGI_APACHE_ROLE", "GATEWAY_INTERFACE",
     "HTTPS",        "HTTP_",          "LAST_MODIFIED", "PATH_INFO",        "PATH_TRANSLATED",
     "QUERY_STRING", "REDIRECT_",      "REMOTE_",       "REQUEST_",         "SCRIPT_",
     "SERVER_",      "SSL_",           "UNIQUE_ID",     "USER_NAME"});

}  // namespace

bool is_meta_variable(std::string_view name) {
  return std::ranges::any_of(kMetaVariables, [name](std::string_view known) {
    return known.ends_with('_') ? name.starts_with(known) : name == known;
  });
}

std::optional<std::string_view> forbidden_name(std::string_view name) {
  if (name.starts_with("HTTP_")) return std::nullopt;  // most do, and none is in the table
  if (name.size() < 2) return std::nullopt;
  const std::uint64_t second_letters = kSecondLetters[static_cast<unsigned char>(name[0])];
  if ((second_letters & bit_of(name[1])) == 0) return std::nullopt;
  const unsigned letters = letters_of(name);
  const auto* entry = std::ranges::lower_bound(kByFirstLetters, letters, {}, first_letters);
  for (; entry != kByFirstLetters.end() && entry->first_letters == letters; ++entry) {
    if (matches(entry->forbidden, name)) return entry->forbidden.reason;
  }
  return std::nullopt;
}

}  // namespace cgi
