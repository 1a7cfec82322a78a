// What the bridge answers itself: requests for its own page, not for a program.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "cgi/variables.h"

namespace gateway {

// A request below bridge.page.path. All views are borrowed for the duration of the call.
struct PageRequest {
  std::string_view method;  // "GET"
  std::string_view below;   // of the path, after bridge.page.path: "", "/data.json"
  std::string_view query;
  std::string_view body;    // complete; at most kPageBodyMax bytes
  std::string_view client;  // REMOTE_ADDR
  // A request header by its CGI name ("HTTP_ORIGIN", "CONTENT_TYPE"); "" if there is none.
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

// Collects the request's body; then the page's handler answers it.
class PageVisit {
 public:
  // Returns a visit if the request is for page_path or below it; an empty page_path matches
  // nothing. A SCRIPT_NAME that leads elsewhere says that it is not, whatever REQUEST_URI says.
  static std::optional<PageVisit> of(const std::string& page_path, const cgi::Variables& variables);

  // Returns a visit if the request is for exactly that path, by REQUEST_URI if that is sent.
  static std::optional<PageVisit> exactly(const std::string& path, const cgi::Variables& variables);

  // False: the body exceeds kPageBodyMax.
  bool add_body(base::ByteView piece);

  // The whole answer, in the form in which a program would print it.
  std::string answer(const PageHandler& handler) const;

 private:
  PageVisit(std::string below, const cgi::Variables& variables)
      : below_(std::move(below)), variables_(variables.begin(), variables.end()) {}

  std::string below_, body_;
  std::vector<std::pair<std::string, std::string>> variables_;
};

}  // namespace gateway
