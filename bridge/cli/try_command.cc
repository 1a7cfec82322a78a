#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/log.h"
#include "cli/adapters_folder.h"
#include "cli/asked_request.h"
#include "cli/commands.h"
#include "cli/own_bridge.h"
#include "config/load.h"
#include "journal/capture.h"
#include "limits/identities.h"

namespace cli {
namespace {

// Longer than any start of a zygote, including everything that it falls back to.
constexpr std::chrono::minutes kWarmingMax{2};
// How much of an answer is kept to find its status, for replay.
constexpr std::size_t kHeadKept = 64 * base::kKiB;

// Asks a bridge in this process, and prints what comes as it comes. The return value contains the
// first `kept` bytes of the output.
Heard ask(const std::string& script, const config::ProgramSettings& settings,
          const std::vector<Assignment>& params, std::string_view body, std::size_t kept) {
  auto bridge = std::make_unique<OwnBridge>(script, settings);
  // With mode persistent, the answer must be persistent: the request waits until the program is
  // warm.
  if (settings.mode == config::Mode::persistent && bridge->begin_warming(params)) {
    bridge->run_until(kWarmingMax, [&bridge] { return bridge->settled(); });
  }
  std::string output;
  Heard heard = bridge->ask(
      request_records(params, body), [&output, kept](Stream stream, base::ByteView piece) {
        std::fwrite(piece.data(), 1, piece.size(), stream == Stream::output ? stdout : stderr);
        if (stream == Stream::output)
          output += piece.substr(0, kept - std::min(kept, output.size()));
      });
  bridge.reset();
  end_children();
  heard.output = std::move(output);
  return heard;
}

// Never 0 if the bridge itself answered, with an error.
int exit_code_of(const Heard& heard) {
  const int code = heard.complete ? static_cast<int>(heard.exit_code & 0xff) : 1;
  return heard.refused && code == 0 ? 1 : code;
}

}  // namespace

int run_try(const Invocation& invocation) {
  const auto named = name_of_program(invocation.program);
  if (!named) return fail(named.error().message);
  const std::string& script = named.value();
  AskedRequest request{.query = invocation.query, .body_file = invocation.body_file};
  if (request.has_body()) request.method = "POST";
  if (const auto read = read_body(request); !read) return fail(read.error().message);
  std::vector<Assignment> variables;
  for (const std::string& text : invocation.env) variables.push_back(parse_assignment(text));
  base::start_log("warn");
  config::ProgramSettings settings;
  settings.mode =
      invocation.mode == "persistent" ? config::Mode::persistent : config::Mode::classic;
  settings.workers.spare = 1;
  return exit_code_of(
      ask(script, settings, request_params(request, script, variables), request.body, 0));
}

// ---- replay ----

namespace {

// The settings file that a capture runs under; empty: none. As root, there must be settings unless
// the user asks for none: a capture may be an attacker's request, and the settings kept it from
// root's rights and in its sandbox.
base::Result<std::string> settings_file_for(const Invocation& invocation,
                                            const journal::Capture& capture) {
  if (invocation.without_settings) return std::string();
  if (invocation.config_given) return invocation.config_path;
  std::error_code ignored;
  const std::string& file = capture.settings_file;
  if (!file.empty() && std::filesystem::exists(file, ignored)) return file;
  const std::string why = file.empty() ? "the capture names no settings file"
                                       : file + ", which the capture names, is not there";
  if (::geteuid() == 0) {
    return base::Error{
        why +
        ": it would run as root, in no sandbox; --config FILE says under which settings it runs, "
        "--without-settings that it shall run so"};
  }
  fmt::print(stderr, "cgibridge: {}: it runs as this user, in no sandbox (--config FILE)\n",
             base::printable(why, why.npos));
  return std::string();
}

// What the settings say about the program, except that only the side that was asked for answers.
base::Result<config::ProgramSettings> settings_for(const Invocation& invocation,
                                                   const journal::Capture& capture) {
  config::ProgramSettings settings;
  const auto file = settings_file_for(invocation, capture);
  if (!file) return file.error();
  if (!file.value().empty()) {
    const auto loaded = config::load_file(file.value());
    if (!loaded) return base::Error{config::to_string(loaded.problems().front())};
    settings = loaded.settings().for_program(capture.program);
  }
  const bool was_classic = capture.arm == compare::to_string(compare::Arm::classic);
  const std::string& asked = invocation.replay_mode;
  const bool classic = asked.empty() ? was_classic : asked == "classic";
  settings.mode = classic ? config::Mode::classic : config::Mode::persistent;
  settings.pin = {};
  settings.promote = {};
  settings.slowlog = {};
  settings.workers.spare = 1;
  return settings;
}

// Which user the program ran as, and how its sandbox was enforced.
std::string as_whom(const config::ProgramSettings& settings, const std::string& script) {
  limits::Identities identities(loop::system_clock(), adapters_folder());
  const auto terms = identities.terms_for(settings, script);
  if (!terms) return "nobody: " + terms.refusal().reason;
  const auto& identity = terms.value().identity;
  const std::string sandbox = identities.sandbox_of(script);
  return fmt::format("{} (uid {}), {}",
                     identity           ? identity->name
                     : ::geteuid() == 0 ? "root"
                                        : "this user",
                     identity ? identity->uid : ::geteuid(),
                     sandbox.empty() ? "in no sandbox" : "sandbox: " + sandbox);
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

void tell_what_it_was(const journal::Capture& capture) {
  fmt::print(stderr, "cgibridge: captured {}{}{}, {}: {}, status {}, exit code {}{}{}\n",
             base::printable(capture.time), capture.id.empty() ? "" : ", id ",
             base::printable(capture.id), base::printable(capture.arm),
             base::printable(capture.failure), capture.status,
             capture.exit_code ? std::to_string(*capture.exit_code) : "not known",
             capture.why.empty() ? "" : "; ", base::printable(capture.why));
  if (!capture.masked.empty()) {
    fmt::print(stderr, "cgibridge: masked, the program gets other values: {}\n",
               base::printable(joined(capture.masked)));
  }
  if (capture.body.size() < capture.body_bytes) {
    fmt::print(stderr, "cgibridge: only the first {} of {} bytes of the body were kept\n",
               capture.body.size(), capture.body_bytes);
  }
}

std::vector<Assignment> params_of(const journal::Capture& capture, const Invocation& invocation) {
  std::vector<Assignment> params = capture.params;
  const bool announced = !journal::value_of(params, "CONTENT_LENGTH").empty();
  if (announced && capture.body.size() < capture.body_bytes) {
    params.emplace_back("CONTENT_LENGTH", std::to_string(capture.body.size()));
  }
  // Of a name that is sent twice, the last value would count, but cookies would be joined
  // (cgi/environment.h).
  for (const std::string& text : invocation.env) {
    Assignment given = parse_assignment(text);
    std::erase_if(params, [&given](const Assignment& param) { return param.first == given.first; });
    params.push_back(std::move(given));
  }
  return params;
}

void tell_what_it_is(const Heard& heard, config::Mode mode, const std::string& whom) {
  const compare::Answer answer = answer_of(heard);
  const std::string status = heard.refused     ? "no proper answer"
                             : !heard.complete ? "no whole answer"
                                               : fmt::format("status {}", answer.status);
  fmt::print(stderr, "cgibridge: replayed {}{}, as {}: {}, exit code {}\n", config::to_string(mode),
             mode == config::Mode::persistent && !heard.warm ? " (but not warm)" : "",
             base::printable(whom, whom.npos), status, heard.exit_code);
}

}  // namespace

int run_replay(const Invocation& invocation) {
  const auto text = read_file(invocation.capture);
  if (!text) return fail(text.error().message);
  const auto parsed = journal::parse_capture(text.value());
  if (!parsed) return fail(fmt::format("{}: {}", invocation.capture, parsed.error().message));
  const journal::Capture& capture = parsed.value();
  const auto named = name_of_program(capture.program);
  if (!named) return fail(named.error().message);
  const std::string& script = named.value();
  const auto settings = settings_for(invocation, capture);
  if (!settings) return fail(settings.error().message);
  base::start_log("warn");
  tell_what_it_was(capture);
  const std::string whom = as_whom(settings.value(), script);
  const Heard heard =
      ask(script, settings.value(), params_of(capture, invocation), capture.body, kHeadKept);
  std::fflush(stdout);
  tell_what_it_is(heard, settings.value().mode, whom);
  return exit_code_of(heard);
}

}  // namespace cli
