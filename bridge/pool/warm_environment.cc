#include "pool/warm_environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/units.h"
#include "message/path_sum.h"
#include "message/wire.h"
#include "worker/launch.h"

namespace pool {
void WarmEnvironment::add(std::string_view name, std::string_view value) {
  block.append(name).append("=").append(value).push_back('\0');
  ++count;
}

void WarmEnvironment::add_first(std::string_view name, std::string_view value) {
  WarmEnvironment first;
  first.add(name, value);
  block.insert(0, first.block);
  ++count;
}

RequestVariables::RequestVariables(std::string_view environment, std::uint32_t count,
                                   const worker::Executable& executable)
    : block_(environment), count_(count) {
  if (executable.assignments.empty()) return;
  const bool by_dash = executable.shell == "dash";
  std::vector<std::pair<std::string_view, std::string_view>> variables;
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
    const std::string_view name = entry.substr(0, entry.find('='));
    if (by_dash && !config::is_environment_name(name)) continue;
    variables.emplace_back(name, entry.substr(std::min(name.size() + 1, entry.size())));
  }
  for (const std::string_view assignment : executable.assignments) {
    const std::string_view name = assignment.substr(0, assignment.find('='));
    const auto known = std::ranges::find_if(
        variables, [name](const auto& variable) { return variable.first == name; });
    auto& variable = known == variables.end() ? variables.emplace_back() : *known;
    variable = {name, assignment.substr(name.size() + 1)};
  }
  for (const auto& [name, value] : variables) changed_.add(name, value);
  block_ = changed_.block;
  count_ = changed_.count;
}

namespace {

// Their names may contain anything, and would be too long.
std::string restless_word(const std::vector<std::string>& paths) {
  std::string word;
  for (const std::string& path : paths) {
    word += fmt::format("{}{:x}", word.empty() ? " restless=" : ",",
                        path_sum(path.data(), path.size()));
  }
  return word;
}

}  // namespace

WarmEnvironment warm_environment(policy::LaunchVariables variables,
                                 const config::ProgramSettings& settings, const WarmStart& start) {
  const std::string library = start.adapters + "/libcgibridge_checkpoint.so";
  std::string& preload = variables["LD_PRELOAD"];
  preload = preload.empty() ? library : library + ":" + preload;
  variables[MESSAGE_CHECKPOINT_VARIABLE] =
      "fd=" + std::to_string(worker::kControlFd) +
      " level=" + std::string(config::to_string(start.level)) +
      " reset=" + std::string(config::to_string(start.reset)) +
      (start.making == worker::Making::ahead ? " ahead" : "") +
      " learn=" + std::string(config::to_string(settings.learn)) +
      " tracking=" + std::string(config::to_string(settings.rewind.tracking)) +
      (settings.accept.empty() ? ""
                               : " accept=" + fmt::format("{}", fmt::join(settings.accept, ","))) +
      (start.ignored == 0 ? "" : fmt::format(" ignored={:x}", start.ignored)) +
      restless_word(start.restless) + " name=" + start.program.substr(start.program.rfind('/') + 1);
  if (start.binding == Binding::early) variables["LD_BIND_NOW"] = "1";
  WarmEnvironment environment;
  for (const auto& [name, value] : variables) environment.add(name, value);
  return environment;
}

WarmEnvironment fastcgi_environment(policy::LaunchVariables variables, worker::Language language) {
  // The bridge counts and replaces its workers: php-cgi must not fork any, nor exit by itself.
  if (language == worker::Language::php) {
    variables["PHP_FCGI_CHILDREN"] = "0";
    variables["PHP_FCGI_MAX_REQUESTS"] = "0";
  }
  WarmEnvironment environment;
  for (const auto& [name, value] : variables) environment.add(name, value);
  return environment;
}

}  // namespace pool
