// cgibridge: unmodified CGI programs behind FastCGI, answered from warm workers.
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/printed.h"
#include "serve.h"

int main(int argc, char** argv) {
  const cli::Invocation invocation = cli::parse_command_line(argc, argv);
  if (invocation.exit_code.has_value()) {
    return cli::exit_code_of([&] { return *invocation.exit_code; });  // help was printed
  }
  const bool wraps = invocation.command == cli::Command::fcgiwrap && !invocation.fcgiwrap.print;
  if (invocation.command == cli::Command::serve || wraps) return serve(invocation);
  return cli::run(invocation);
}
