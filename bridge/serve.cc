#include "serve.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <unistd.h>

#include <csignal>

#include "base/log.h"
#include "cli/adapters_folder.h"
#include "config/load.h"
#include "daemon.h"
#include "limits/privileges.h"
#include "worker/launch.h"

namespace {

// Descriptors 0 to 2 exist, so that no pipe or socket takes their numbers; others that the bridge
// was started with reach no program.
void prepare_descriptors() {
  int fd = 0;
  do {
    fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  } while (fd >= 0 && fd <= 2);
  if (fd > 2) ::close(fd);
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
}

}  // namespace

int serve(const cli::Invocation& invocation) {
  prepare_descriptors();
  auto inherited = gateway::inherited_sockets();
  ::signal(SIGPIPE, SIG_IGN);
  base::start_log("info");
  auto loaded = config::load_file(invocation.config_path);
  if (!loaded) {
    for (const config::Problem& problem : loaded.problems()) {
      base::log_error("{}", config::to_string(problem));
    }
    base::log_error("{} error(s) in the settings: not started", loaded.problems().size());
    return 1;
  }
  config::Settings settings = loaded.take();
  const auto problems = limits::Identities::problems_of(settings);
  for (const std::string& problem : problems) {
    base::log_error("{}: {}", invocation.config_path, problem);
  }
  if (!problems.empty()) {
    base::log_error("{} error(s) in the settings: not started", problems.size());
    return 1;
  }
  base::set_log_level(config::to_string(settings.bridge.log_level));
  if (const auto set = base::set_log_file(settings.bridge.log); !set) {
    base::log_error("bridge.log: {}: not started", set.error().message);
    return 1;
  }
  const std::string adapters =
      settings.bridge.adapters.empty() ? cli::adapters_folder() : settings.bridge.adapters;
  worker::raise_descriptor_limit();
  Daemon daemon(invocation.config_path, std::move(settings), adapters);
  if (const auto started = daemon.start(std::move(inherited)); !started) {
    base::log_error("{}: not started", started.error().message);
    return 1;
  }
  base::log_info("{}", limits::drop_privileges());
  return daemon.run();
}
