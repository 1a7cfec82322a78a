#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/manual_page.h"
#include "cli/described.h"

namespace cli {
namespace {

std::string how_to_write(const DescribedOption& option) {
  const std::string value =
      option.choices.empty() ? "VALUE" : fmt::format("{}", fmt::join(option.choices, "|"));
  if (option.positional) return option.choices.empty() ? option.name : value;
  return option.name + (option.takes_value ? " " + value : "");
}

std::string synopsis(const DescribedCommand& command) {
  std::string line = "cgibridge " + command.name;
  bool named = false;
  for (const DescribedOption& option : command.options) named |= !option.positional;
  if (named) line += " [OPTION...]";
  for (const DescribedOption& option : command.options) {
    if (option.positional) line += ' ' + how_to_write(option);
  }
  return line;
}

void add_command(base::ManualPage& page, const DescribedCommand& command) {
  page.subsection(synopsis(command));
  page.paragraph(command.text + '.');
  for (const DescribedOption& option : command.options) {
    page.entry(how_to_write(option), option.text + '.');
  }
  if (!command.footer.empty()) page.paragraph(command.footer);
}

void add_signals(base::ManualPage& page) {
  page.section("SIGNALS");
  page.paragraph("What `cgibridge serve` does at a signal:");
  page.entry("SIGHUP", "Reads the settings file again, as `reload`.");
  page.entry(
      "SIGTERM, SIGINT, SIGQUIT",
      "Finishes what is open, then ends, as `drain`; a second one ends at once what is left.");
  page.entry("SIGUSR1", "Opens the log files again, as `reopen`.");
  page.entry("SIGUSR2", "Starts the binary anew on the same sockets, as `upgrade`.");
}

void add_files(base::ManualPage& page) {
  page.section("FILES");
  page.entry(CGIBRIDGE_SETTINGS_FILE, "The settings: cgibridge-config(5).");
  page.entry("/run/cgibridge/fastcgi.sock",
             "Where web servers connect, unless `listen` says more.");
  page.entry("/run/cgibridge/control.sock",
             "Where commands reach the daemon, unless `control` says otherwise.");
}

}  // namespace

std::string manual_page(const std::vector<DescribedCommand>& commands, const std::string& version) {
  base::ManualPage page("cgibridge", 1, version,
                        "unmodified CGI programs behind FastCGI, answered from warm workers");
  page.section("SYNOPSIS");
  page.paragraph("`cgibridge` COMMAND [OPTION...] [ARGUMENT...]");
  page.section("DESCRIPTION");
  page.paragraph(
      "The daemon speaks FastCGI to a web server (nginx, Apache, lighttpd, HAProxy, Caddy, h2o) "
      "and "
      "runs "
      "CGI programs (RFC 3875) that are not changed for it: each request is answered by a warm "
      "worker process that has seen nothing before, or, in the mode `classic`, by a process that "
      "is "
      "started for it. The settings choose, for each program, and can be changed while it runs.");
  page.paragraph(
      "`cgibridge check PROGRAM` is the beginning: it says, without a web server, what a program "
      "bears, whether all its answers stay the same, and how much faster they come.");
  page.section("COMMANDS");
  for (const DescribedCommand& command : commands) add_command(page, command);
  add_signals(page);
  page.section("EXIT STATUS");
  page.paragraph(
      "0: done. 1: refused or failed, with the reason on standard error. `try` and `replay` exit "
      "as "
      "the program did. Other numbers are with their commands; a wrong command line gives one "
      "above "
      "100.");
  add_files(page);
  page.section("SEE ALSO");
  page.paragraph("`cgibridge-config`(5), `fcgiwrap`(8), `nginx`(8)");
  return page.text();
}

}  // namespace cli
