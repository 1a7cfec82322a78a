// The environment of a program for one request (RFC 3875 4.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cgi/refusal.h"
#include "cgi/script_reference.h"
#include "cgi/variables.h"

namespace cgi {

// "K=V\0K=V\0...", each name once.
struct Environment {
  std::string block;
  std::size_t count = 0;
  // CONTENT_LENGTH as a number; none: the request has no body.
  std::optional<std::uint64_t> content_length;
  // The first parameter that was withheld because of its name; empty: none. PATH does not count,
  // because web servers send their own. A view of the variables.
  std::string_view kept_back;
  // Whether a local redirect (RFC 3875 6.2.2) may be left to this web server: Apache's mod_fcgid
  // follows it; nginx, lighttpd and HAProxy turn it into a 302; others, such as Apache's
  // mod_proxy_fcgi, into a page with status 200.
  bool server_redirects = true;
};

// Names and values from the configuration; if a name is given twice, the last counts.
using ConfiguredEnvironment = std::span<const std::pair<std::string, std::string>>;

// Which of a web server's names pass, in addition to forbidden_name(). Views the settings.
struct ParamRules {
  bool strict = false;  // only what is_meta_variable() knows
  // These always pass: NAME, NAME* for all names that begin so, or * for all.
  std::span<const std::string> passed = {};
  ConfiguredEnvironment fallback = {};  // for names that the web server does not send
};

// The search path of a program for which the operator has configured none.
inline constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

// What the web server sent, completed and cleaned:
//   always set: GATEWAY_INTERFACE (CGI/1.1 unless sent), QUERY_STRING, SCRIPT_NAME, PATH, and
//     SCRIPT_FILENAME (script_filename: the program's path);
//   only with a value: CONTENT_LENGTH, CONTENT_TYPE (4.1.2, 4.1.3), PATH_INFO, PATH_TRANSLATED
//     (4.1.5: an empty PATH_INFO means that there is none; nginx sends it empty);
//   never: HTTP_PROXY (httpoxy), HTTP_CONTENT_LENGTH, HTTP_CONTENT_TYPE (4.1.18: other variables
//     carry these; nginx sends both), FCGI_ROLE, and what forbidden_name() names;
//   dropped: names that are empty or contain '=' or NUL, values that contain NUL;
//   if a name is sent twice, the last counts; of a request's header fields all do, joined by ", "
//     (4.1.18; cookies by "; "), except of those that are no lists, such as HTTP_HOST.
// Everything else passes unchanged, including HTTP_AUTHORIZATION and REDIRECT_STATUS.
// configured overrides everything and may set any name, even a forbidden one. rules can let
// forbidden names pass, or withhold all that are not CGI's own.
//
// Refuses with 400 a CONTENT_LENGTH that is not a 64-bit number, and a NUL byte in split or
// script_filename.
OrRefusal<Environment> build_environment(const Variables& variables, const PathSplit& split,
                                         std::string_view script_filename,
                                         ConfiguredEnvironment configured,
                                         const ParamRules& rules = {});

// The value of a name in an environment block ("K=V\0..."), a view of it; "" if it is not there.
std::string_view value_in(std::string_view block, std::string_view name);

// fcgiwrap's variable for the folder in which a program runs; "-" is the bridge's own.
inline constexpr std::string_view kFolderVariable = "FCGI_CHDIR";

// The folder in which a program runs: what the block ("K=V\0...") says in kFolderVariable,
// otherwise the folder of program, an absolute path (RFC 3875 §7.2).
std::string folder_of(const std::string& program, std::string_view block);

// Why a web server's parameter with this name must not reach a program, as a word for a log; none
// if it may. These names control the loader, libc, shells and interpreters: a web server that lets
// clients choose a name would let them choose the code that runs.
std::optional<std::string_view> forbidden_name(std::string_view name);

// Whether it is a variable between the bridge and its adapters: nobody else may set it, whatever
// passes otherwise.
bool is_ours(std::string_view name);

// Whether a name is in RFC 3875, or is one that web servers also set for each request (suEXEC's
// list of safe names): HTTP_*, SSL_*, REDIRECT_*, REQUEST_URI and so on.
bool is_meta_variable(std::string_view name);

}  // namespace cgi
