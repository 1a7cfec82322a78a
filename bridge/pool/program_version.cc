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
  const auto variables = policy::launch_variables({}, settings_, {});
  const worker::RunBy run_by{settings_.interpreter,
                             worker::wasm_words(folders_.adapters, folders_.cache, settings_.wasm)};
  const worker::Executable executable =
      worker::inspect(program_, variables.at("PATH"), run_by, seen_.path);
  language_ = executable.language;
  classic_ = classic_command(program_, settings_.interpreter, executable, seen_.path);
  return executable;
}

}  // namespace pool
