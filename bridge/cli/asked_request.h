// A request that a person has `check` or `try` send: from a line of text to FastCGI records.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fastcgi/wire.h"

namespace cli {

struct AskedRequest {
  std::string method = "GET";
  std::string path{};       // after the program's own, as in a URL: "" or "/..."
  std::string query{};      // without its "?"
  std::string body_file{};  // that read_body() reads; empty: none
  std::string body{};

  bool has_body() const { return !body_file.empty() || !body.empty(); }
  bool operator==(const AskedRequest&) const = default;
};

// "GET /path/info?query": what comes after the program in the URL, so "/" alone means no path info.
// A third word "@FILE" names a file with the body. The error is a sentence.
base::Result<AskedRequest> parse_request_line(std::string_view line);

// One request per line; empty lines, and lines that begin with "#", are ignored. The error begins
// with the number of the line.
base::Result<std::vector<AskedRequest>> parse_request_lines(std::string_view text);

// "GET /path/info?query", in the form that parse_request_line() takes.
std::string to_string(const AskedRequest& request);

// Whether it may be sent as often as one likes (RFC 9110 §9.2.1).
bool is_safe(const AskedRequest& request);

// Whether the operator said that a POST changes nothing that matters.
enum class Posts { left_out, harmless };

// The requests for a program about which nothing is known.
std::vector<AskedRequest> default_requests(Posts posts);

// The whole content of a file.
base::Result<std::string> read_file(const std::string& path);

// Reads the body_file of request, if it has one, into body.
base::Status read_body(AskedRequest& request);

// Name and value of a meta-variable.
using Assignment = std::pair<std::string, std::string>;

// What a web server would send with request, for script (its path). variables override what is made
// up here.
std::vector<Assignment> request_params(const AskedRequest& request, const std::string& script,
                                       const std::vector<Assignment>& variables);

// The connection's bytes for a request with these params; request: as in request_params().
inline constexpr fastcgi::RequestId kAskedId = 1;
std::string request_records(const std::vector<Assignment>& params, std::string_view body);
std::string request_records(const AskedRequest& request, const std::string& script,
                            const std::vector<Assignment>& variables);

// Splits "K=V"; "K" alone has an empty value.
Assignment parse_assignment(std::string_view text);

}  // namespace cli
