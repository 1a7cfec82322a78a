// Which way a request took, and where it ended.
#include <fmt/format.h>

#include "doctor/judges.h"

namespace doctor {
namespace {

using nlohmann::json;

void add(Findings& findings, Mark mark, std::string what, std::string to_do = {}) {
  findings.push_back({Area::request, mark, std::move(what), std::move(to_do)});
}

std::string where_it_logs(const std::string& server) {
  if (server.starts_with("nginx")) return "see /var/log/nginx/error.log";
  if (server.starts_with("Apache")) return "see /var/log/apache2/error.log";
  if (server.starts_with("lighttpd")) return "see /var/log/lighttpd/error.log";
  return "see the web server's error log";
}

// What helps if the web server answered without the bridge.
std::string to_do_without_bridge(const Followed& request) {
  const std::string log = where_it_logs(request.server);
  switch (request.status) {
    case 301:
    case 302:
    case 307:
    case 308:
      return fmt::format("it redirects to {}: ask for that", request.location);
    case 401:
    case 403:
      return "its own rules (deny, Require, auth) refuse it, or nothing leads this path to the "
             "bridge; " +
             log;
    case 404:
      return "no location or ScriptAlias leads this path to the bridge, or its own try_files or "
             "folder fails first; " +
             log;
    case 502:
    case 503:
    case 504:
      return "it did not reach the bridge: another address than bridge.listen, or it may not open "
             "the socket; " +
             log;
    default:
      return "no location or SetHandler leads this path to the bridge (config/README.md has whole "
             "files); " +
             log;
  }
}

void judge_unreached(const Followed& request, Findings& findings) {
  const std::string server = request.server.empty() ? "a server without a name" : request.server;
  if (!request.was_followed) {
    return add(findings, Mark::note,
               fmt::format("{} answered {}; which way the request took is not known: {}.", server,
                           request.status, request.why_not_followed),
               "the bridge must run, and root, or its own user, has to ask");
  }
  if (request.is_own_page) {
    return add(
        findings, Mark::ok,
        fmt::format("{} answered {}: this path is the bridge's own page.", server, request.status));
  }
  if (request.peers_refused > 0) {
    return add(
        findings, Mark::wrong,
        fmt::format("{} answered {}; the bridge refused its connection.", server, request.status),
        "bridge.allow does not name the web server; the bridge's log says whom it refused");
  }
  if (request.is_source) {
    return add(findings, Mark::wrong,
               fmt::format("{} sends the text of the program instead of running it.", server),
               "passwords in it are public now; " + to_do_without_bridge(request));
  }
  add(findings, Mark::wrong,
      fmt::format("{} answered {} itself: the request never reached the bridge.", server,
                  request.status),
      to_do_without_bridge(request));
}

std::string to_do_for_refusal(int status, const std::string& script, const std::string& why) {
  if (why.find("outside the roots") != why.npos) {
    return "add its folder to bridge.roots, or correct what the web server sends as "
           "SCRIPT_FILENAME; for a link, see root_links";
  }
  if (why.find("not executable") != why.npos) return "chmod +x " + script;
  switch (status) {
    case 403:
      return "namei -l " + script + " shows who may enter which folder";
    case 404:
      return "correct what the web server sends as SCRIPT_FILENAME (nginx: fastcgi_param, root; "
             "Apache: ScriptAlias, ProxyPass)";
    case 413:
      return "limits.body";
    case 431:
      return "bridge.params_max";
    case 500:
      return "`user` and `sandbox` in the settings, and the bridge's log";
    case 502:
      return "cgibridge try " + script + " runs it without a web server";
    case 503:
      return "workers.max and queue; cgibridge status shows what waits";
    case 504:
      return "timeouts.request; slowlog shows what it was doing";
    default:
      return "the bridge's log has more";
  }
}

std::string what_came(const json& began) {
  const json params = began.value("params", json::object());
  std::string text =
      fmt::format("SCRIPT_FILENAME \"{}\", SCRIPT_NAME \"{}\"", params.value("SCRIPT_FILENAME", ""),
                  params.value("SCRIPT_NAME", ""));
  if (const std::string info = params.value("PATH_INFO", ""); !info.empty()) {
    text += fmt::format(", PATH_INFO \"{}\"", info);
  }
  return text;
}

const json* program_in(const Observations& seen, const std::string& path) {
  const json& status = seen.bridge.status;
  if (!status.is_object() || !status.contains("programs")) return nullptr;
  for (const json& program : status.at("programs")) {
    if (program.value("path", "") == path) return &program;
  }
  return nullptr;
}

// "by a warm worker (rewind, compiled)", "classic, because ..."
std::string side_text(const json& ended, const json* program) {
  const std::string arm = ended.value("arm", "");
  if (arm != "classic") return fmt::format("a warm worker ({}, {})", arm, ended.value("level", ""));
  if (program == nullptr) return "a classic run";
  const std::string mode = program->value("sides", json::object()).value("effective", "");
  if (mode == "classic") return "a classic run, because its mode is classic";
  if (program->value("level", "") == "none") return "a classic run, because it is not warm";
  if (mode != "persistent") return fmt::format("a classic run, by mode {}", mode);
  return "a classic run; it was not warm yet, and the next one may be";
}

void judge_answer(const Followed& request, const Observations& seen, Findings& findings) {
  const json& ended = request.ended;
  const std::string program = ended.value("program", "");
  const int status = ended.value("status", 0);
  const double ms = ended.value("latency_us", 0.0) / 1000;
  if (const std::string why = ended.value("why", ""); !why.empty()) {
    const std::string script =
        program.empty() ? request.began.value("params", json::object()).value("SCRIPT_FILENAME", "")
                        : program;
    return add(findings, Mark::wrong, fmt::format("The bridge answered {}: {}.", status, why),
               to_do_for_refusal(status, script, why));
  }
  std::string what = fmt::format("{} answered {} in {:.1f} ms, from {}", program, status, ms,
                                 side_text(ended, program_in(seen, program)));
  std::string to_do;
  if (const std::string last = ended.value("last_error", ""); !last.empty()) {
    what += fmt::format("; its last word on standard error: {}", last);
  }
  if (const auto code = ended.value("exit_code", json()); code.is_number() && code != 0) {
    what += fmt::format("; it exited with {}", code.get<int>());
  }
  const bool failed = status >= 500;
  if (failed) to_do = fmt::format("cgibridge try {} runs it without a web server", program);
  add(findings, failed ? Mark::wrong : Mark::ok, what + ".", to_do);
  if (status != request.status) {
    add(findings, Mark::note,
        fmt::format("The visitor got {} from {}, and not the program's {}.", request.status,
                    request.server, status),
        where_it_logs(request.server));
  }
}

}  // namespace

void judge_request(const Followed& request, const Observations& seen, Findings& findings) {
  if (request.began.is_null()) {
    if (!request.not_sent.empty()) {
      return add(findings, Mark::wrong,
                 fmt::format("{} was not answered: {}.", request.url, request.not_sent),
                 "is the web server running, on that port and on the loopback address?");
    }
    return judge_unreached(request, findings);
  }
  const std::string server =
      request.began.value("params", json::object()).value("SERVER_SOFTWARE", request.server);
  add(findings, Mark::ok,
      fmt::format("{} sent the bridge {} (id {}).", server, what_came(request.began),
                  request.began.value("id", "")));
  if (!request.not_sent.empty() || !request.is_whole) {
    return add(findings, Mark::note,
               fmt::format("The answer was not whole after {} s; its program is ended, as if a "
                           "visitor had left.",
                           request.patience.count() / 1000),
               "slowlog = { after = \"5s\" } shows what such a program is doing");
  }
  if (request.ended.is_null()) {
    return add(findings, Mark::note,
               fmt::format("It was answered with {}, and its program still runs.", request.status),
               "timeouts.request and timeouts.background end it; slowlog shows what it does");
  }
  judge_answer(request, seen, findings);
}

}  // namespace doctor
