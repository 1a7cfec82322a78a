#include <fmt/format.h>
#include <sys/socket.h>

#include <csignal>
#include <cstdio>

#include "admin/control_message.h"
#include "admin/status.h"
#include "admin/worker_memory.h"
#include "cli/commands.h"
#include "config/load.h"

namespace cli {
namespace {

using nlohmann::json;

int fail(const std::string& why) {
  fmt::print(stderr, "cgibridge: {}\n", why);
  return 1;
}

std::string control_path(const Invocation& invocation) {
  if (!invocation.control.empty()) return invocation.control;
  const auto loaded = config::load_file(invocation.config_path);
  return loaded ? loaded.settings().bridge.control : config::BridgeSettings{}.control;
}

json command_of(const Invocation& invocation) {
  switch (invocation.command) {
    case Command::mode:
      return {{"command", "mode"}, {"program", invocation.program}, {"mode", invocation.mode}};
    case Command::reload:
      return {{"command", "reload"}};
    case Command::drain:
      return {{"command", "drain"}};
    case Command::attach:
      return {{"command", "attach"}};
    default:
      return {{"command", "status"}};
  }
}

void show(const Invocation& invocation, json answer) {
  if (invocation.command != Command::status) return;
  answer.erase("ok");
  admin::add_memory(answer);
  if (invocation.form == Form::json) {
    fmt::print("{}\n", answer.dump(2));
  } else {
    fmt::print("{}", admin::status_table(answer));
  }
}

// mod_fcgid counts this process as the application: it lives until mod_fcgid ends it or the bridge
// is gone. Its end closes the connection, which makes the bridge let go of the socket.
int stay_attached(int socket) {
  char byte;
  while (::recv(socket, &byte, 1, 0) > 0) {
  }
  return fail("the bridge has ended");
}

}  // namespace

int run_client_command(const Invocation& invocation) {
  auto socket = admin::connect_control(control_path(invocation));
  if (!socket) return fail(socket.error().message);
  const bool attaching = invocation.command == Command::attach;
  const auto sent =
      admin::send_line(socket.value().get(), command_of(invocation), attaching ? 0 : -1);
  if (!sent) return fail(sent.error().message);
  auto answer = admin::receive_line(socket.value().get());
  if (!answer) return fail(answer.error().message);
  if (answer.value().value("ok", false)) {
    show(invocation, answer.take());
    return attaching ? stay_attached(socket.value().get()) : 0;
  }
  if (answer.value().contains("problems")) {
    for (const auto& problem : answer.value()["problems"]) {
      fmt::print(stderr, "{}\n", problem.get<std::string>());
    }
  }
  return fail(admin::text_of(answer.value(), "error"));
}

}  // namespace cli
