#include "cli/fcgiwrap.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cgi/environment.h"
#include "cli/commands.h"
#include "config/show.h"
#include "config/units.h"

namespace cli {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kCommand = "fcgiwrap";

// fcgiwrap lets its clients wait without a limit of its own; the web server has one.
constexpr unsigned kWaitingMax = 100'000;
constexpr auto kWaitingTime = 1h;

// Variables by which the service manager and the bridge talk to each other concern nobody else.
bool is_for_the_bridge(std::string_view name) {
  return cgi::is_ours(name) || name.starts_with("LISTEN_") || name.starts_with("WATCHDOG_") ||
         name == "NOTIFY_SOCKET" || name == "FCGI_WEB_SERVER_ADDRS";
}

// Where a shell was when it started the bridge says nothing about a program; a script that only
// executes another program would never suit a warm one that was started in its own folder.
bool is_of_a_shell(std::string_view name) {
  return name == "PWD" || name == "OLDPWD" || name == "SHLVL" || name == "_";
}

// fcgiwrap gives a program its own variables as well, but none that belong to a request.
std::vector<std::pair<std::string, std::string>> inherited(
    const std::vector<std::string>& environment) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const std::string& entry : environment) {
    const std::string name = entry.substr(0, entry.find('='));
    if (name.size() == entry.size() || !config::is_environment_name(name)) continue;
    if (name.starts_with("HTTP") || cgi::is_meta_variable(name)) continue;
    if (is_for_the_bridge(name) || is_of_a_shell(name)) continue;
    variables.emplace_back(name, entry.substr(name.size() + 1));
  }
  return variables;
}

base::Result<config::ListenAddress> address_of(const std::string& socket,
                                               const std::string& folder) {
  constexpr std::string_view kUnix = "unix:", kTcp = "tcp:", kTcp6 = "tcp6:";
  base::Result<config::ListenAddress> address = base::Error{"is no socket"};
  if (socket.starts_with(kUnix)) {
    const auto path = std::filesystem::path(folder) / socket.substr(kUnix.size());
    address = config::parse_listen_address("unix:" + path.string());
  } else if (socket.starts_with(kTcp)) {
    address = config::parse_listen_address(socket.substr(kTcp.size()));
  } else if (socket.starts_with(kTcp6)) {
    address = config::parse_listen_address(socket.substr(kTcp6.size()));
  }
  if (address) return address;
  return base::Error{fmt::format(
      "-s {}: {}; it is unix:/path/to/socket, tcp:dot.ted.qu.ad:port or tcp6:[ipv6_addr]:port",
      socket, address.error().message)};
}

}  // namespace

std::vector<std::string> fcgiwrap_words(std::vector<std::string> arguments) {
  if (arguments.empty()) return arguments;
  const bool by_name = std::filesystem::path(arguments[0]).filename() == kCommand;
  if (by_name) arguments.insert(arguments.begin() + 1, std::string(kCommand));
  if (arguments.size() < 2 || arguments[1] != kCommand) return arguments;
  std::vector<std::string> words(arguments.begin(), arguments.begin() + 2);
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    std::string_view rest = arguments[i];
    const bool is_several = rest.starts_with("-f ") || rest.starts_with("-c ");
    while (is_several && rest.find(' ') != rest.npos) {
      words.emplace_back(rest.substr(0, rest.find(' ')));
      rest.remove_prefix(std::min(rest.find_first_not_of(' ', rest.find(' ')), rest.size()));
    }
    if (!rest.empty()) words.emplace_back(rest);
  }
  return words;
}

base::Result<config::Settings> fcgiwrap_settings(const FcgiwrapOptions& options,
                                                 const std::vector<std::string>& environment,
                                                 ::mode_t umask, const std::string& folder) {
  config::Settings settings;
  config::BridgeSettings& bridge = settings.bridge;
  if (!options.socket.empty()) {
    auto address = address_of(options.socket, folder);
    if (!address) return address.error();
    bridge.listen = {address.take()};
  }
  bridge.socket_mode = 0777 & ~umask;
  bridge.control = options.control;
  bridge.first_param_counts = true;
  bridge.roots = {"/"};
  if (!options.programs.empty()) bridge.roots = options.programs;
  for (const std::string& program : options.programs) {
    if (!program.starts_with('/')) {
      return base::Error{fmt::format("-p {}: is not an absolute path", program)};
    }
  }
  config::ProgramSettings& programs = settings.defaults;
  if (options.at_once > 0) bridge.workers_max = programs.workers.max = options.at_once;
  programs.workers.spare = std::min(programs.workers.spare, programs.workers.max);
  programs.queue = {.max = kWaitingMax, .timeout = kWaitingTime};
  programs.timeouts.request = programs.timeouts.background = 0s;
  programs.limits.error_output = 0;
  programs.errors_to_server = options.errors_to_server;
  programs.fallback_env = inherited(environment);
  programs.pass_params = {"*"};
  return settings;
}

std::string fcgiwrap_file(const FcgiwrapOptions& options, config::Settings settings) {
  std::string text =
      "# What the options of fcgiwrap stand for, for `cgibridge serve --config FILE`.\n";
  if (!options.errors_to_server) {
    text += "# Without -f, standard error goes only to the log; a file cannot say that.\n";
  }
  if (options.programs.empty()) {
    text += "# Any program may run: better name the folders that have some in roots.\n";
  }
  text +=
      "# Of a param that is sent twice, fcgiwrap's programs see the first value, and those of\n"
      "# `serve` the last; a file cannot say that.\n";
  // In a file they override what the web server sends.
  settings.defaults.env.insert(settings.defaults.fallback_env.begin(),
                               settings.defaults.fallback_env.end());
  if (settings.bridge.control.empty()) settings.bridge.control = config::BridgeSettings{}.control;
  return text + config::show(settings);
}

base::Result<config::Settings> settings_of_fcgiwrap(const FcgiwrapOptions& options) {
  const ::mode_t mask = ::umask(022);
  ::umask(mask);
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  std::error_code ignored;
  return fcgiwrap_settings(options, environment, mask,
                           std::filesystem::current_path(ignored).string());
}

int print_fcgiwrap(const FcgiwrapOptions& options) {
  const auto settings = settings_of_fcgiwrap(options);
  if (!settings) return fail(settings.error().message);
  fmt::print("{}", fcgiwrap_file(options, settings.value()));
  return 0;
}

}  // namespace cli
