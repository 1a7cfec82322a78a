#include "admin/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "admin/control_message.h"
#include "admin/openmetrics.h"
#include "base/address_block.h"
#include "base/log.h"
#include "cgi/percent.h"
#include "journal/text_bytes.h"

namespace admin {

// page.html, embedded by embed_page.cmake.
extern const std::string_view kPageHtml;

namespace {

using gateway::PageAnswer;
using gateway::PageRequest;
using nlohmann::json;

PageAnswer refusal(int status, const std::string& why) {
  return {.status = status, .headers = security_headers({}), .body = why + "\n"};
}

PageAnswer json_answer(int status, const json& value) {
  return {.status = status,
          .content_type = "application/json",
          .headers = security_headers({}),
          .body = journal::ascii_json(value)};
}

PageAnswer wrong_method(const std::string& allowed) {
  PageAnswer answer = refusal(405, "only " + allowed);
  answer.headers.emplace_back("Allow", allowed);
  return answer;
}

void replace_all(std::string& text, std::string_view mark, std::string_view value) {
  for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + value.size())) {
    text.replace(at, mark.size(), value);
  }
}

// Parses "brief&program=%2Fa": what to show. Other parts are ignored.
StatusScope scope_of(std::string_view query) {
  StatusScope scope;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    const std::string_view name = part.substr(0, equals);
    const std::string_view value =
        equals == part.npos ? std::string_view() : part.substr(equals + 1);
    if (name == "brief") scope.detail = Detail::brief;
    if (name == "most") std::from_chars(value.data(), value.data() + value.size(), scope.most);
    if (name == "program") scope.program = cgi::percent_decode(value).value_or(std::string(value));
  }
  return scope;
}

}  // namespace

Page::Page(gateway::Gateway& gateway, const pool::Pools& pools, SwitchMode switch_mode)
    : gateway_(gateway), pools_(pools), switch_mode_(std::move(switch_mode)) {}

PageAnswer Page::answer(const PageRequest& request) const {
  const auto settings = gateway_.settings();
  const config::BridgeSettings::Page& page = settings->bridge.page;
  if (!base::any_contains(page.from, request.client)) {
    base::log_warn("page: not shown to {}: bridge.page.from does not name it",
                   base::printable(request.client));
    return refusal(403, "This address may not see the page: bridge.page.from does not name it.");
  }
  return route(request, page);
}

PageAnswer Page::route(const PageRequest& request,
                       const config::BridgeSettings::Page& settings) const {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (request.below == "/mode") {
    return request.method == "POST" ? mode(request, settings) : wrong_method("POST");
  }
  const bool is_html = request.below.empty() || request.below == "/";
  if (!is_html && request.below != "/data.json" && request.below != "/metrics") {
    return refusal(404, "There is nothing here.");
  }
  if (!reads) return wrong_method("GET, HEAD");
  if (is_html) return html(settings);
  if (request.below == "/data.json") return data(request, settings);
  return {.content_type = std::string(kOpenMetricsType),
          .headers = security_headers({}),
          .body = openmetrics(gateway_, pools_)};
}

PageAnswer Page::html(const config::BridgeSettings::Page& settings) const {
  const std::string nonce = random_hex(16);
  PageAnswer answer{.content_type = "text/html; charset=utf-8",
                    .headers = security_headers(nonce),
                    .body = std::string(kPageHtml)};
  replace_all(answer.body, "@NONCE@", nonce);
  replace_all(answer.body, "@TOKEN@", settings.switch_modes ? guard_.token() : std::string());
  return answer;
}

PageAnswer Page::data(const PageRequest& request,
                      const config::BridgeSettings::Page& settings) const {
  json status = status_json(gateway_, pools_, scope_of(request.query));
  status["page"] = {{"switch_modes", settings.switch_modes}};
  return json_answer(200, status);
}

PageAnswer Page::mode(const PageRequest& request,
                      const config::BridgeSettings::Page& settings) const {
  const auto refuse = [&request](int status, const std::string& why) {
    base::log_warn("page: {} may not switch a mode: {}", base::printable(request.client),
                   base::printable(why));
    return json_answer(status, refused(why));
  };
  if (!settings.switch_modes) return refuse(403, "bridge.page.switch_modes is false");
  if (const auto why = guard_.objection(request)) return refuse(403, *why);
  const json asked = json::parse(request.body, nullptr, false);
  if (!asked.is_object()) return refuse(400, "the body is no JSON object");
  const std::string program = text_of(asked, "program");
  const std::string word = text_of(asked, "mode");
  if (const auto why = switch_mode_(program, word)) return refuse(422, *why);
  base::log_info("page: {} switched {} to {}", base::printable(request.client),
                 base::printable(program), word);
  return json_answer(200, {{"ok", true}});
}

}  // namespace admin
