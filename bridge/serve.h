// `cgibridge serve`: from the command line to a running daemon.
#pragma once

#include "cli/command_line.h"

// Reads and checks the settings, prepares the process, runs the daemon. The exit code: 0 after a
// drain, 1 if it could not start (every reason is in the log).
int serve(const cli::Invocation& invocation);
