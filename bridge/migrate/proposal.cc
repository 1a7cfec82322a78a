#include "migrate/proposal.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/log.h"
#include "base/utf8.h"
#include "cgi/environment.h"
#include "config/pattern.h"
#include "config/show.h"
#include "migrate/apache_stanza.h"
#include "migrate/patch.h"
#include "migrate/places.h"

namespace migrate {
namespace {

std::string list_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + config::quote(word);
  return "[" + text + "]";
}

bool is_changed(const Place& place) {
  return place.left_alone.empty();
}

bool is_inside(const std::string& path, const std::vector<std::string>& roots) {
  return std::ranges::any_of(roots, [&](const std::string& root) {
    return path == root || path.starts_with(root.ends_with('/') ? root : root + "/");
  });
}

// The folders of the places, and what links in them lead to; also those that no settings file can
// name.
std::vector<std::string> all_roots_of(const Findings& findings) {
  std::vector<std::string> all, roots;
  for (std::size_t i = 0; i < findings.places.size(); ++i) {
    if (!is_changed(findings.places[i])) continue;
    for (const std::string& root : findings.files[i].roots) all.push_back(root);
  }
  std::ranges::sort(all);
  for (const std::string& root : all) {
    if (!is_inside(root, roots)) roots.push_back(root);
  }
  for (const FoundProgram& program : findings.programs) {
    const bool counts = std::ranges::any_of(
        program.places, [&](std::size_t place) { return is_changed(findings.places[place]); });
    if (counts && !program.real.empty() && !is_inside(program.real, roots)) {
      roots.push_back(program.real);
    }
  }
  return roots;
}

// TOML is UTF-8: a file with another name in it would be refused as a whole.
bool can_be_named(const std::string& path) {
  return base::find_not_utf8(path) == std::string::npos;
}

std::vector<std::string> roots_of(const Findings& findings) {
  std::vector<std::string> roots = all_roots_of(findings);
  std::erase_if(roots, [](const std::string& root) { return !can_be_named(root); });
  return roots;
}

void remark_on_names(const Findings& findings, Proposal& proposal) {
  for (const std::string& root : all_roots_of(findings)) {
    if (can_be_named(root)) continue;
    proposal.remarks.push_back(fmt::format(
        "{}: its name is no UTF-8, so roots cannot name it: rename it, or name its folder.",
        base::printable(root, root.npos)));
  }
}

// Params that a bridge does not take from a web server unless pass_params names them.
std::vector<std::string> params_to_pass(const Findings& findings) {
  std::set<std::string> names;
  for (const Place& place : findings.places) {
    for (const auto& [name, value] : place.variables) {
      if (is_changed(place) && cgi::forbidden_name(name)) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

std::string user_of(const Findings& findings) {
  std::string user = findings.nginx ? nginx_user(*findings.nginx) : "";
  if (user.empty() && findings.apache) user = apache_user(*findings.apache);
  return user;
}

std::string place_user(const Findings& findings, const FoundProgram& program) {
  for (const std::size_t place : program.places) {
    if (!findings.places[place].user.empty()) return findings.places[place].user;
  }
  return {};
}

// Sections for programs that should differ from [defaults]; the first that fits counts, so
// those for single programs are first.
std::string program_sections(const Findings& findings) {
  std::string text;
  for (const FoundProgram& program : findings.programs) {
    const bool as_default =
        !program.checked || program.checked->stanza.empty() || program.checked->arm == "rewind";
    if (as_default) continue;
    const std::string user = place_user(findings, program);
    text += "\n" + program.checked->stanza;
    if (!user.empty()) text += "user = " + config::quote(user) + "\n";
  }
  std::set<std::string> done;
  for (std::size_t i = 0; i < findings.places.size(); ++i) {
    const Place& place = findings.places[i];
    if (!is_changed(place) || place.user.empty()) continue;
    for (const std::string& root : findings.files[i].roots) {
      if (!done.insert(root).second) continue;
      const std::string match = config::literal_pattern(root) + (place.programs.whole ? "" : "/*");
      text += fmt::format("\n[[program]]\nmatch = {}\nuser = {}\n", config::quote(match),
                          config::quote(place.user));
    }
  }
  return text;
}

std::string settings_of(const Findings& findings, const std::string& socket) {
  const std::string user = user_of(findings);
  const std::vector<std::string> roots = roots_of(findings);
  std::string text = "# For a bridge that is started as root.\n[bridge]\n";
  text += "listen = " + list_of({"unix:" + socket}) + "\n";
  if (!user.empty()) {
    const std::size_t colon = user.find(':');
    const std::string group = colon == user.npos ? user : user.substr(colon + 1);
    text +=
        "socket_group = " + config::quote(group) + "  # who may connect: the web server's group\n";
  }
  text += "roots = " + list_of(roots) + "  # nothing outside is ever run\n\n[defaults]\n";
  if (!user.empty()) {
    text += "user = " + config::quote(user) +
            "  # the web server's; where fcgiwrap ran as another user, that one\n";
  }
  if (user.empty()) {
    text += "# user = \"www-data\"  # as whom programs run; the configuration does not say it\n";
  }
  const std::vector<std::string> params = params_to_pass(findings);
  if (!params.empty()) {
    text += "pass_params = " + list_of(params) + "  # the web server sends them now\n";
  }
  return text + program_sections(findings);
}

// All edits of one file, by its path: a file that is included twice is changed once.
std::vector<Edit> edits_of(const Findings& findings, Server server, const std::string& path) {
  std::vector<Edit> edits;
  for (const Place& place : findings.places) {
    if (place.server != server) continue;
    for (const Edit& edit : place.edits) {
      if (findings.tree_of(place).files[edit.file].path == path) edits.push_back(edit);
    }
  }
  return edits;
}

bool changes_something(const Findings& findings, Server server) {
  return std::ranges::any_of(findings.places, [&](const Place& place) {
    return place.server == server && !place.edits.empty();
  });
}

void add_changes(const Findings& findings, Server server, const Tree& tree, Proposal& proposal) {
  std::set<std::string> done;
  for (const SourceFile& file : tree.files) {
    if (!done.insert(file.path).second) continue;
    std::vector<Edit> edits = edits_of(findings, server, file.path);
    const bool is_main = &file == &tree.files.front();
    if (server == Server::apache && is_main && changes_something(findings, server)) {
      const bool ended = file.text.empty() || file.text.ends_with('\n');
      edits.push_back(
          {0, file.text.size(), file.text.size(), (ended ? "\n" : "\n\n") + proxy_stanza()});
    }
    const Edited edited = with_edits(file.text, edits);
    if (edited.refused > 0) {
      proposal.remarks.push_back(fmt::format(
          "{}: {} more changes would overlap with these; look at them after the first ones.",
          file.path, edited.refused));
    }
    if (edited.text != file.text) proposal.changes.push_back({file.path, file.text, edited.text});
  }
}

bool has_module(const ApacheTree& tree, std::string_view name) {
  return std::ranges::count(tree.modules, name) > 0;
}

void remark_on_apache(const ApacheTree& tree, Proposal& proposal) {
  if (!has_module(tree, "mod_proxy_fcgi.c")) {
    proposal.remarks.emplace_back(
        "Before Apache is reloaded: a2enmod proxy_fcgi (without it, Apache refuses the new "
        "lines).");
  }
  if (!has_module(tree, "mod_alias.c")) proposal.remarks.emplace_back("Also: a2enmod alias.");
  proposal.remarks.emplace_back(
      "Then: apachectl configtest && apachectl graceful. What .htaccess files say is not known "
      "here.");
}

}  // namespace

Proposal propose(const Findings& findings, const std::string& socket) {
  Proposal proposal;
  if (std::ranges::none_of(findings.places, is_changed)) return proposal;
  proposal.settings = settings_of(findings, socket);
  if (findings.nginx) add_changes(findings, Server::nginx, *findings.nginx, proposal);
  if (findings.apache) add_changes(findings, Server::apache, *findings.apache, proposal);
  if (changes_something(findings, Server::apache)) remark_on_apache(*findings.apache, proposal);
  if (changes_something(findings, Server::nginx)) {
    proposal.remarks.emplace_back("Then: nginx -t && nginx -s reload.");
  }
  remark_on_names(findings, proposal);
  return proposal;
}

std::string shown_after(const Findings& findings, const Place& place) {
  const SourceFile& file = findings.tree_of(place).files[place.file];
  std::vector<Edit> inside;
  for (Edit edit : edits_of(findings, place.server, file.path)) {
    if (edit.begin < place.shown_begin || edit.end > place.shown_end) continue;
    edit.begin -= place.shown_begin;
    edit.end -= place.shown_begin;
    inside.push_back(std::move(edit));
  }
  const std::string_view shown =
      std::string_view(file.text).substr(place.shown_begin, place.shown_end - place.shown_begin);
  return indent_at(file.text, place.shown_begin) + with_edits(shown, inside).text + "\n";
}

}  // namespace migrate
