#include "pool/program_version.h"

#include "policy/start_variables.h"
#include "worker/wasm_words.h"

namespace pool {
namespace {

ClassicCommand classic_command(const std::string& program, const std::string& interpreter,
                               const worker::Executable& executable, const std::string& real_file) {
  if (!interpreter.empty()) return {interpreter, {interpreter, program}};
  if (executable.language == worker::Language::wasm) return {executable.file, executable.argv};
  const bool is_native = executable.interpreter_words == 0 && executable.shell.empty();
  return {is_native ? real_file : program, {program}};
}

}  // namespace

void ProgramVersion::see(const router::ProgramFile& file, bool runs_otherwise) {
  if (file == seen_ && !runs_otherwise) return;
  seen_ = file;
  (void)look();
}

worker::Executable ProgramVersion::look() {
  if (subject_.executed) {
    auto executable = worker::executable_of(*subject_.executed).value_or(worker::Executable{});
    if (executable.argv.empty()) executable.cold_reason = "what it executes cannot be warm";
    language_ = executable.language;
    return executable;
  }
  const std::string& program = subject_.home;
  const auto variables = policy::launch_variables({}, settings_, {});
  const worker::RunBy run_by{settings_.interpreter,
                             worker::wasm_words(folders_.adapters, folders_.cache, settings_.wasm)};
  const worker::Executable executable =
      worker::inspect(program, variables.at("PATH"), run_by, seen_.path);
  language_ = executable.language;
  classic_ = classic_command(program, settings_.interpreter, executable, seen_.path);
  return executable;
}

}  // namespace pool
