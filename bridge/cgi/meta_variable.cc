#include <algorithm>
#include <array>

#include "cgi/environment.h"

namespace cgi {
namespace {

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

}  // namespace cgi
