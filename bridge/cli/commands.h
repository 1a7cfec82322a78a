// The commands beside `serve`.
#pragma once

#include "cli/command_line.h"

namespace cli {

// Carries out any command but serve. The exit code: 0 done; 1 refused or failed, with the reason
// on standard error.
int run(const Invocation& invocation);

// The commands that talk to a running bridge: status, mode, reload, drain, reopen, attach.
int run_client_command(const Invocation& invocation);

// `try`: one request in a bridge of its own, without a socket. Prints the program's answer as a web
// server would get it; the exit code is the program's.
int run_try(const Invocation& invocation);

// `replay`: a captured request in the same way; what became of it, then and now, is said on
// standard error. The exit code is the program's.
int run_replay(const Invocation& invocation);

// `check`: what warm workers would bring a program, and whether it bears them. Changes nothing but
// what the program itself does. The exit code is that of findings.h.
int run_check(const Invocation& invocation);

}  // namespace cli
