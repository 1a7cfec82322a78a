// Which file the web server means, and how the request's path splits into SCRIPT_NAME and
// PATH_INFO. The file system is consulted between the two steps: script_path() gives a path to look
// up, the router finds the program on it and what is left over, and split_path() uses the rest.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "cgi/refusal.h"
#include "cgi/variables.h"

namespace cgi {

// The absolute path that the web server means, perhaps still followed by PATH_INFO.
//
// It is SCRIPT_FILENAME without what Apache's mod_proxy_fcgi leaves on it:
//   proxy:fcgi://host:port/path, proxy:unix:/socket|fcgi://host/path, proxy:balancer://name/path;
//   a "?" and the query after the path (only from Apache, or with the prefix above, and not if
//   SCRIPT_NAME or PATH_INFO has a "?": then a visitor wrote it as %3F);
//   percent-encoding (ProxyPass encodes, SetHandler does not): SCRIPT_NAME and PATH_INFO, which are
//   never encoded, show whether a "%" in it is the visitor's own; if not, the decoded spelling is
//   taken if it agrees longer with SCRIPT_NAME, or ends with both.
// Without a SCRIPT_FILENAME it is DOCUMENT_ROOT + SCRIPT_NAME.
//
// Refuses a NUL byte with 400; a missing or relative path, and one that Apache has cut at a "?" of
// the visitor, with 404. Does not look at the file system, so the router must check "..", links
// and roots.
OrRefusal<std::string> script_path(const Variables& variables);

// The same request with PATH_INFO after SCRIPT_NAME and SCRIPT_FILENAME again, for a web server
// that divides the path where a folder ends (lighttpd: a program in a folder below a ScriptAlias).
// Its new values are views of what is added to owned, whose elements must not move. None: there is
// no PATH_INFO, or SCRIPT_FILENAME ends with it.
std::optional<Variables> undivided(const Variables& variables, std::deque<std::string>& owned);

// RFC 3875 4.1.5, 4.1.6, 4.1.13, as the program will see them.
struct PathSplit {
  std::string script_name;
  std::string path_info;        // "": the request has none
  std::string path_translated;  // "": none, as always without path_info
};

// script_file: the leading part of script_path()'s answer that names the program; rest: what
// follows it ("" or "/..."). Both are read only during the call.
//
// PATH_INFO is rest; if that is empty, it is what the web server sent as PATH_INFO (it has split
// the path itself). It is removed from the end of SCRIPT_NAME if it is still there. A missing
// SCRIPT_NAME is derived from DOCUMENT_URI or REQUEST_URI.
// PATH_TRANSLATED is the web server's own if it belongs to the same PATH_INFO and is a path,
// otherwise DOCUMENT_ROOT + PATH_INFO.
PathSplit split_path(const Variables& variables, std::string_view script_file,
                     std::string_view rest);

// Whether the visitor has doubled a slash in the part of the URL that names the program. Web
// servers that do not merge slashes compare their rules with the name as it is, and the file system
// finds the program nevertheless.
bool doubles_a_slash(const Variables& variables, const PathSplit& split);

}  // namespace cgi
