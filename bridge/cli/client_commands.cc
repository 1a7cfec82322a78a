#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "admin/control_message.h"
#include "admin/status_table.h"
#include "admin/worker_memory.h"
#include "base/log.h"
#include "cli/commands.h"
#include "config/load.h"
#include "journal/text_bytes.h"

namespace cli {
namespace {

using nlohmann::json;

// The control socket of the bridge that is meant. Never one other than the settings file names:
// another bridge's answer or effect would be mistaken for that of the one that was meant.
base::Result<std::string> control_path(const Invocation& invocation) {
  if (!invocation.control.empty()) return invocation.control;
  std::error_code ignored;
  const bool is_default = !invocation.config_given;
  if (is_default && !std::filesystem::exists(invocation.config_path, ignored)) {
    return config::BridgeSettings{}.control;
  }
  const auto loaded = config::load_file(invocation.config_path);
  if (loaded) return loaded.settings().bridge.control;
  return base::Error{fmt::format("{}; --control SOCKET names the running bridge's control socket",
                                 config::to_string(loaded.problems().front()))};
}

base::Result<base::UniqueFd> connect(const Invocation& invocation) {
  const auto path = control_path(invocation);
  if (!path) return path.error();
  return admin::connect_control(path.value());
}

json command_of(const Invocation& invocation) {
  switch (invocation.command) {
    case Command::mode:
      return {{"command", "mode"}, {"program", invocation.program}, {"mode", invocation.mode}};
    case Command::reload:
      return {{"command", "reload"}};
    case Command::drain:
      return {{"command", "drain"}, {"after", invocation.after.empty() ? "0" : invocation.after}};
    case Command::reopen:
      return {{"command", "reopen"}};
    case Command::upgrade:
      return {{"command", "upgrade"}};
    case Command::attach:
      return {{"command", "attach"}};
    default:
      return {{"command", invocation.form == Form::openmetrics ? "metrics" : "status"}};
  }
}

// One command and its answer; fd (if not -1) goes with it.
base::Result<json> ask(int socket, const Invocation& invocation, int fd = -1) {
  const auto sent = admin::send_line(socket, command_of(invocation), fd);
  if (!sent) return sent.error();
  return admin::receive_line(socket);
}

// ---- status ----

// An answer to `status` in the requested form. The running bridge may be older than this binary.
base::Result<std::string> status_text(const Invocation& invocation, json answer) {
  if (invocation.form == Form::openmetrics) return admin::text_of(answer, "text");
  answer.erase("ok");
  admin::add_memory(answer);
  if (invocation.form == Form::text) {
    try {
      return admin::status_table(answer);
    } catch (const json::exception& unknown) {
      return base::Error{
          fmt::format("the bridge that runs is another version and tells its status in another way "
                      "({}): `status --json` prints what it says, `upgrade` makes it this one",
                      unknown.what())};
    }
  }
  // With --watch, one line each: a program that reads it can take it line by line.
  return journal::ascii_json(answer, invocation.watch ? -1 : 2) + "\n";
}

base::Result<json> ask_once(const Invocation& invocation) {
  auto socket = connect(invocation);
  if (!socket) return socket.error();
  return ask(socket.value().get(), invocation);
}

base::Result<std::string> look(const Invocation& invocation) {
  auto answer = ask_once(invocation);
  // A bridge that ends during an upgrade closes its connections; its successor can be asked.
  if (!answer) answer = ask_once(invocation);
  if (!answer) return answer.error();
  if (!answer.value().value("ok", false)) {
    return base::Error{admin::text_of(answer.value(), "error")};
  }
  return status_text(invocation, answer.take());
}

// Draws over the old text line by line, so that nothing flickers.
std::string redrawn(const std::string& text) {
  std::string drawn = "\x1b[H";
  for (const char c : text) drawn += c == '\n' ? std::string("\x1b[K\n") : std::string(1, c);
  return drawn + "\x1b[J";
}

// Runs until a signal ends it. If the bridge is away for a moment (a restart), this waits for it.
int watch(const Invocation& invocation) {
  const bool on_terminal = ::isatty(STDOUT_FILENO) == 1 && invocation.form == Form::text;
  for (bool first = true;; first = false) {
    const auto looked = look(invocation);
    if (!looked && first) return fail(looked.error().message);
    const std::string text =
        looked ? looked.value()
               : "cgibridge: " + base::printable(looked.error().message) + "; trying again\n";
    if (on_terminal) {
      fmt::print("{}", redrawn(text));
    } else {
      fmt::print(looked ? stdout : stderr, "{}", text);
    }
    // Whatever read the output is gone.
    if (std::fflush(stdout) != 0) return 0;
    ::sleep(1);
  }
}

int run_ready(const Invocation& invocation) {
  const auto answer = ask_once(invocation);
  if (!answer) return fail(answer.error().message);
  const std::string why_not =
      admin::text_of(answer.value().value("bridge", json::object()), "not_ready");
  fmt::print("{}\n", why_not.empty() ? "ready" : "not ready: " + why_not);
  return why_not.empty() ? 0 : 1;
}

int run_status(const Invocation& invocation) {
  if (invocation.ready) return run_ready(invocation);
  if (invocation.watch) return watch(invocation);
  const auto looked = look(invocation);
  if (!looked) return fail(looked.error().message);
  fmt::print("{}", looked.value());
  return 0;
}

// ---- the others ----

void wait_for_its_end(int socket) {
  char byte;
  while (::recv(socket, &byte, 1, 0) > 0) {
  }
}

// What is left to do once the bridge has done what it was asked for.
int after_answer(const Invocation& invocation, int socket) {
  if (invocation.command == Command::attach) {
    // mod_fcgid takes this process for the application: it runs until mod_fcgid ends it or the
    // bridge is gone. Its end closes the connection, and the bridge then gives up the socket.
    wait_for_its_end(socket);
    return fail("the bridge has ended");
  }
  if (invocation.wait) wait_for_its_end(socket);
  return 0;
}

}  // namespace

int run_client_command(const Invocation& invocation) {
  if (invocation.command == Command::status) return run_status(invocation);
  auto socket = connect(invocation);
  if (!socket) return fail(socket.error().message);
  const bool attaching = invocation.command == Command::attach;
  const auto answer = ask(socket.value().get(), invocation, attaching ? STDIN_FILENO : -1);
  if (!answer) return fail(answer.error().message);
  if (answer.value().value("ok", false)) return after_answer(invocation, socket.value().get());
  if (answer.value().contains("problems")) {
    for (const auto& problem : answer.value()["problems"]) {
      fmt::print(stderr, "{}\n", base::printable(problem.get<std::string>(), std::string::npos));
    }
  }
  return fail(admin::text_of(answer.value(), "error"));
}

}  // namespace cli
