#include "pool/program_version.h"

#include "policy/start_variables.h"

namespace pool {

void ProgramVersion::see(const router::ProgramFile& file, bool other_interpreter) {
  if (file == seen_ && !other_interpreter) return;
  seen_ = file;
  (void)look();
}

worker::Executable ProgramVersion::look() {
  const auto variables = policy::launch_variables({}, settings_, {});
  const worker::Executable executable =
      worker::inspect(program_, variables.at("PATH"), settings_.interpreter, seen_.path);
  language_ = executable.language;
  launched_file_ =
      executable.interpreter_words == 0 && executable.shell.empty() ? seen_.path : program_;
  return executable;
}

}  // namespace pool
