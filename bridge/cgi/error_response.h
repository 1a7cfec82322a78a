// The answer to a request that no program answered.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace cgi {

// "Not Found" for 404; "Error" for a status that the bridge never gives.
std::string_view status_phrase(int status);

// A CGI head and a small HTML page. reason is shown to the client: one public sentence without
// paths ("": none); it is escaped here. retry_after: when it makes sense to ask again (RFC 9110
// §10.2.3); 0: no Retry-After is sent. fields: more lines for the head, each with its CR LF.
std::string error_response(int status, std::string_view reason,
                           std::chrono::seconds retry_after = std::chrono::seconds::zero(),
                           std::string_view fields = {});

}  // namespace cgi
