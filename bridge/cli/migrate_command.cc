#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/migrate_check.h"
#include "cli/migrate_report.h"
#include "journal/text_bytes.h"
#include "migrate/apache_text.h"
#include "migrate/machine.h"
#include "migrate/places.h"

namespace cli {
namespace {

namespace fs = std::filesystem;

// Debian, Fedora.
constexpr const char* kNginxFiles[] = {"/etc/nginx/nginx.conf"};
constexpr const char* kApacheFiles[] = {"/etc/apache2/apache2.conf", "/etc/httpd/conf/httpd.conf"};

// The file that was asked for; if none was, the usual one if it exists.
template <std::size_t count>
std::string main_file(const std::string& given, const MigrateOptions& options,
                      const char* const (&usual)[count]) {
  if (!given.empty()) return given;
  if (!options.nginx.empty() || !options.apache.empty()) return {};
  for (const char* path : usual) {
    if (migrate::is_file(path)) return path;
  }
  return {};
}

std::string absolute(const std::string& path) {
  std::error_code failed;
  const std::string made = fs::absolute(path, failed).lexically_normal();
  return failed ? path : made;
}

migrate::ApacheTree read_apache(const std::string& main, migrate::MachineFiles& files) {
  const std::string why = migrate::why_no_apache();
  if (!why.empty()) {
    migrate::ApacheTree tree;
    tree.problems.push_back({main, 0, "Apache's configuration is left out: " + why});
    return tree;
  }
  const auto variables = files.read(fs::path(main).parent_path() / "envvars");
  return migrate::read_apache(main, files,
                              variables ? migrate::exported_variables(variables.value().text)
                                        : std::map<std::string, std::string>());
}

// Reads what there is. An error: there is no main file.
base::Status read_servers(const MigrateOptions& options, migrate::Findings& findings) {
  const std::string nginx = main_file(options.nginx, options, kNginxFiles);
  const std::string apache = main_file(options.apache, options, kApacheFiles);
  if (nginx.empty() && apache.empty()) {
    return base::Error{
        fmt::format("there is no {}, no {} and no {}; --nginx FILE or --apache FILE names a main "
                    "configuration file",
                    kNginxFiles[0], kApacheFiles[0], kApacheFiles[1])};
  }
  migrate::MachineFiles files;
  if (!nginx.empty()) findings.nginx = migrate::read_nginx(absolute(nginx), files);
  if (!apache.empty()) findings.apache = read_apache(absolute(apache), files);
  const bool has_any = (findings.nginx && !findings.nginx->files.empty()) ||
                       (findings.apache && !findings.apache->files.empty());
  if (has_any) return base::Done{};
  const migrate::Problem problem = problems_of(findings).front();
  return base::Error{problem.file + ": " + problem.why};
}

void find_places(migrate::Findings& findings, const migrate::PlaceOptions& options) {
  if (findings.nginx) findings.places = migrate::nginx_places(*findings.nginx, options);
  if (findings.apache) {
    for (migrate::Place& place : migrate::apache_places(*findings.apache, options)) {
      findings.places.push_back(std::move(place));
    }
  }
  for (std::size_t i = 0; i < findings.places.size(); ++i) {
    migrate::Place& place = findings.places[i];
    migrate::PlaceFiles files;
    if (place.left_alone.empty()) {
      files = migrate::find_programs(place, i, {}, findings.programs);
      const bool has_some = std::ranges::any_of(
          findings.programs, [&](const auto& program) { return program.places.back() == i; });
      // A folder that is only for programs may still get some; other folders are less likely to.
      if (files.roots.empty()) place.left_alone = files.problem;
      if (!place.programs.suffixes.empty() && !has_some) place.left_alone = "no programs are there";
      if (!place.left_alone.empty()) place.edits.clear();
    }
    findings.files.push_back(std::move(files));
  }
}

// The user that the web server's programs run as now, as far as its configuration says.
std::string user_of(const migrate::Findings& findings, const migrate::Place& place) {
  if (!place.user.empty()) return place.user;
  return place.server == migrate::Server::nginx ? migrate::nginx_user(*findings.nginx)
                                                : migrate::apache_user(*findings.apache);
}

void try_programs(migrate::Findings& findings, const MigrateOptions& options) {
  const std::size_t count = std::min<std::size_t>(findings.programs.size(), options.programs);
  const bool shows = ::isatty(STDERR_FILENO) == 1;
  for (std::size_t i = 0; i < count; ++i) {
    migrate::FoundProgram& program = findings.programs[i];
    if (shows) {
      fmt::print(stderr, "\r\x1b[K{} of {}: {}", i + 1, count, base::printable(program.path, 60));
    }
    const migrate::Place& place = findings.places[program.places.front()];
    program.checked = check_program(program.path, user_of(findings, place), place.variables,
                                    std::chrono::seconds(options.timeout_s));
  }
  if (shows) fmt::print(stderr, "\r\x1b[K");
}

}  // namespace

int run_migrate(const Invocation& invocation) {
  MigrateOptions options = invocation.migrate;
  if (options.socket.starts_with("unix:")) options.socket.erase(0, 5);
  base::start_log("off");
  Migration migration;
  const auto read = read_servers(options, migration.findings);
  if (!read) return fail(read.error().message);
  find_places(migration.findings, {.socket = options.socket, .is_file = migrate::is_file});
  if (options.check) try_programs(migration.findings, options);
  migration.tried = options.check ? Migration::Tried::yes : Migration::Tried::no;
  migration.proposal = migrate::propose(migration.findings, options.socket);
  migration.settings_file = absolute(invocation.config_path);
  if (migrate::is_file(migration.settings_file)) migration.settings = Migration::Settings::exist;
  if (invocation.form == Form::json) {
    const auto json = migration_json(migration);
    fmt::print("{}\n", journal::ascii_json(json, 2));
  } else if (options.diff) {
    const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
    fmt::print(
        "{}", migration_diff(migration, is_terminal ? PatchBytes::visible : PatchBytes::unchanged));
    for (const migrate::Problem& problem : problems_of(migration.findings)) {
      const std::string line = problem.line > 0 ? fmt::format(":{}", problem.line) : "";
      fail(fmt::format("{}{}: {}", problem.file, line, problem.why));
    }
  } else {
    fmt::print("{}", migration_text(migration, terminal_of_stdout()));
  }
  return problems_of(migration.findings).empty() ? 0 : 2;
}

}  // namespace cli
