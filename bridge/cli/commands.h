// The commands besides `serve`.
#pragma once

#include <optional>
#include <string>

#include "cli/command_line.h"
#include "config/settings.h"

namespace cli {

// Says on standard error why a command is not carried out. Returns its exit code, 1.
int fail(const std::string& why);

// The settings in that file; none: it has errors, and each was reported on standard error.
enum class UsersInSettings { any, must_be_known };
std::optional<config::Settings> checked_settings(const std::string& path, UsersInSettings users);

// Carries out any command except serve. The exit code: 0 done; 1 refused or failed (what it
// printed could not be written, too), with the reason on standard error.
int run(const Invocation& invocation);

// The commands that talk to a running bridge: status, mode, reload, drain, reopen, attach.
int run_client_command(const Invocation& invocation);

// `try`: one request in a bridge of its own, without a socket. Prints the program's answer as a web
// server would get it; the exit code is the program's.
int run_try(const Invocation& invocation);

// `replay`: repeats a captured request in the same way; how it ended, then and now, is reported on
// standard error. The exit code is the program's.
int run_replay(const Invocation& invocation);

// `doctor`: looks at what may hinder requests. The exit code is that of doctor/finding.h.
int run_doctor(const Invocation& invocation);

// `check`: what warm workers would gain for a program, and whether it works with them. Changes
// nothing except what the program itself does. The exit code is the one in findings.h.
int run_check(const Invocation& invocation);

// `migrate`: what CGI programs nginx and Apache run, and what to change so that the bridge runs
// them. Changes nothing. The exit code: 0; 1 nothing could be read; 2 some files could not.
int run_migrate(const Invocation& invocation);

}  // namespace cli
