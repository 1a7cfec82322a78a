#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <utility>

#include "base/log.h"
#include "cli/described.h"
#include "config/units.h"

namespace cli {
namespace {

CLI::App* add_command(CLI::App& app, Invocation& invocation, const std::string& name,
                      const std::string& text, Command command) {
  CLI::App* sub = app.add_subcommand(name, text);
  sub->callback([&invocation, command] { invocation.command = command; });
  return sub;
}

void add_client_options(CLI::App* sub, Invocation& invocation) {
  sub->add_option("--config", invocation.config_path, "Settings file, for its control socket")
      ->each([&invocation](const std::string&) { invocation.config_given = true; });
  sub->add_option("--control", invocation.control, "Control socket of the running bridge");
}

void add_try(CLI::App& app, Invocation& invocation) {
  CLI::App* sub =
      add_command(app, invocation, "try", "One request, without a web server", Command::try_script);
  sub->add_option("script", invocation.program, "The CGI program")->required();
  invocation.mode = "classic";
  sub->add_option("--mode", invocation.mode, "classic or persistent")
      ->check(CLI::IsMember({"classic", "persistent"}));
  sub->add_option("--env", invocation.env, "A meta-variable, K=V; may be repeated");
  sub->add_option("--query", invocation.query, "QUERY_STRING");
  sub->add_option("--body", invocation.body_file, "File that is sent as the body, by POST")
      ->check(CLI::ExistingFile);
}

void add_replay(CLI::App& app, Invocation& invocation) {
  CLI::App* sub = add_command(app, invocation, "replay",
                              "A captured request again, without a web server", Command::replay);
  sub->add_option("capture", invocation.capture, "File that the bridge wrote (captures.folder)")
      ->required();
  sub->add_option("--mode", invocation.replay_mode, "classic or persistent; otherwise as captured")
      ->check(CLI::IsMember({"classic", "persistent"}));
  sub->add_option("--env", invocation.env,
                  "A meta-variable instead of the captured one, K=V; may be repeated");
  CLI::Option* config =
      sub->add_option("--config", invocation.config_path,
                      "Settings file that says how the program runs; otherwise the one named in "
                      "the capture")
          ->each([&invocation](const std::string&) { invocation.config_given = true; });
  sub->add_flag("--without-settings", invocation.without_settings,
                "As this user, in no sandbox and under no limits")
      ->excludes(config);
  sub->footer("Exit code: the program's.");
}

void add_check(CLI::App& app, Invocation& invocation) {
  CLI::App* sub = add_command(
      app, invocation, "check",
      "Whether a program can run in warm workers, and what that gains; without a web server",
      Command::check);
  CheckOptions& options = invocation.check;
  sub->add_option("script", invocation.program, "The CGI program")->required();
  sub->add_option("--request", options.requests,
                  "\"GET /path/info?query\", below the program; may be repeated. Each is sent some "
                  "hundred times in all");
  sub->add_option("--requests", options.requests_file,
                  "File with one request a line; a third word @FILE names a body")
      ->check(CLI::ExistingFile);
  sub->add_option("--body", invocation.body_file, "File that --request's POSTs send as the body")
      ->check(CLI::ExistingFile);
  sub->add_option("--env", invocation.env, "A meta-variable, K=V; may be repeated");
  sub->add_flag_callback(
      "--post", [&options] { options.posts = Posts::harmless; },
      "Ask by POST as well: it changes nothing that matters");
  sub->add_option_function<std::string>(
         "--level",
         [&options](const std::string& level) {
           options.level = level == "linked" ? config::Level::linked : config::Level::compiled;
         },
         "How deep the checkpoint may be: compiled (the default) or linked")
      ->check(CLI::IsMember({"linked", "compiled"}));
  sub->add_option("--runs", options.runs, "How often each request is measured in each arm")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  sub->add_option("--timeout", options.timeout_s, "Seconds for the whole check")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  sub->add_option("--log", options.log_level, "What the bridge logs meanwhile, on standard error")
      ->check(CLI::IsMember({"off", "error", "warn", "info", "debug"}))
      ->capture_default_str();
  sub->add_flag_callback(
      "--json", [&invocation] { invocation.form = Form::json; },
      "Everything that was found, as JSON");
  sub->footer("Exit code: 0 warm workers give the same bytes; 1 stay with classic; 2 not checked.");
}

void add_migrate(CLI::App& app, Invocation& invocation) {
  CLI::App* sub = add_command(app, invocation, "migrate",
                              "Find the CGI programs in nginx's and Apache's configuration, and "
                              "print what to change for the bridge; changes nothing",
                              Command::migrate);
  MigrateOptions& options = invocation.migrate;
  sub->add_option("--nginx", options.nginx, "nginx's main file; otherwise /etc/nginx/nginx.conf");
  sub->add_option("--apache", options.apache,
                  "Apache's main file; otherwise /etc/apache2/apache2.conf or "
                  "/etc/httpd/conf/httpd.conf");
  sub->add_flag("--diff", options.diff, "Print patches, for `patch -p1 -d /`");
  sub->add_flag_callback(
      "--no-check", [&options] { options.check = false; },
      "Only list programs. Otherwise each is asked by GET and HEAD some hundred times");
  sub->add_option("--programs", options.programs, "How many programs are tried, at most")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  sub->add_option("--timeout", options.timeout_s, "Seconds for each program that is tried")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  sub->add_option("--socket", options.socket, "Where the bridge will listen")
      ->capture_default_str();
  sub->add_option("--config", invocation.config_path, "The bridge's settings file, to be made");
  sub->add_flag_callback(
      "--json", [&invocation] { invocation.form = Form::json; },
      "Everything that was found, as JSON");
  sub->footer(
      "Exit code: 0 everything was read; 2 some files could not be read, and are named; 1 nothing "
      "could be read.");
}

void add_doctor(CLI::App& app, Invocation& invocation) {
  CLI::App* sub = add_command(
      app, invocation, "doctor",
      "Why a site answers 502, 403 or 404, or is not faster: looks at the kernel, the bridge, its "
      "sockets, its roots and its programs, and changes nothing",
      Command::doctor);
  DoctorOptions& options = invocation.doctor;
  sub->add_option("--request", options.request,
                  "http://HOST[:PORT]/PATH: send one GET to the web server on this machine's "
                  "loopback address, and follow it");
  sub->add_option("--server-user", options.server_user,
                  "Judge what this user may do, instead of the web servers that run");
  sub->add_flag_callback(
      "--json", [&invocation] { invocation.form = Form::json; }, "What was found, as JSON");
  add_client_options(sub, invocation);
  sub->footer("Exit code: 0 nothing is wrong; 1 something is; 2 it could not look.");
}

void add_drain(CLI::App& app, Invocation& invocation) {
  CLI::App* sub =
      add_command(app, invocation, "drain", "Finish what is open, then end", Command::drain);
  const auto is_duration = [](const std::string& text) {
    const auto duration = config::parse_duration(text);
    return duration ? std::string() : duration.error().message;
  };
  sub->add_option("--after", invocation.after,
                  "Serve for that long first, and only say that it is about to end "
                  "(bridge.health), like 10s")
      ->check(CLI::Validator(is_duration, "DURATION"));
  sub->add_flag("--wait", invocation.wait, "Return when the bridge has ended");
  add_client_options(sub, invocation);
}

void add_fcgiwrap(CLI::App& app, Invocation& invocation) {
  CLI::App* sub = add_command(app, invocation, "fcgiwrap",
                              "Run the bridge with the options of fcgiwrap(8), without a settings "
                              "file; also by a link of that name",
                              Command::fcgiwrap);
  FcgiwrapOptions& options = invocation.fcgiwrap;
  sub->add_flag("-f", options.errors_to_server, "Send programs' standard error to the web server");
  sub->add_option("-c", options.at_once, "How many programs run at once, at most")
      ->check(CLI::Range(1, 10000));
  sub->add_option("-s", options.socket,
                  "Where to listen: unix:/path, tcp:1.2.3.4:port or tcp6:[::1]:port; otherwise on "
                  "what systemd or spawn-fcgi hands over");
  sub->add_option("-p", options.programs, "Run only this program; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_option("--control", options.control,
                  "A control socket, for status and other commands; otherwise there is none");
  sub->add_flag("--print", options.print, "Print a settings file that does the same, and end");
  sub->add_option("--take-over", invocation.take_over_fd, "Descriptor of a channel")->group("");
  sub->allow_extras();  // as getopt(3) does
}

void add_config(CLI::App& app, Invocation& invocation) {
  CLI::App* config = app.add_subcommand("config", "Check or show the settings");
  config->require_subcommand(1);
  const auto add = [&](const char* name, const char* text, Command command) {
    CLI::App* sub = add_command(*config, invocation, name, text, command);
    sub->add_option("--config,file", invocation.config_path, "Settings file");
    return sub;
  };
  add("check", "Say every error in the file", Command::config_check);
  add("show", "Print all settings, defaults included", Command::config_show);
  add("reference", "Print what can be set, as Markdown", Command::config_reference);
  add("manual", "Print cgibridge-config(5), for man -l", Command::config_manual)->group("");
}

// Pages and scripts about the commands themselves, for the installation.
void add_descriptions(CLI::App& app) {
  const auto print = [&app](auto text_of) {
    return [&app, text_of] { std::fputs(text_of(described_commands(app)).c_str(), stdout); };
  };
  const auto manual = [](const auto& commands) { return manual_page(commands, CGIBRIDGE_VERSION); };
  app.add_subcommand("manual", "Print cgibridge(1), for man -l")
      ->group("")
      ->callback(print(manual));
  CLI::App* completion =
      app.add_subcommand("completion", "Print the completion of commands for a shell");
  completion->require_subcommand(1);
  completion->add_subcommand("bash", "For bash")->callback(print(bash_completion));
  completion->add_subcommand("zsh", "For zsh")->callback(print(zsh_completion));
  completion->add_subcommand("fish", "For fish")->callback(print(fish_completion));
}

// ---- words that are not commands ----

// How many letters have to be inserted, removed or changed to turn one word into the other.
std::size_t edits_between(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t above_left = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t changed = above_left + (one[i] == other[j] ? 0 : 1);
      above_left = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string nearest_of(const std::vector<const CLI::App*>& commands, std::string_view word) {
  std::string nearest;
  std::size_t least = word.size() / 2 + 1;  // more distant ones are not typing errors
  for (const CLI::App* command : commands) {
    const std::string& name = command->get_name();
    const std::size_t edits = edits_between(word, name);
    const bool begins_it = word.size() > 1 && name.starts_with(word);
    if (edits >= least && !begins_it) continue;
    least = std::min(least, edits);
    nearest = name;
  }
  return nearest;
}

// If a word that is not a command is where a command should be, says so. CLI11 itself would only
// say that a command is missing, or what a later word lacks.
bool tell_unknown_command(const CLI::App& app) {
  for (const CLI::App* level = &app; level != nullptr;) {
    const auto commands = level->get_subcommands([](const CLI::App*) { return true; });
    const std::vector<std::string> words = level->remaining();
    const auto word =
        std::ranges::find_if(words, [](const auto& w) { return !w.starts_with('-'); });
    if (!commands.empty() && word != words.end()) {
      std::string all;
      for (const CLI::App* command : commands)
        all += (all.empty() ? "" : ", ") + command->get_name();
      const std::string nearest = nearest_of(commands, *word);
      const std::string text = fmt::format(
          "cgibridge: there is no command \"{}\"{}; the commands {}are: {}\n",
          base::printable(*word, 60), nearest.empty() ? "" : "; is \"" + nearest + "\" meant?",
          level == &app ? "" : "of \"" + level->get_name() + "\" ", all);
      std::fputs(text.c_str(), stderr);
      return true;
    }
    const auto given = level->get_subcommands();
    level = given.empty() ? nullptr : given.front();
  }
  return false;
}

}  // namespace

Invocation parse_command_line(int argc, char** argv) {
  Invocation invocation;
  std::vector<std::string> words = fcgiwrap_words({argv, argv + argc});
  if (words.empty()) words.emplace_back("cgibridge");
  invocation.config_path = CGIBRIDGE_SETTINGS_FILE;
  CLI::App app{"FastCGI to unmodified CGI programs, answered from warm workers", "cgibridge"};
  app.set_version_flag("--version", CGIBRIDGE_VERSION);
  app.require_subcommand(1);
  CLI::App* serve = add_command(app, invocation, "serve", "Run the bridge", Command::serve);
  serve->add_option("--config", invocation.config_path, "Settings file")->capture_default_str();
  // Used by `upgrade` when it starts the new bridge; of no use to anybody else.
  serve->add_option("--take-over", invocation.take_over_fd, "Descriptor of a channel")->group("");
  add_fcgiwrap(app, invocation);
  add_config(app, invocation);
  CLI::App* status =
      add_command(app, invocation, "status", "Programs, arms, workers, queues", Command::status);
  add_client_options(status, invocation);
  const auto as_json = [&] { invocation.form = Form::json; };
  const auto as_openmetrics = [&] { invocation.form = Form::openmetrics; };
  status->add_flag_callback("--json", as_json, "As JSON");
  status->add_flag_callback("--openmetrics", as_openmetrics, "As OpenMetrics text");
  status->add_flag("--watch", invocation.watch, "Again each second, until Ctrl-C");
  status->add_flag("--ready", invocation.ready,
                   "Only whether requests should be sent to it: exit code 0, otherwise 1 and why");
  CLI::App* mode =
      add_command(app, invocation, "mode", "Switch a program's mode now", Command::mode);
  mode->add_option("program", invocation.program, "Its name in the settings, or its path")
      ->required();
  mode->add_option("mode", invocation.mode, "Which from now on")
      ->required()
      ->check(CLI::IsMember({"classic", "persistent"}));
  add_client_options(mode, invocation);
  add_client_options(
      add_command(app, invocation, "reload", "Read the settings file again", Command::reload),
      invocation);
  add_drain(app, invocation);
  add_client_options(add_command(app, invocation, "reopen",
                                 "Open the log files again, after a rotation", Command::reopen),
                     invocation);
  add_client_options(
      add_command(app, invocation, "upgrade",
                  "Start the binary again on the same sockets, then end this process",
                  Command::upgrade),
      invocation);
  add_client_options(
      add_command(app, invocation, "attach",
                  "Hand the listening socket on descriptor 0 to the bridge (Apache mod_fcgid)",
                  Command::attach),
      invocation);
  add_check(app, invocation);
  add_migrate(app, invocation);
  add_doctor(app, invocation);
  add_try(app, invocation);
  add_replay(app, invocation);
  add_descriptions(app);
  try {
    invocation.words.assign(words.begin() + 1, words.end());
    app.parse(std::vector<std::string>(words.rbegin(), words.rend() - 1));
    if (app.got_subcommand("manual") || app.got_subcommand("completion")) invocation.exit_code = 0;
  } catch (const CLI::ParseError& error) {
    if (!error.get_exit_code() || !tell_unknown_command(app)) app.exit(error);
    invocation.exit_code = error.get_exit_code();
  }
  return invocation;
}

}  // namespace cli
