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
  // CONTENT_LENGTH as a number; none = the request has no body.
  std::optional<std::uint64_t> content_length;
  // The first of what was sent and did not pass for its name, PATH apart, which web servers have of
  // their own; empty: none. A view of the variables.
  std::string_view kept_back;
  // Whether a redirect to a path of its own may be left to this web server (RFC 3875 6.2.2): Apache
  // and lighttpd follow it, nginx and HAProxy make it a 302, others a page of status 200.
  bool server_redirects = true;
};

// Which of a web server's names pass, beyond what forbidden_name() says. Views the settings.
struct ParamRules {
  bool strict = false;  // only what is_meta_variable() knows
  std::span<const std::string>
      passed;  // NAME, or NAME* for all that begin so: these do in any case
};

// Names and values from the configuration; of a name given twice, the last counts.
using ConfiguredEnvironment = std::span<const std::pair<std::string, std::string>>;

// The search path of a program whose operator configured none.
inline constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

// What the web server sent, completed and cleaned:
//   always set: GATEWAY_INTERFACE (CGI/1.1 unless sent), QUERY_STRING, SCRIPT_NAME, PATH, and
//     SCRIPT_FILENAME (script_filename: the program's path);
//   only with a value: CONTENT_LENGTH, CONTENT_TYPE (4.1.2, 4.1.3), PATH_INFO, PATH_TRANSLATED
//     (4.1.5: an empty PATH_INFO means that there is none; nginx sends it empty);
//   never: HTTP_PROXY (httpoxy), HTTP_CONTENT_LENGTH, HTTP_CONTENT_TYPE (4.1.18: they stand in
//     variables of their own; nginx sends both), FCGI_ROLE, and what forbidden_name() names;
//   dropped: names that are empty or hold '=' or NUL, values that hold NUL;
//   of a name sent twice, the last.
// All else passes as it is: HTTP_AUTHORIZATION and REDIRECT_STATUS, too.
// configured wins over everything and may set any name, even a forbidden one. rules let forbidden
// names pass, or keep back all that are not CGI's own.
//
// Refuses with 400 a CONTENT_LENGTH that is no number of 64 bits, and a NUL byte in split or
// script_filename.
OrRefusal<Environment> build_environment(const Variables& variables, const PathSplit& split,
                                         std::string_view script_filename,
                                         ConfiguredEnvironment configured,
                                         const ParamRules& rules = {});

// Why a web server's parameter of this name must not reach a program, as a word for a log; none
// if it may. These names steer the loader, libc, shells and interpreters: through them a web
// server that lets clients choose a name would let them choose the code that runs.
std::optional<std::string_view> forbidden_name(std::string_view name);

// Whether a name is one of RFC 3875's, or of those that web servers set beside them for each
// request (suEXEC's list of what is safe): HTTP_*, SSL_*, REDIRECT_*, REQUEST_URI and so on.
bool is_meta_variable(std::string_view name);

}  // namespace cgi
