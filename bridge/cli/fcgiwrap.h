// `cgibridge fcgiwrap`: the command line of fcgiwrap(8), and the settings that it stands for.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "config/settings.h"

namespace cli {

// fcgiwrap's options.
struct FcgiwrapOptions {
  bool errors_to_server = false;           // -f
  unsigned at_once = 0;                    // -c; 0: not given
  std::string socket = {};                 // -s; empty: a socket is handed over
  std::vector<std::string> programs = {};  // -p; empty: any may run
  std::string control = {};                // ours: a control socket; empty: none
  bool print = false;                      // ours: only show the settings
};

// The words of a command line as getopt(3) reads them: a link named fcgiwrap stands for
// `cgibridge fcgiwrap`; "" is no word (systemd's ${DAEMON_OPTS} if that is empty), and "-f -c 4" in
// one word (the same, if it is not) is three. arguments: argv, with its first word.
std::vector<std::string> fcgiwrap_words(std::vector<std::string> arguments);

// The settings of a bridge that does what fcgiwrap does with these options: it runs what the web
// server names, as long as it takes, in its own environment, and refuses nobody for waiting.
// environment: "K=V" of this process. umask: its own. folder: its current directory.
// Fails for a socket that is none of "unix:PATH", "tcp:ADDRESS:PORT", "tcp6:[ADDRESS]:PORT".
base::Result<config::Settings> fcgiwrap_settings(const FcgiwrapOptions& options,
                                                 const std::vector<std::string>& environment,
                                                 ::mode_t umask, const std::string& folder);

// The same for this process.
base::Result<config::Settings> settings_of_fcgiwrap(const FcgiwrapOptions& options);

// These settings as a file for `cgibridge serve`, with what a file cannot say as comments.
std::string fcgiwrap_file(const FcgiwrapOptions& options, config::Settings settings);

// Prints that file, and returns the exit code.
int print_fcgiwrap(const FcgiwrapOptions& options);

}  // namespace cli
