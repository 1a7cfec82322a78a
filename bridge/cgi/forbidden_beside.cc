#include <algorithm>
#include <array>

#include "cgi/forbidden_table.h"

// What is too rare for the table in forbidden_name.cc. No table can be complete, so a name is also
// judged by its end: many libraries call the folder of the code that they load
// SOMETHING_PLUGIN_PATH.
namespace cgi {
namespace {

// A * at the end stands for all names that begin so.
constexpr auto kRuntimes = std::to_array<std::string_view>({"ANT_ARGS",
                                                            "ANT_OPTS",
                                                            "BOOTSNAP_*",
                                                            "BUNDLER_*",
                                                            "CAML*",
                                                            "CLJ_*",
                                                            "CL_SOURCE_REGISTRY",
                                                            "CRYSTAL_*",
                                                            "ECLDIR",
                                                            "ELECTRON_*",
                                                            "GAUCHE_*",
                                                            "GFORTHPATH",
                                                            "GHC_*",
                                                            "GRADLE_*",
                                                            "GROOVY_*",
                                                            "IBM_JAVA_OPTIONS",
                                                            "IRBRC",
                                                            "JRUBY*",
                                                            "JVM_OPTS",
                                                            "KOTLIN_*",
                                                            "LUAROCKS_*",
                                                            "MAVEN_*",
                                                            "MVM_*",
                                                            "NVM_*",
                                                            "OCAML*",
                                                            "OPENJ9_JAVA_OPTIONS",
                                                            "PHPDBG_*",
                                                            "PIKE_*",
                                                            "PYENV_*",
                                                            "PYPY*",
                                                            "RAKU*",
                                                            "RBENV_*",
                                                            "REGINA_*",
                                                            "RVM_*",
                                                            "SBCL_*",
                                                            "SBT_OPTS",
                                                            "SCALA_*",
                                                            "SWIPL*",
                                                            "SWI_HOME_DIR",
                                                            "TRUFFLERUBYOPT",
                                                            "TS_NODE_*",
                                                            "XDEBUG_*",
                                                            "YARN_*",
                                                            "YASH_LOADPATH"});
constexpr auto kTools = std::to_array<std::string_view>({"APT_CONFIG",
                                                         "ASPELL_CONF",
                                                         "AWS_CONFIG_FILE",
                                                         "AWS_SHARED_CREDENTIALS_FILE",
                                                         "BRZ_*",
                                                         "BZIP",
                                                         "BZIP2",
                                                         "CPLUS_INCLUDE_PATH",
                                                         "C_INCLUDE_PATH",
                                                         "DARCS_*",
                                                         "DEBUGINFOD_*",
                                                         "DEPENDENCIES_OUTPUT",
                                                         "DOCUTILSCONFIG",
                                                         "DPKG_*",
                                                         "ELINKS_*",
                                                         "ENCHANT_CONFIG_DIR",
                                                         "ESBUILD_BINARY_PATH",
                                                         "FFREPORT",
                                                         "FZF_DEFAULT_COMMAND",
                                                         "GAWK_*",
                                                         "GNUPLOT*",
                                                         "HIGHLIGHT_DATADIR",
                                                         "KUBECONFIG",
                                                         "M4PATH",
                                                         "MAILCAPS",
                                                         "METAMAIL_*",
                                                         "MPG123_*",
                                                         "OBJC_INCLUDE_PATH",
                                                         "PROCMAILRC",
                                                         "PSQL*",
                                                         "RARINISWITCHES",
                                                         "SCREENRC",
                                                         "SOURCE_HIGHLIGHT_DATADIR",
                                                         "SOX_*",
                                                         "SSH_PKCS11_HELPER",
                                                         "SSH_SK_*",
                                                         "SUNPRO_DEPENDENCIES",
                                                         "SYSTEM_WGETRC",
                                                         "UNZIPOPT",
                                                         "W3M_*",
                                                         "ZIPINFO",
                                                         "ZIPINFOOPT"});
constexpr auto kLibraries = std::to_array<std::string_view>({"CHARSETALIASDIR",
                                                             "CTLOG_FILE",
                                                             "CUDA_INJECTION*",
                                                             "DATEMSK",
                                                             "DBIC_TRACE",
                                                             "DBI_PROFILE",
                                                             "FI_PROVIDER_PATH",
                                                             "FREETDSCONF",
                                                             "GIT_SSL_*",
                                                             "HDF5_PLUGIN_PATH",
                                                             "HSA_*",
                                                             "HTTPS_CA_DIR",
                                                             "HTTPS_CA_FILE",
                                                             "HWLOC_PLUGINS_PATH",
                                                             "IMLIB2_*",
                                                             "LIBXSLT_*",
                                                             "LOCALE_ARCHIVE",
                                                             "MUSL_LOCPATH",
                                                             "OMPI_*",
                                                             "OPENSC_*",
                                                             "PMIX_*",
                                                             "PYDEVD_*",
                                                             "QLOGDIR",
                                                             "RANDFILE",
                                                             "SDL_*",
                                                             "SPA_*",
                                                             "TDSDUMP*",
                                                             "TPM2*",
                                                             "TSS2_*",
                                                             "WEBKIT_*",
                                                             "XML_DEBUG_CATALOG"});

template <std::size_t size>
constexpr auto entries(const std::array<std::string_view, size>& names, std::string_view reason) {
  std::array<Forbidden, size> entries{};
  std::ranges::transform(names, entries.begin(), [reason](std::string_view name) {
    return name.ends_with('*') ? Forbidden{name.substr(0, name.size() - 1), Match::prefix, reason}
                               : Forbidden{name, Match::whole, reason};
  });
  return entries;
}

constexpr NameTable kRuntimeNames(entries(kRuntimes, "runtime"));
constexpr NameTable kToolNames(entries(kTools, "tool"));
constexpr NameTable kLibraryNames(entries(kLibraries, "library"));

constexpr auto kEnds = std::to_array<std::string_view>(
    {"_ASKPASS",      "_CA_BUNDLE",    "_DRIVERS_PATH", "_DRIVER_DIR",   "_DRIVER_PATH",
     "_EDITOR",       "_FILTER_PATH",  "_INCLUDE_PATH", "_LIBRARY_PATH", "_LIB_PATH",
     "_LOADER_PATH",  "_LOAD_PATH",    "_MODDIR",       "_MODULEDIR",    "_MODULES_DIR",
     "_MODULES_PATH", "_MODULE_DIR",   "_MODULE_PATH",  "_PAGER",        "_PLUGINDIR",
     "_PLUGINS_DIR",  "_PLUGINS_PATH", "_PLUGIN_DIR",   "_PLUGIN_DIRS",  "_PLUGIN_PATH",
     "_PRELOAD"});

// Most of CGI's own names end otherwise, and need no search.
constexpr bool may_be_an_end(char letter) {
  return std::ranges::any_of(kEnds,
                             [letter](std::string_view end) { return end.back() == letter; });
}

// In any case: Python and Perl ignore it here.
constexpr auto kProxies = std::to_array<std::string_view>(
    {"all_proxy", "cgi_http_proxy", "ftp_proxy", "gopher_proxy", "http_proxy", "https_proxy",
     "no_proxy", "rsync_proxy", "socks4_proxy", "socks5_proxy", "socks_proxy", "ws_proxy",
     "wss_proxy"});

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool is_proxy(std::string_view name) {
  return lower(name.back()) == 'y' && std::ranges::any_of(kProxies, [name](std::string_view proxy) {
           return std::ranges::equal(name, proxy, {}, lower);
         });
}

}  // namespace

std::optional<std::string_view> forbidden_beside(std::string_view name) {
  if (name.empty()) return std::nullopt;
  if (const auto reason = kRuntimeNames.reason_for(name)) return reason;
  if (const auto reason = kToolNames.reason_for(name)) return reason;
  if (const auto reason = kLibraryNames.reason_for(name)) return reason;
  if (is_proxy(name)) return "proxy";
  const bool ends_so = may_be_an_end(name.back()) &&
                       std::ranges::any_of(kEnds, [name](auto end) { return name.ends_with(end); });
  return ends_so ? std::optional<std::string_view>("library") : std::nullopt;
}

}  // namespace cgi
