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
                           kDatabase = "database", kTool = "tool", kDesktop = "desktop",
                           kImages = "images", kChecker = "checker", kCompiler = "compiler";

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
    {"COMPlus_", Match::prefix, kRuntime},
    {"COREHOST_", Match::prefix, kRuntime},
    {"R_", Match::prefix, kRuntime},
    {"RENV_", Match::prefix, kRuntime},
    {"JULIA_", Match::prefix, kRuntime},
    {"OCTAVE_", Match::prefix, kRuntime},
    {"OCTAVERC", Match::whole, kRuntime},
    {"DENO_", Match::prefix, kRuntime},
    {"BUN_", Match::prefix, kRuntime},
    {"GOCOVERDIR", Match::whole, kRuntime},
    {"GOFLAGS", Match::whole, kRuntime},
    {"GOTOOLCHAIN", Match::whole, kRuntime},
    {"GOROOT", Match::whole, kRuntime},
    {"GOPATH", Match::whole, kRuntime},
    {"GOENV", Match::whole, kRuntime},
    {"GOTRACEBACK", Match::whole, kRuntime},  // "crash" leaves a core file
    {"RACKET_", Match::prefix, kRuntime},
    {"PLTCOLLECTS", Match::whole, kRuntime},
    {"PLTADDONDIR", Match::whole, kRuntime},
    {"PLTUSERHOME", Match::whole, kRuntime},
    {"SCHEME_LIBRARY_PATH", Match::whole, kRuntime},
    {"CHICKEN_", Match::prefix, kRuntime},
    {"GAMBCOPT", Match::whole, kRuntime},
    {"ELIXIR_", Match::prefix, kRuntime},
    {"MIX_", Match::prefix, kRuntime},
    {"REBAR_", Match::prefix, kRuntime},
    {"COMPOSER_", Match::prefix, kPhp},
    {"CARGO", Match::prefix, kCompiler},
    {"RUSTC", Match::prefix, kCompiler},
    {"RUSTDOC", Match::prefix, kCompiler},
    {"RUSTFLAGS", Match::whole, kCompiler},
    {"RUSTUP_", Match::prefix, kCompiler},
    {"EMACS", Match::prefix, kRuntime},
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
    {"GIT_ATTR_SOURCE", Match::whole, kGit},
    {"GIT_DISCOVERY_ACROSS_FILESYSTEM", Match::whole, kGit},
    {"GIT_GRAFT_FILE", Match::whole, kGit},
    {"GIT_INDEX_FILE", Match::whole, kGit},
    {"GIT_REDIRECT_", Match::prefix, kGit},
    {"GIT_SHALLOW_FILE", Match::whole, kGit},
    {"GIT_TR2", Match::prefix, kGit},
    {"GIT_WORK_TREE", Match::whole, kGit},
    // What Mercurial, Subversion, CVS and others run, and the settings that name it.
    {"HG", Match::whole, kTool},
    {"HGEDITOR", Match::whole, kTool},
    {"HGMERGE", Match::whole, kTool},
    {"HGRCPATH", Match::whole, kTool},
    {"SVN_SSH", Match::whole, kTool},
    {"SVN_EDITOR", Match::whole, kTool},
    {"SVN_MERGE", Match::whole, kTool},
    {"SVN_EXPERIMENTAL_", Match::prefix, kTool},
    {"BZR_", Match::prefix, kTool},
    {"CVS_RSH", Match::whole, kTool},
    {"CVS_SERVER", Match::whole, kTool},
    {"CVSEDITOR", Match::whole, kTool},
    {"FOSSIL_", Match::prefix, kTool},
    {"RCSINIT", Match::whole, kTool},
    {"RSYNC_", Match::prefix, kTool},
    {"MAILRC", Match::whole, kTool},
    {"SENDMAIL", Match::whole, kTool},
    {"TERMINFO", Match::prefix, kTool},
    {"TERMCAP", Match::whole, kTool},
    {"TERMPATH", Match::whole, kTool},
    {"DBUS_", Match::prefix, kTool},
    {"PKG_CONFIG", Match::prefix, kTool},
    {"TEXMF", Match::prefix, kTool},
    {"TEXINPUTS", Match::prefix, kTool},
    {"openout_any", Match::whole, kTool},
    {"openin_any", Match::whole, kTool},
    {"shell_escape", Match::prefix, kTool},
    {"GROFF_", Match::prefix, kTool},
    {"MANPATH", Match::whole, kTool},
    {"MANROFFOPT", Match::whole, kTool},
    {"MANOPT", Match::whole, kTool},
    {"XML_CATALOG_FILES", Match::whole, kTool},
    {"SGML_CATALOG_FILES", Match::whole, kTool},
    {"SNMPCONFPATH", Match::whole, kTool},
    {"SNMPDLMODPATH", Match::whole, kTool},
    {"SNMP_PERSISTENT_", Match::prefix, kTool},
    {"MIBDIRS", Match::whole, kTool},
    {"MIBFILE", Match::prefix, kTool},
    {"MIBS", Match::whole, kTool},
    {"ICU_DATA", Match::whole, kTool},
    {"ENSCRIPT_LIBRARY", Match::whole, kTool},
    {"A2PS_CONFIG", Match::whole, kTool},
    // Coders, drivers and fonts that libraries for images, maps and sound load.
    {"MAGICK_", Match::prefix, kImages},
    {"GS_", Match::prefix, kImages},
    {"GDAL_CONFIG_FILE", Match::whole, kImages},
    {"GDAL_DRIVER_PATH", Match::whole, kImages},
    {"GDAL_PAM_PROXY_DIR", Match::whole, kImages},
    {"GDAL_PYTHON_", Match::prefix, kImages},
    {"GDAL_VRT_ENABLE_PYTHON", Match::whole, kImages},
    {"OGR_", Match::prefix, kImages},
    {"CPL_", Match::prefix, kImages},
    {"GST_", Match::prefix, kImages},
    {"VIPS", Match::prefix, kImages},
    {"FONTCONFIG_", Match::prefix, kImages},
    {"FC_DEBUG", Match::whole, kImages},
    {"FREI0R_PATH", Match::whole, kImages},
    {"LADSPA_PATH", Match::whole, kImages},
    {"LV2_PATH", Match::whole, kImages},
    {"ALSA_", Match::prefix, kImages},
    {"LIBVA_", Match::prefix, kImages},
    {"VDPAU_", Match::prefix, kImages},
    {"VK_", Match::prefix, kImages},
    {"OCL_ICD_", Match::prefix, kImages},
    {"OPENCL_", Match::prefix, kImages},
    {"__EGL_", Match::prefix, kImages},
    {"__GLX_", Match::prefix, kImages},
    {"GVBINDIR", Match::whole, kImages},
    // Where checks and measurements of a program write, and what they load.
    {"ASAN_", Match::prefix, kChecker},
    {"LSAN_", Match::prefix, kChecker},
    {"MSAN_", Match::prefix, kChecker},
    {"TSAN_", Match::prefix, kChecker},
    {"UBSAN_", Match::prefix, kChecker},
    {"HWASAN_", Match::prefix, kChecker},
    {"RTSAN_", Match::prefix, kChecker},
    {"SCUDO_", Match::prefix, kChecker},
    {"GWP_ASAN_", Match::prefix, kChecker},
    {"XRAY_", Match::prefix, kChecker},
    {"LLVM_", Match::prefix, kChecker},
    {"GCOV_", Match::prefix, kChecker},
    {"GMON_", Match::prefix, kChecker},
    {"VALGRIND_", Match::prefix, kChecker},
    {"COVERAGE_", Match::prefix, kChecker},
    {"HEAPPROFILE", Match::whole, kChecker},
    {"HEAPCHECK", Match::whole, kChecker},
    {"CPUPROFILE", Match::prefix, kChecker},
    {"PERFTOOLS_", Match::prefix, kChecker},
    {"JEMALLOC_", Match::prefix, kChecker},
    {"_RJEM_", Match::prefix, kChecker},
    {"MIMALLOC_", Match::prefix, kChecker},
    {"OMP_TOOL", Match::prefix, kChecker},
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
    {"RIPGREP_CONFIG_PATH", Match::whole, kTool},
    {"LYNX_", Match::prefix, kTool},
    {"ANSIBLE_", Match::prefix, kTool},
    {"CMAKE_", Match::prefix, kCompiler},
    {"LIBRARY_PATH", Match::whole, kCompiler},
    {"CPATH", Match::whole, kCompiler},
    {"CCACHE_", Match::prefix, kCompiler},
    // Modules that libraries of desktops load, and the folders of their settings. XDG_ also says
    // where others, git and fontconfig among them, look for theirs.
    {"XDG_", Match::prefix, kDesktop},
    {"GIO_", Match::prefix, kDesktop},
    {"GSETTINGS_", Match::prefix, kDesktop},
    {"G_MODULE_", Match::prefix, kDesktop},
    {"GI_TYPELIB_PATH", Match::whole, kDesktop},
    {"GDK_", Match::prefix, kDesktop},
    {"GTK", Match::prefix, kDesktop},  // GTK_PATH, GTK3_MODULES, GTK2_RC_FILES
    {"PANGO_", Match::prefix, kDesktop},
    {"QT_", Match::prefix, kDesktop},
    {"QML", Match::prefix, kDesktop},
    {"KDE", Match::prefix, kDesktop},
    {"LTDL_LIBRARY_PATH", Match::whole, kDesktop},
    {"LIBGL_", Match::prefix, kDesktop},
    {"GBM_", Match::prefix, kDesktop},
    {"MESA_", Match::prefix, kDesktop},
    {"GALLIUM_", Match::prefix, kDesktop},
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
    {"MYSQL_HOME", Match::whole, kDatabase},
    {"MARIADB_PLUGIN_DIR", Match::whole, kDatabase},
    {"PGSYSCONFDIR", Match::whole, kDatabase},
    {"PGSERVICE", Match::prefix, kDatabase},
    {"SQLITE_TMPDIR", Match::whole, kDatabase},
    {"LDAPCONF", Match::whole, kDatabase},
    {"LDAPRC", Match::whole, kDatabase},
    {"LDAPTLS_", Match::prefix, kDatabase},
    {"KRB5_", Match::prefix, kDatabase},
    {"GSS_MECH_CONFIG", Match::whole, kDatabase},
    {"SASL_", Match::prefix, kDatabase},
    {"P11_KIT_", Match::prefix, kDatabase},
    {"PKCS11", Match::prefix, kDatabase},
    {"SOFTHSM2_CONF", Match::whole, kDatabase},
    {"NSS_", Match::prefix, kDatabase},
    {"SSL_DIR", Match::whole, kDatabase},
    {"GNUTLS_", Match::prefix, kDatabase},
    {"GCRYPT_", Match::prefix, kDatabase},
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

}  // namespace

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
