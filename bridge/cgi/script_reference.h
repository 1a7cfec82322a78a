// Which file the web server means, and how the request's path divides into SCRIPT_NAME and
// PATH_INFO. Between the two steps stands the file system: script_path() gives a path to look up,
// the router finds the program on it and what is left over, split_path() uses what is left over.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "cgi/refusal.h"
#include "cgi/variables.h"

namespace cgi {

// The absolute path that the web server means, PATH_INFO possibly still behind it.
//
// SCRIPT_FILENAME, with what Apache's mod_proxy_fcgi leaves on it taken off:
//   proxy:fcgi://host:port/path, proxy:unix:/socket|fcgi://host/path, proxy:balancer://name/path;
//   a "?" and the query behind the path;
//   percent-encoding (ProxyPass encodes, SetHandler does not): the spelling, plain or decoded, that
//   agrees further with SCRIPT_NAME + PATH_INFO, which are never encoded, is taken.
// Without a SCRIPT_FILENAME: DOCUMENT_ROOT + SCRIPT_NAME.
//
// Refuses with 400 a NUL byte, with 404 no path at all or one that is not absolute. Does not look
// at the file system, so "..", links and roots are the router's to judge.
OrRefusal<std::string> script_path(const Variables& variables);

// The same request with PATH_INFO after SCRIPT_NAME and SCRIPT_FILENAME again, for a web server
// that divides the path where a folder ends (lighttpd: a program in a folder below a ScriptAlias).
// Its new values are views of what is added to owned, whose elements must not move. None: there is
// no PATH_INFO, or SCRIPT_FILENAME ends with it.
std::optional<Variables> undivided(const Variables& variables, std::deque<std::string>& owned);

// RFC 3875 4.1.5, 4.1.6, 4.1.13, as the program shall see them.
struct PathSplit {
  std::string script_name;
  std::string path_info;        // "" = the request has none
  std::string path_translated;  // "" = none, as always without path_info
};

// script_file: the leading part of script_path()'s answer that names the program; rest: what is
// behind it ("" or "/..."). Both only read during the call.
//
// PATH_INFO is rest; when that is empty, what the web server sent as PATH_INFO (it has split the
// path itself). It is taken off the end of SCRIPT_NAME if it is still there. A missing SCRIPT_NAME
// is made up from DOCUMENT_URI or REQUEST_URI.
// PATH_TRANSLATED is the web server's own, if it stands for the same PATH_INFO and is a path, else
// DOCUMENT_ROOT + PATH_INFO.
PathSplit split_path(const Variables& variables, std::string_view script_file,
                     std::string_view rest);

}  // namespace cgi
