#include <algorithm>
#include <array>

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
                           kOpenssl = "openssl", kBridge = "bridge", kSystemd = "systemd";

constexpr std::array kForbidden = std::to_array<Forbidden>({
    {"LD_", Match::prefix, kLoader},
    {"GLIBC_TUNABLES", Match::whole, kLoader},
    // What glibc itself ignores in setuid programs.
    {"MALLOC_", Match::prefix, kLibc},
    {"GCONV_PATH", Match::whole, kLibc},
    {"GETCONF_DIR", Match::whole, kLibc},
    {"HOSTALIASES", Match::whole, kLibc},
    {"LOCALDOMAIN", Match::whole, kLibc},
    {"LOCPATH", Match::whole, kLibc},
    {"NIS_PATH", Match::whole, kLibc},
    {"NLSPATH", Match::whole, kLibc},
    {"RESOLV_HOST_CONF", Match::whole, kLibc},
    {"RES_OPTIONS", Match::whole, kLibc},
    {"TMPDIR", Match::whole, kLibc},
    {"TZDIR", Match::whole, kLibc},
    // The web server's own PATH (Apache sends it) is no concern of the program either.
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
    {"ZDOTDIR", Match::whole, kShell},
    {"PERL", Match::prefix, kPerl},
    {"PYTHON", Match::prefix, kPython},
    {"RUBY", Match::prefix, kRuby},
    {"GEM_", Match::prefix, kRuby},
    {"BUNDLE_", Match::prefix, kRuby},
    {"NODE_OPTIONS", Match::whole, kNode},
    {"NODE_PATH", Match::whole, kNode},
    {"PHPRC", Match::whole, kPhp},
    {"PHP_INI_SCAN_DIR", Match::whole, kPhp},
    {"LUA_", Match::prefix, kLua},
    {"TCLLIBPATH", Match::whole, kTcl},
    {"CLASSPATH", Match::whole, kJava},
    {"JAVA_TOOL_OPTIONS", Match::whole, kJava},
    {"JDK_JAVA_OPTIONS", Match::whole, kJava},
    {"_JAVA_OPTIONS", Match::whole, kJava},
    {"AWKPATH", Match::whole, kAwk},
    {"AWKLIBPATH", Match::whole, kAwk},
    {"OPENSSL_", Match::prefix, kOpenssl},
    {"CGIBRIDGE_", Match::prefix, kBridge},
    {"LISTEN_", Match::prefix, kSystemd},
    {"NOTIFY_SOCKET", Match::whole, kSystemd},
});

constexpr char first_letter(const Forbidden& forbidden) {
  return forbidden.name.front();
}

// The table by first letters, so that a name is compared with few.
constexpr auto kByFirstLetter = [] {
  auto sorted = kForbidden;
  std::ranges::sort(sorted, {}, first_letter);
  return sorted;
}();

bool matches(const Forbidden& forbidden, std::string_view name) {
  return forbidden.match == Match::prefix ? name.starts_with(forbidden.name)
                                          : name == forbidden.name;
}

}  // namespace

std::optional<std::string_view> forbidden_name(std::string_view name) {
  if (name.starts_with("HTTP_")) return std::nullopt;  // most are, and none is in the table
  if (name.empty()) return std::nullopt;
  const auto* forbidden = std::ranges::lower_bound(kByFirstLetter, name.front(), {}, first_letter);
  for (; forbidden != kByFirstLetter.end() && first_letter(*forbidden) == name.front();
       ++forbidden) {
    if (matches(*forbidden, name)) return forbidden->reason;
  }
  return std::nullopt;
}

}  // namespace cgi
