#include "serve.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <linux/close_range.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "base/log.h"
#include "cli/adapters_folder.h"
#include "config/load.h"
#include "daemon.h"
#include "limits/privileges.h"
#include "upgrade/handover.h"
#include "worker/launch.h"

namespace {

// Makes sure that descriptors 0 to 2 exist, so that no pipe or socket gets their numbers, and that
// other descriptors that the bridge was started with reach no program.
void prepare_descriptors() {
  int fd = 0;
  do {
    fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  } while (fd >= 0 && fd <= 2);
  if (fd > 2) ::close(fd);
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
}

std::string own_binary() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).string();
}

// Reports why, also to the bridge that this one was to take over from: whoever asked for the
// upgrade reads it there.
int not_started(const cli::Invocation& invocation, const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) base::log_error("{}", problem);
  base::log_error("{} error(s): not started", problems.size());
  if (invocation.take_over_fd >= 0) {
    (void)upgrade::send_packet(invocation.take_over_fd,
                               {{"failed", fmt::format("{}", fmt::join(problems, "; "))}});
  }
  return 1;
}

bool is_fcgiwrap(const cli::Invocation& invocation) {
  return invocation.command == cli::Command::fcgiwrap;
}

// Empty: there is none.
std::string settings_file_of(const cli::Invocation& invocation) {
  return is_fcgiwrap(invocation) ? std::string() : invocation.config_path;
}

config::Settings settings_of(const cli::Invocation& invocation,
                             std::vector<std::string>& problems) {
  if (is_fcgiwrap(invocation)) {
    auto settings = cli::settings_of_fcgiwrap(invocation.fcgiwrap);
    if (settings) return settings.take();
    problems.push_back(settings.error().message);
    return {};
  }
  auto loaded = config::load_file(invocation.config_path);
  if (loaded) return loaded.take();
  for (const config::Problem& problem : loaded.problems()) {
    problems.push_back(config::to_string(problem));
  }
  return {};
}

// The command that starts a bridge with the same settings again.
std::vector<std::string> words_for_an_upgrade(const cli::Invocation& invocation) {
  if (!is_fcgiwrap(invocation)) return {"serve", "--config", invocation.config_path};
  std::vector<std::string> words = invocation.words;
  const auto channel = std::ranges::find(words, "--take-over");
  if (channel != words.end()) words.erase(channel, channel + 2);
  return words;
}

}  // namespace

int serve(const cli::Invocation& invocation) {
  // Looked up before a newer file may take its place.
  const std::string binary = own_binary();
  prepare_descriptors();
  auto inherited = gateway::inherited_sockets();
  ::signal(SIGPIPE, SIG_IGN);
  base::start_log("info");
  std::vector<std::string> problems;
  config::Settings settings = settings_of(invocation, problems);
  for (const std::string& problem : limits::Identities::problems_of(settings)) {
    problems.push_back(settings_file_of(invocation) + ": " + problem);
  }
  if (!problems.empty()) return not_started(invocation, problems);
  // As fcgiwrap does: what systemd hands over is all that it listens on.
  if (is_fcgiwrap(invocation) && !inherited.empty()) settings.bridge.listen.clear();
  base::set_log_level(config::to_string(settings.bridge.log_level));
  if (const auto set = base::set_log_file(settings.bridge.log); !set) {
    return not_started(invocation, {"bridge.log: " + set.error().message});
  }
  const std::string adapters =
      settings.bridge.adapters.empty() ? cli::adapters_folder() : settings.bridge.adapters;
  worker::raise_descriptor_limit();
  Daemon daemon({binary, words_for_an_upgrade(invocation), settings_file_of(invocation)},
                std::move(settings), adapters);
  const auto started =
      invocation.take_over_fd < 0
          ? daemon.start(std::move(inherited))
          : daemon.take_over(base::UniqueFd(::fcntl(invocation.take_over_fd, F_DUPFD_CLOEXEC, 3)));
  if (!started) {
    return not_started(invocation, {started.error().message});
  }
  // The daemon has its own copy: the old bridge must be able to see when that one is closed.
  if (invocation.take_over_fd >= 0) ::close(invocation.take_over_fd);
  base::log_info("{}", limits::drop_privileges());
  return daemon.run();
}
