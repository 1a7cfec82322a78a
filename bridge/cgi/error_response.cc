#include "cgi/error_response.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cgi {
namespace {

constexpr std::array kPhrases = std::to_array<std::pair<int, std::string_view>>({
    {200, "OK"},
    {400, "Bad Request"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {422, "Unprocessable Content"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
});

std::string html_escaped(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

}  // namespace

std::string_view status_phrase(int status) {
  const auto found = std::find_if(kPhrases.begin(), kPhrases.end(),
                                  [&](const auto& phrase) { return phrase.first == status; });
  return found == kPhrases.end() ? "Error" : found->second;
}

std::string error_response(int status, std::string_view reason, std::chrono::seconds retry_after,
                           std::string_view fields) {
  const std::string title = std::to_string(status).append(" ").append(status_phrase(status));
  std::string page = "<!DOCTYPE html>\n<html><head><title>" + title +
                     "</title></head>\n<body><h1>" + title + "</h1>\n";
  if (!reason.empty()) page += "<p>" + html_escaped(reason) + "</p>\n";
  page += "</body></html>\n";
  std::string head = "Status: " + title + "\r\n";
  if (retry_after.count() > 0) {
    head += "Retry-After: " + std::to_string(retry_after.count()) + "\r\n";
  }
  head.append(fields);
  head += "Content-Type: text/html; charset=utf-8\r\nContent-Length: ";
  return head + std::to_string(page.size()) + "\r\n\r\n" + page;
}

}  // namespace cgi
