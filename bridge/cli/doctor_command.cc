#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

#include "base/log.h"
#include "base/unique_fd.h"
#include "cli/adapters_folder.h"
#include "cli/commands.h"
#include "cli/doctor_report.h"
#include "doctor/look.h"
#include "doctor/process_look.h"
#include "journal/text_bytes.h"
#include "limits/users.h"
#include "loop/clock.h"

namespace cli {
namespace {

// Every wait has its own limit. This is for what has none: a file system or a name server that does
// not answer.
constexpr unsigned kSecondsMax = 60;

void give_up(int) {
  constexpr std::string_view kWhy = "cgibridge: doctor: it takes more than a minute\n";
  const ssize_t written = ::write(STDERR_FILENO, kWhy.data(), kWhy.size());
  (void)written;
  ::_exit(doctor::kNotLooked);
}

int cannot_look(const std::string& why) {
  fail(why);
  return doctor::kNotLooked;
}

// "www-data", "33", "33:33", as `user` in the settings.
base::Result<doctor::Who> user_named(const std::string& text) {
  limits::Users users(loop::system_clock());
  const auto& found = users.named(text);
  if (!found) return base::Error{"--server-user: " + found.error().message};
  const limits::Identity& user = found.value();
  return doctor::Who{user.name, user.uid, user.gid, user.groups};
}

std::string title_of(const Invocation& invocation, const doctor::Observations& seen) {
  return fmt::format("cgibridge {}, {}, asked by {}{}", CGIBRIDGE_VERSION, invocation.config_path,
                     doctor::who_is(::geteuid(), ::getegid(), {}).name,
                     seen.is_root ? "" : " (root sees and tries more)");
}

}  // namespace

int run_doctor(const Invocation& invocation) {
  ::signal(SIGALRM, give_up);
  ::alarm(kSecondsMax);
  base::set_log_level("error");
  std::optional<doctor::AskedUrl> url;
  if (!invocation.doctor.request.empty()) {
    auto parsed = doctor::parse_url(invocation.doctor.request);
    if (!parsed) return cannot_look("--request " + parsed.error().message);
    url = parsed.take();
  }
  std::optional<doctor::Who> server_user;
  if (!invocation.doctor.server_user.empty()) {
    auto found = user_named(invocation.doctor.server_user);
    if (!found) return cannot_look(found.error().message);
    server_user = found.take();
  }
  if (::access(invocation.config_path.c_str(), R_OK) != 0) {
    return cannot_look(base::errno_error(invocation.config_path, errno).message);
  }
  const auto settings = checked_settings(invocation.config_path, UsersInSettings::must_be_known);
  if (!settings) return 1;
  const config::BridgeSettings& bridge = settings->bridge;
  const doctor::Observations seen =
      doctor::look({.settings = *settings,
                    .settings_file = invocation.config_path,
                    .control = invocation.control.empty() ? bridge.control : invocation.control,
                    .adapters = bridge.adapters.empty() ? adapters_folder() : bridge.adapters,
                    .version = CGIBRIDGE_VERSION,
                    .url = url,
                    .server_user = server_user});
  const doctor::Findings findings = doctor::diagnose(seen);
  const int code = doctor::exit_code(findings);
  if (invocation.form == Form::json) {
    const nlohmann::json json = {{"findings", doctor::findings_json(findings)},
                                 {"exit_code", code}};
    fmt::print("{}\n", journal::ascii_json(json, 2));
    return code;
  }
  fmt::print("{}", doctor_report(title_of(invocation, seen), findings, terminal_of_stdout()));
  return code;
}

}  // namespace cli
