#include "gateway/page_visit.h"

#include <fmt/format.h>

#include "cgi/error_response.h"

namespace gateway {
namespace {

std::string served_path(const cgi::Variables& variables) {
  return std::string(cgi::value_or_empty(variables, "SCRIPT_NAME")) +
         std::string(cgi::value_or_empty(variables, "PATH_INFO"));
}

// The path that the client asked for, without the query: web servers put it into REQUEST_URI,
// whatever they changed for the program.
std::string path_of(const cgi::Variables& variables) {
  const std::string_view uri = cgi::value_or_empty(variables, "REQUEST_URI");
  if (!uri.empty()) return std::string(uri.substr(0, uri.find('?')));
  return served_path(variables);
}

// What follows page_path; none: path is neither that nor below it.
std::optional<std::string> rest_below(const std::string& page_path, std::string_view path) {
  if (!path.starts_with(page_path)) return std::nullopt;
  path.remove_prefix(page_path.size());
  if (!path.empty() && path[0] != '/') return std::nullopt;
  return path == "/" ? std::string() : std::string(path);
}

// A web server that refuses a visitor the page may answer with a program of its own (error_page,
// ErrorDocument): REQUEST_URI still names the page then, and SCRIPT_NAME the program.
bool leads_elsewhere(const std::string& page_path, const cgi::Variables& variables) {
  if (cgi::value_or_empty(variables, "SCRIPT_NAME").empty()) return false;
  return !rest_below(page_path, served_path(variables));
}

}  // namespace

std::optional<PageVisit> PageVisit::of(const std::string& page_path,
                                       const cgi::Variables& variables) {
  if (page_path.empty()) return std::nullopt;
  auto below = rest_below(page_path, path_of(variables));
  if (!below || leads_elsewhere(page_path, variables)) return std::nullopt;
  return PageVisit(*std::move(below), variables);
}

std::optional<PageVisit> PageVisit::exactly(const std::string& path,
                                            const cgi::Variables& variables) {
  if (path.empty() || rest_below(path, path_of(variables)) != "") return std::nullopt;
  return PageVisit({}, variables);
}

bool PageVisit::add_body(base::ByteView piece) {
  if (body_.size() + piece.size() > kPageBodyMax) return false;
  body_ += piece;
  return true;
}

std::string PageVisit::answer(const PageHandler& handler) const {
  const auto variable = [this](std::string_view name) {
    std::string_view value;
    for (const auto& [known, its] : variables_) {
      if (known == name) value = its;
    }
    return value;
  };
  const PageAnswer answer = handler({.method = variable("REQUEST_METHOD"),
                                     .below = below_,
                                     .query = variable("QUERY_STRING"),
                                     .body = body_,
                                     .client = variable("REMOTE_ADDR"),
                                     .variable = variable});
  std::string text =
      fmt::format("Status: {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n", answer.status,
                  cgi::status_phrase(answer.status), answer.content_type, answer.body.size());
  for (const auto& [name, value] : answer.headers) text += fmt::format("{}: {}\r\n", name, value);
  text += "\r\n";
  if (variable("REQUEST_METHOD") != "HEAD") text += answer.body;
  return text;
}

}  // namespace gateway
