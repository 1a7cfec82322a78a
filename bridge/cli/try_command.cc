#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/log.h"
#include "cli/asked_request.h"
#include "cli/commands.h"
#include "cli/own_bridge.h"

namespace cli {
namespace {

// Longer than any start of a zygote, with all that it falls back to.
constexpr std::chrono::minutes kWarmingMax{2};

int fail(const std::string& why) {
  fmt::print(stderr, "cgibridge: {}\n", why);
  return 1;
}

void print_piece(Stream stream, base::ByteView piece) {
  std::fwrite(piece.data(), 1, piece.size(), stream == Stream::output ? stdout : stderr);
}

}  // namespace

int run_try(const Invocation& invocation) {
  std::error_code missing;
  const std::string script = std::filesystem::canonical(invocation.program, missing).string();
  if (missing) return fail(fmt::format("{}: {}", invocation.program, missing.message()));
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
  OwnBridge bridge(script, settings);
  // Asked for persistent, it answers persistent: the request waits until the program is warm.
  if (settings.mode == config::Mode::persistent && bridge.begin_warming()) {
    bridge.run_until(kWarmingMax, [&bridge] { return bridge.settled(); });
  }
  const Heard heard = bridge.ask(request_records(request, script, variables), print_piece);
  return heard.complete ? static_cast<int>(heard.exit_code & 0xff) : 1;
}

}  // namespace cli
