#include "cli/migrate_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/unique_fd.h"
#include "cgi/environment.h"
#include "cli/adapters_folder.h"
#include "limits/identities.h"
#include "worker/launch.h"

namespace cli {
namespace {

constexpr std::size_t kOutputMax = 8 * 1024 * 1024;
// The check ends by itself after its time; this is how long it may take to end what it started.
constexpr std::chrono::seconds kToEnd{15};

migrate::Checked not_checked(std::string why) {
  migrate::Checked checked;
  checked.safety = "not checked";
  checked.sentence = std::move(why);
  return checked;
}

std::vector<std::string> check_words(
    const std::string& program, const std::vector<std::pair<std::string, std::string>>& variables,
    std::chrono::seconds timeout) {
  std::vector<std::string> words = {"cgibridge",
                                    "check",
                                    "--json",
                                    "--runs",
                                    "10",
                                    "--timeout",
                                    fmt::format("{}", timeout.count())};
  for (const auto& [name, value] : variables) {
    // What belongs to a request is the check's own.
    if (!cgi::is_meta_variable(name)) words.insert(words.end(), {"--env", name + "=" + value});
  }
  words.push_back(program);
  return words;
}

// Everything that comes from fd, until it ends or nothing has come for this long.
std::string read_all(int fd, std::chrono::milliseconds patience) {
  std::string said;
  ::pollfd wanted{fd, POLLIN, 0};
  while (said.size() < kOutputMax && ::poll(&wanted, 1, static_cast<int>(patience.count())) > 0) {
    std::array<char, 65536> bytes;
    const ssize_t got = ::read(fd, bytes.data(), bytes.size());
    if (got <= 0) break;
    said.append(bytes.data(), static_cast<std::size_t>(got));
  }
  return said;
}

}  // namespace

migrate::Checked check_program(const std::string& program, const std::string& user,
                               const std::vector<std::pair<std::string, std::string>>& variables,
                               std::chrono::seconds timeout) {
  config::ProgramSettings settings;
  if (::geteuid() == 0) {
    if (user.empty()) {
      return not_checked("root does not try it, because the configuration names no user for it");
    }
    settings.user = user;
  }
  limits::Identities identities(loop::system_clock(), adapters_folder());
  auto terms = identities.terms_for(settings, program);
  if (!terms) return not_checked(terms.refusal().reason);
  std::error_code failed;
  const std::string own = std::filesystem::read_symlink("/proc/self/exe", failed);
  auto pipe = base::make_pipe(base::NonblockingEnd::reading);
  const base::UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (failed || !pipe || !null) return not_checked("the check cannot be started");
  const std::string environment("PATH=/usr/local/bin:/usr/bin:/bin\0", 34), folder = "/";
  const std::vector<std::string> words = check_words(program, variables, timeout);
  const auto pid = worker::launch({.file = own,
                                   .argv = words,
                                   .environment = environment,
                                   .environment_count = 1,
                                   .cwd = folder,
                                   .stdin_fd = null.get(),
                                   .stdout_fd = pipe.value().second.get(),
                                   .stderr_fd = null.get(),
                                   .terms = terms.value()});
  if (!pid) return not_checked(pid.error().message);
  pipe.value().second.reset();
  const std::string said = read_all(pipe.value().first.get(), timeout + kToEnd);
  ::kill(pid.value(), SIGTERM);
  ::waitpid(pid.value(), nullptr, 0);
  return parse_checked(said);
}

migrate::Checked parse_checked(const std::string& json) {
  const auto report = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!report.is_object() || !report.contains("verdict")) {
    return not_checked("the check did not end in time, or not as it should");
  }
  const auto& verdict = report["verdict"];
  return {.safety = verdict.value("safety", "not checked"),
          .arm = verdict.value("arm", "classic"),
          .level = report.value("level", ""),
          .speed_up = verdict.value("speed_up", 1.0),
          .sentence = verdict.value("sentence", ""),
          .stanza = report.value("stanza", "")};
}

}  // namespace cli
