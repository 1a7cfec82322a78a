// The command line, parsed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/asked_request.h"
#include "cli/fcgiwrap.h"
#include "config/settings.h"
#include "migrate/place.h"

namespace cli {

enum class Command {
  serve,
  fcgiwrap,
  config_check,
  config_show,
  config_reference,
  config_manual,
  status,
  mode,
  reload,
  drain,
  upgrade,
  attach,
  reopen,
  replay,
  try_script,
  check,
  migrate,
  doctor,
};

enum class Form { text, json, openmetrics };

// Only for `check`.
struct CheckOptions {
  std::vector<std::string> requests;
  std::string requests_file;
  Posts posts = Posts::left_out;
  config::Level level = config::Level::compiled;
  unsigned runs = 20;
  unsigned timeout_s = 60;
  std::string log_level = "off";
};

// Only for `migrate`.
struct MigrateOptions {
  std::string nginx, apache;             // main configuration files; both empty: the usual ones
  std::string socket{migrate::kSocket};  // where the bridge will listen
  bool diff = false;
  bool check = true;        // whether programs are tried
  unsigned programs = 20;   // how many of them, at most
  unsigned timeout_s = 20;  // for each
};

// Only for `doctor`.
struct DoctorOptions {
  std::string request;      // a URL; empty: none is sent
  std::string server_user;  // a name or a number; empty: those of the running web servers
};

struct Invocation {
  // Set if there is nothing left to do: help or the version was shown, or the command line is wrong
  // and that was reported.
  std::optional<int> exit_code;
  Command command = Command::serve;
  std::string config_path;  // as given, or where the installation has it
  int take_over_fd = -1;    // serve: the channel to the bridge to take over from
  std::string control;      // empty: the settings file's
  Form form = Form::text;
  bool watch = false;             // status: again each second
  bool ready = false;             // status: only whether it is ready
  std::string after;              // drain: a duration; empty: at once
  bool wait = false;              // drain: until the bridge has ended
  std::string program;            // mode, try, check
  std::string mode;               // mode, try
  std::vector<std::string> env;   // try, check: "K=V"
  std::string body_file;          // try, check
  std::string query;              // try
  std::string capture;            // replay
  std::string replay_mode;        // empty: as it was captured
  bool config_given = false;      // --config was given; replay: do not use the capture's settings
  bool without_settings = false;  // replay: use none at all
  CheckOptions check;
  MigrateOptions migrate;
  DoctorOptions doctor;
  FcgiwrapOptions fcgiwrap;
  std::vector<std::string> words;  // all of them, without the first
};

Invocation parse_command_line(int argc, char** argv);

}  // namespace cli
