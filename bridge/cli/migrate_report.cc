#include "cli/migrate_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/log.h"
#include "migrate/apache_stanza.h"
#include "migrate/patch.h"

namespace cli {
namespace {

using migrate::Findings;
using migrate::FoundProgram;
using migrate::Place;
using migrate::Server;

constexpr std::size_t kProgramsShown = 40;  // of a place
constexpr std::size_t kPathColumns = 34;
constexpr std::size_t kLinesShown = 60;  // of a section to paste

std::string_view name_of(Server server) {
  return server == Server::nginx ? "nginx" : "Apache";
}

std::string at(const Findings& findings, const Place& place) {
  return fmt::format("{}:{}", findings.tree_of(place).files[place.file].path, place.line);
}

// A line in which no byte steers a terminal; tabs stay.
std::string visible(std::string_view line) {
  std::string out;
  for (;;) {
    const std::string_view piece = line.substr(0, line.find('\t'));
    out += base::printable(piece, piece.npos);
    if (piece.size() == line.size()) return out;
    out += '\t';
    line.remove_prefix(piece.size() + 1);
  }
}

// Lines from a file, or a patch.
std::string quoted(std::string_view text, std::string_view indent, std::size_t lines_max) {
  std::string out;
  for (std::size_t lines = 0; !text.empty(); ++lines) {
    if (lines == lines_max) return out + std::string(indent) + "...\n";
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    out += std::string(line.empty() ? "" : indent) + visible(line) + "\n";
  }
  return out;
}

std::string servers_text(const Findings& findings, const Terminal& terminal) {
  std::string text;
  const auto add = [&](std::string_view name, const migrate::Tree& tree) {
    if (tree.files.empty()) return;
    std::string what = tree.files.front().path;
    if (tree.files.size() > 1)
      what += fmt::format(" and {} that it includes", tree.files.size() - 1);
    text += wrapped(padded(name, 10), what, terminal);
  };
  if (findings.nginx) add("nginx", *findings.nginx);
  if (findings.apache) add("Apache", *findings.apache);
  for (const migrate::Problem& problem : problems_of(findings)) {
    const std::string line = problem.line > 0 ? fmt::format(":{}", problem.line) : "";
    text += wrapped(padded("not read", 10),
                    fmt::format("{}{}: {}", problem.file, line, problem.why), terminal);
  }
  return text;
}

std::string gain_of(const FoundProgram& program) {
  if (!program.checked) return {};
  const migrate::Checked& checked = *program.checked;
  if (checked.safety != "safe") {
    return fmt::format("{}: {}", checked.safety == "not checked" ? "not checked" : "classic",
                       checked.sentence);
  }
  if (checked.arm == "classic") return "classic: " + checked.sentence;
  return fmt::format(
      "{}{}: {:.{}f} times as fast, same bytes", checked.arm,
      checked.level.empty() || checked.level == checked.arm ? "" : ", " + checked.level,
      checked.speed_up, checked.speed_up < 10 ? 1 : 0);
}

std::string programs_text(const Migration& migration, std::size_t place, const Terminal& terminal) {
  std::string text;
  std::size_t shown = 0, untried = 0, more = 0;
  for (const FoundProgram& program : migration.findings.programs) {
    if (std::ranges::count(program.places, place) == 0) continue;
    if (!program.checked) ++untried;
    if (shown == kProgramsShown) {
      ++more;
      continue;
    }
    ++shown;
    const std::string path = "    " + padded(base::printable(program.path), kPathColumns);
    // The gain is beside a short path, and below a long one.
    const bool fits = width_of(path) <= kPathColumns + 4;
    const std::string gain = gain_of(program);
    if (!fits || gain.empty()) text += path.substr(0, path.find_last_not_of(' ') + 1) + "\n";
    if (!gain.empty()) text += wrapped(fits ? path + " " : "      ", gain, terminal);
  }
  if (more > 0) text += fmt::format("    ... and {} more (--json has all)\n", more);
  if (untried > 0 && migration.tried == Migration::Tried::yes) {
    text += fmt::format("    {} of them not tried; --programs N tries more\n", untried);
  }
  const std::string& problem = migration.findings.files[place].problem;
  if (!problem.empty()) text += wrapped("    ", "(" + problem + ")", terminal);
  if (shown == 0 && problem.empty()) text += "    (no programs are there)\n";
  return text;
}

std::string places_text(const Migration& migration, const Terminal& terminal) {
  const Findings& findings = migration.findings;
  std::string text, alone;
  for (std::size_t i = 0; i < findings.places.size(); ++i) {
    const Place& place = findings.places[i];
    const std::string site = place.site.empty() ? "" : " of " + place.site;
    const std::string what =
        fmt::format("{}: {}{} ({})", name_of(place.server), place.where, site, at(findings, place));
    if (!place.left_alone.empty()) {
      alone += wrapped("  ", fmt::format("{}: {}", what, place.left_alone), terminal);
      continue;
    }
    text += wrapped("  ", fmt::format("{}, run by {}", what, place.by), terminal);
    text += programs_text(migration, i, terminal);
    if (!place.remark.empty()) text += wrapped("    ", "(" + place.remark + ")", terminal);
  }
  if (text.empty()) text = "  (none)\n";
  text = "\n" + painted("CGI programs", Colour::bold, terminal) + "\n" + text;
  if (!alone.empty()) text += "\n" + painted("Left alone", Colour::bold, terminal) + "\n" + alone;
  return text;
}

std::string heading(std::string_view words, const Terminal& terminal) {
  return "\n" + painted(base::printable(words), Colour::bold, terminal) + "\n";
}

std::string stanzas_text(const Findings& findings, const Terminal& terminal) {
  std::string text;
  std::set<std::pair<std::string, std::size_t>> shown;
  for (const Place& place : findings.places) {
    const migrate::SourceFile& file = findings.tree_of(place).files[place.file];
    if (!place.left_alone.empty() || !shown.insert({file.path, place.shown_begin}).second) continue;
    const unsigned line = migrate::line_at(file.text, place.shown_begin);
    text += heading(fmt::format("In {}, from line {} on", file.path, line), terminal);
    text += quoted(shown_after(findings, place), "  ", kLinesShown);
  }
  const bool has_apache = std::ranges::any_of(findings.places, [](const Place& place) {
    return place.server == Server::apache && !place.edits.empty();
  });
  if (has_apache) {
    text += heading("At the end of " + findings.apache->files.front().path, terminal);
    text += quoted(migrate::proxy_stanza(), "  ", kLinesShown);
  }
  return text;
}

// Lines that patch(1) ignores.
std::string comment(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    out += (line.empty() ? "#" : "# " + base::printable(line, line.npos)) + "\n";
  }
  return out;
}

}  // namespace

