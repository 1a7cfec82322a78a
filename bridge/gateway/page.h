// What the bridge answers by itself: requests for its own page, not for a program.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gateway {

// A request below bridge.page.path. All views are borrowed for the call.
struct PageRequest {
  std::string_view method;  // "GET"
  std::string_view below;   // of the path, behind bridge.page.path: "", "/data.json"
  std::string_view query;
  std::string_view body;    // whole; at most kPageBodyMax bytes
  std::string_view client;  // REMOTE_ADDR
  // A request header by its CGI name ("HTTP_ORIGIN", "CONTENT_TYPE"); "" if it is not there.
  std::function<std::string_view(std::string_view name)> variable;
};

inline constexpr std::size_t kPageBodyMax = 4096;

struct PageAnswer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers{};  // others
  std::string body{};
};

// Runs on the loop; must not block.
using PageHandler = std::function<PageAnswer(const PageRequest&)>;

}  // namespace gateway
