#include "pool/warm_environment.h"

#include <array>

#include "cgi/environment.h"
#include "message/wire.h"
#include "worker/launch.h"

namespace pool {
namespace {

constexpr std::array<std::string_view, 9> kConstantNames = {
    "CONTEXT_DOCUMENT_ROOT", "DOCUMENT_ROOT", "GATEWAY_INTERFACE", "SCRIPT_FILENAME", "SCRIPT_NAME",
    "SERVER_ADMIN",          "SERVER_NAME",   "SERVER_PORT",       "SERVER_SOFTWARE"};

bool is_constant(std::string_view name) {
  for (const std::string_view constant : kConstantNames) {
    if (name == constant) return true;
  }
  return false;
}

}  // namespace

ConstantVariables constant_variables(std::string_view environment) {
  ConstantVariables constants;
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    environment.remove_prefix(entry.size() + 1);
    const std::string_view name = entry.substr(0, entry.find('='));
    if (is_constant(name)) constants.emplace(name, entry.substr(name.size() + 1));
  }
  return constants;
}

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

WarmEnvironment warm_environment(const ConstantVariables& constants,
                                 const config::ProgramSettings& settings, const WarmStart& start) {
  std::map<std::string, std::string> variables = {{"PATH", std::string(cgi::kDefaultPath)}};
  for (const auto& [name, value] : constants) variables[name] = value;
  for (const auto& [name, value] : settings.env) variables[name] = value;

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
      " name=" + start.program.substr(start.program.rfind('/') + 1);
  if (start.binding == Binding::early) variables["LD_BIND_NOW"] = "1";
  WarmEnvironment environment;
  for (const auto& [name, value] : variables) environment.add(name, value);
  return environment;
}

WarmEnvironment fastcgi_environment(const config::ProgramSettings& settings,
                                    const worker::Executable& executable) {
  std::map<std::string, std::string> variables = {{"PATH", std::string(cgi::kDefaultPath)}};
  for (const auto& [name, value] : settings.env) variables[name] = value;
  // Its workers are counted and replaced here: php-cgi shall not fork its own, nor leave.
  if (executable.language == worker::Language::php) {
    variables["PHP_FCGI_CHILDREN"] = "0";
    variables["PHP_FCGI_MAX_REQUESTS"] = "0";
  }
  for (const std::string& assignment : executable.assignments) {
    const std::size_t equals = assignment.find('=');
    variables[assignment.substr(0, equals)] = assignment.substr(equals + 1);
  }
  WarmEnvironment environment;
  for (const auto& [name, value] : variables) environment.add(name, value);
  return environment;
}

}  // namespace pool