std::vector<migrate::Problem> problems_of(const Findings& findings) {
  std::vector<migrate::Problem> problems;
  if (findings.nginx) problems = findings.nginx->problems;
  if (findings.apache) {
    const auto& more = findings.apache->problems;
    problems.insert(problems.end(), more.begin(), more.end());
  }
  return problems;
}

std::string migration_text(const Migration& migration, const Terminal& terminal) {
  std::string text = servers_text(migration.findings, terminal) + places_text(migration, terminal);
  const migrate::Proposal& proposal = migration.proposal;
  if (proposal.settings.empty()) return text + "\nThere is nothing to change.\n";
  const bool exist = migration.settings == Migration::Settings::exist;
  text += heading("Settings, for " + migration.settings_file +
                      (exist ? " (which is there; add what it lacks)" : ""),
                  terminal);
  text += quoted(proposal.settings, "  ", proposal.settings.size());
  text += stanzas_text(migration.findings, terminal) + "\n";
  for (const std::string& remark : proposal.remarks) text += wrapped("", remark, terminal);
  return text +
         wrapped("",
                 "Nothing was changed. `cgibridge migrate --diff` prints the same as patches, "
                 "for `patch -p1 -d /`.",
                 terminal);
}

std::string migration_diff(const Migration& migration, PatchBytes bytes) {
  const migrate::Proposal& proposal = migration.proposal;
  if (proposal.settings.empty()) return "# cgibridge migrate: there is nothing to change.\n";
  std::string head =
      "cgibridge migrate: to be applied with `patch -p1 -d /`; nothing was changed.\n";
  for (const std::string& remark : proposal.remarks) head += remark + "\n";
  std::string patches;
  if (migration.settings == Migration::Settings::exist) {
    head += "\n" + migration.settings_file + " is there; add what it lacks of these settings:\n" +
            proposal.settings;
  } else {
    patches = migrate::patch_of(migration.settings_file, nullptr, proposal.settings);
  }
  for (const migrate::FileChange& change : proposal.changes) {
    const std::string_view why = migrate::why_no_patch(change.path);
    if (why.empty()) {
      patches += migrate::patch_of(change.path, &change.before, change.after);
    } else {
      head += fmt::format("There is no patch for {}: {}.\n", change.path, why);
    }
  }
  const std::string shown =
      bytes == PatchBytes::visible ? quoted(patches, "", patches.size()) : patches;
  return comment(head) + shown;
}

