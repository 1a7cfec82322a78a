#include "pool/program_version.h"

#include "cgi/environment.h"

namespace pool {

void ProgramVersion::see(const router::ProgramFile& file, bool other_interpreter) {
  if (file == seen_ && !other_interpreter) return;
  seen_ = file;
  (void)look();
}

worker::Executable ProgramVersion::look() {
  const auto path = settings_.env.find("PATH");
  const worker::Executable executable = worker::inspect(
      program_, path == settings_.env.end() ? cgi::kDefaultPath : std::string_view(path->second),
      settings_.interpreter, seen_.path);
  language_ = executable.language;
  launched_file_ = executable.interpreter_words == 0 ? seen_.path : program_;
  return executable;
}

}  // namespace pool