nlohmann::json migration_json(const Migration& migration) {
  const Findings& findings = migration.findings;
  nlohmann::json json = {
      {"servers", nlohmann::json::array()},       {"problems", nlohmann::json::array()},
      {"places", nlohmann::json::array()},        {"programs", nlohmann::json::array()},
      {"settings_file", migration.settings_file}, {"settings", migration.proposal.settings},
      {"remarks", migration.proposal.remarks},    {"changes", nlohmann::json::array()}};
  const auto add_server = [&](std::string_view name, const migrate::Tree& tree) {
    nlohmann::json files = nlohmann::json::array();
    for (const auto& file : tree.files) files.push_back(file.path);
    json["servers"].push_back({{"name", name}, {"files", files}});
  };
  if (findings.nginx) add_server("nginx", *findings.nginx);
  if (findings.apache) add_server("Apache", *findings.apache);
  for (const migrate::Problem& problem : problems_of(findings)) {
    json["problems"].push_back(
        {{"file", problem.file}, {"line", problem.line}, {"why", problem.why}});
  }
  for (std::size_t i = 0; i < findings.places.size(); ++i) {
    const Place& place = findings.places[i];
    json["places"].push_back({{"server", name_of(place.server)},
                              {"site", place.site},
                              {"where", place.where},
                              {"by", place.by},
                              {"file", findings.tree_of(place).files[place.file].path},
                              {"line", place.line},
                              {"path", place.programs.path},
                              {"suffixes", place.programs.suffixes},
                              {"user", place.user},
                              {"roots", findings.files[i].roots},
                              {"problem", findings.files[i].problem},
                              {"remark", place.remark},
                              {"left_alone", place.left_alone}});
  }
  for (const FoundProgram& program : findings.programs) {
    nlohmann::json entry = {{"path", program.path}, {"places", program.places}, {"check", nullptr}};
    if (program.checked) {
      const migrate::Checked& checked = *program.checked;
      entry["check"] = {{"safety", checked.safety},     {"arm", checked.arm},
                        {"level", checked.level},       {"speed_up", checked.speed_up},
                        {"sentence", checked.sentence}, {"stanza", checked.stanza}};
    }
    json["programs"].push_back(std::move(entry));
  }
  for (const migrate::FileChange& change : migration.proposal.changes) {
    json["changes"].push_back(
        {{"file", change.path},
         {"patch", migrate::patch_of(change.path, &change.before, change.after)}});
  }
  return json;
}

}  // namespace cli
