#include <algorithm>
#include <optional>

#include "migrate/apache_stanza.h"
#include "migrate/places.h"

namespace migrate {
namespace {

bool is(const Directive& directive, std::string_view name) {
  return same_name(directive.name, name);
}

bool is_one_of(const Directive& directive, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names, [&](auto name) { return is(directive, name); });
}

bool is_cgi_handler(const std::string& handler) {
  return handler == "cgi-script" || handler == "fcgid-script";
}

// An AddHandler of mod_cgi or mod_fcgid.
struct Handler {
  std::string name;
  std::string folder;                 // of the Directory that it is in; empty: everywhere
  std::vector<std::string> suffixes;  // ".cgi"
};

struct Mapping {
  std::string url, path;
};

// What a section inherits from those around it.
struct Scope {
  std::string site = {};
  std::string user = {};
  std::string document_root = {};
  std::vector<Mapping> aliases = {};
  std::vector<Handler> handlers = {};
  std::vector<std::pair<std::string, std::string>> variables = {};
  const Directive* section = nullptr;  // the innermost one; nullptr: none
  std::string where = {};              // it and those around it, in words
  std::string folder = {};             // of a Directory, or where a Location leads
  bool is_regex = false;               // folder is a regular expression
  Outline files = {};                  // of Files and FilesMatch
  std::string wrapper = {};            // of FcgidWrapper
};

// The directives of a block, those of included files where they are included.
void each(const std::vector<Directive>& block,
          const std::function<void(const Directive&)>& function) {
  for (const Directive& directive : block) {
    if (is_one_of(directive, {"Include", "IncludeOptional"})) {
      each(directive.children, function);
    } else {
      function(directive);
    }
  }
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

bool is_below(const std::string& path, const std::string& folder) {
  return folder.empty() || path == folder || path.starts_with(without_slash(folder) + "/");
}

// "/home/$1/cgi-bin/$2" -> "/home/*/cgi-bin"
std::string folder_of_target(const std::string& target) {
  std::string pattern;
  for (std::size_t at = 0; at < target.size(); ++at) {
    const bool is_group = target[at] == '$' && at + 1 < target.size() && target[at + 1] >= '0' &&
                          target[at + 1] <= '9';
    pattern += is_group ? '*' : target[at];
    at += is_group ? 1 : 0;
  }
  const std::size_t last = pattern.rfind('/');
  if (last != pattern.npos && pattern.find('*', last) != pattern.npos) pattern.resize(last);
  return pattern;
}

class Finder {
 public:
  Finder(const ApacheTree& tree, const PlaceOptions& options) : tree_(tree), options_(options) {
    const bool is_daemon = std::ranges::count(tree.modules, "mod_cgid.c") > 0;
    const bool is_loaded = is_daemon || std::ranges::count(tree.modules, "mod_cgi.c") > 0;
    cgi_ = is_daemon ? "mod_cgid" : is_loaded ? "mod_cgi" : "mod_cgi (which is not loaded)";
  }

  std::vector<Place> run() {
    find_script_folders(tree_.directives);
    walk(tree_.directives, Scope{});
    return std::move(places_);
  }

 private:
  // In a folder that a ScriptAlias leads to, all files are programs, whatever their names.
  void find_script_folders(const std::vector<Directive>& block) {
    each(block, [&](const Directive& directive) {
      if (is(directive, "ScriptAlias") && !directive.args.empty()) {
        script_folders_.push_back(without_slash(directive.args.back()));
      }
      find_script_folders(directive.children);
    });
  }

  void walk(const std::vector<Directive>& block, Scope scope) {
    read_settings(block, scope);
    each(block, [&](const Directive& directive) {
      if (is_one_of(directive, {"ScriptAlias", "ScriptAliasMatch"})) {
        add_script_alias(scope, directive);
      } else if (is(directive, "SetHandler") && !directive.args.empty()) {
        if (is_cgi_handler(directive.args[0])) add_handler_of_section(scope, directive);
      } else if (is(directive, "Options")) {
        if (allows_programs(directive)) add_suffixes(scope, directive);
      } else if (directive.is_block) {
        walk(directive.children, inside(scope, directive));
      }
    });
  }

  // What holds for the whole block, wherever it is in it. Handlers everywhere first, because a
  // Directory that allows programs may be before the AddHandler that says which files are programs.
  void read_settings(const std::vector<Directive>& block, Scope& scope) {
    each(block, [&](const Directive& directive) {
      const std::vector<std::string>& args = directive.args;
      if (is_one_of(directive, {"Directory", "DirectoryMatch"}) && !args.empty()) {
        Scope folder;
        folder.folder = args.back();
        read_settings(directive.children, folder);
        scope.handlers.insert(scope.handlers.end(), folder.handlers.begin(), folder.handlers.end());
      }
      if (args.empty()) return;
      if (is(directive, "ServerName")) scope.site = args[0];
      if (is(directive, "DocumentRoot")) scope.document_root = args[0];
      if (is(directive, "FcgidWrapper")) scope.wrapper = args[0];
      if (is(directive, "SuexecUserGroup") && args.size() > 1) scope.user = args[0] + ":" + args[1];
      if (is(directive, "SetEnv") && args.size() > 1)
        scope.variables.emplace_back(args[0], args[1]);
      if (is_one_of(directive, {"Alias", "ScriptAlias"}) && args.size() > 1) {
        scope.aliases.insert(scope.aliases.begin(), {args[0], args[1]});
      }
      if (is(directive, "AddHandler") && is_cgi_handler(args[0])) {
        Handler handler{args[0], scope.folder, {}};
        for (std::size_t i = 1; i < args.size(); ++i) {
          handler.suffixes.push_back((args[i].starts_with('.') ? "" : ".") + args[i]);
        }
        scope.handlers.push_back(std::move(handler));
      }
    });
  }

  Scope inside(const Scope& scope, const Directive& section) const {
    Scope inner = scope;
    inner.section = &section;
    std::string words = "<" + section.name;
    for (const std::string& arg : section.args) words += " " + arg;
    inner.where += (inner.where.empty() ? "" : " ") + words + ">";
    const std::string& last = section.args.empty() ? std::string() : section.args.back();
    const bool tilde = section.args.size() > 1 && section.args[0] == "~";
    if (is(section, "VirtualHost")) {
      inner.where.clear();
      inner.section = nullptr;
    } else if (is_one_of(section, {"Directory", "DirectoryMatch"})) {
      const bool is_regex = tilde || is(section, "DirectoryMatch");
      inner.folder = is_regex ? outline_of(last).begin : without_slash(last);
      inner.is_regex = is_regex;
    } else if (is_one_of(section, {"Location", "LocationMatch"})) {
      const bool is_regex = tilde || is(section, "LocationMatch");
      inner.folder = file_of_url(scope, is_regex ? outline_of(last).begin : last);
      inner.is_regex = is_regex;
    } else if (is_one_of(section, {"Files", "FilesMatch"})) {
      inner.files = tilde || is(section, "FilesMatch") ? outline_of(last) : outline_of_names(last);
    }
    return inner;
  }

  // "*.cgi", or a name.
  static Outline outline_of_names(const std::string& pattern) {
    if (pattern.find_first_of("*?[") == pattern.npos) return {.begin = pattern, .whole = true};
    const bool is_suffix =
        pattern.starts_with("*.") && pattern.find_first_of("*?[{", 1) == pattern.npos;
    Outline outline;
    if (is_suffix) outline.suffixes = {pattern.substr(1)};
    return outline;
  }

  // Where a URL leads: by the first Alias that fits, or below DocumentRoot.
  static std::string file_of_url(const Scope& scope, const std::string& url) {
    for (const Mapping& alias : scope.aliases) {
      if (!url.empty() && (url == without_slash(alias.url) || url.starts_with(alias.url))) {
        return without_slash(alias.path) + (url.size() > without_slash(alias.url).size()
                                                ? url.substr(without_slash(alias.url).size())
                                                : "");
      }
    }
    return scope.document_root.empty() ? "" : without_slash(scope.document_root) + url;
  }

  static bool allows_programs(const Directive& options) {
    return std::ranges::any_of(options.args, [](const std::string& word) {
      return same_name(word, "ExecCGI") || same_name(word, "+ExecCGI") || same_name(word, "All");
    });
  }

  Place place_of(const Scope& scope, const Directive& directive, std::string where) const {
    const Directive& shown =
        scope.section && scope.section->file == directive.file ? *scope.section : directive;
    Place place{.server = Server::apache,
                .site = scope.site,
                .where = std::move(where),
                .by = cgi_,
                .programs = {},
                .user = scope.user,
                .variables = scope.variables,
                .file = directive.file,
                .line = directive.line,
                .shown_begin = shown.begin,
                .shown_end = shown.end};
    return place;
  }

  std::string indent_of(const Directive& directive) const {
    return indent_at(tree_.files[directive.file].text, directive.begin);
  }

  void add_script_alias(const Scope& scope, const Directive& directive) {
    const std::vector<std::string>& args = directive.args;
    if (args.empty()) return;
    const bool is_match = is(directive, "ScriptAliasMatch");
    Place place = place_of(scope, directive, directive.name + " " + args[0]);
    std::string target = is_match ? folder_of_target(args.back()) : args.back();
    // "/cgit/" -> "/usr/lib/cgit/cgit.cgi/": a program, with PATH_INFO after it.
    const bool is_file = !is_match && options_.is_file(without_slash(target));
    if (is_file) target = without_slash(target);
    place.programs = {.path = clean_path(is_file ? target : without_slash(target) + "/"),
                      .whole = is_file};
    if (target.find("/public_html") != target.npos && place.user.empty()) place.user = "owner";
    const std::string indent = indent_of(directive);
    // ScriptAlias[Match] -> Alias[Match]
    place.edits.push_back({directive.file, directive.begin, directive.begin + 6, ""});
    const bool in_section = scope.section != nullptr;  // a Location, where no Directory may be
    place.edits.push_back(
        {directive.file, directive.end, directive.end,
         in_section ? "\n" + indent + handler_lines(indent, options_.socket)
         : is_file
             ? "\n" + indent + stanza_for_file(target, indent, options_.socket)
             : "\n" + indent + stanza_for_folder(without_slash(target), indent, options_.socket)});
    if (!target.starts_with('/')) {
      place.left_alone = "its target is no absolute path";
      place.edits.clear();
    }
    places_.push_back(std::move(place));
  }

  void add_handler_of_section(const Scope& scope, const Directive& directive) {
    const std::string folder = scope.folder.empty() ? scope.document_root : scope.folder;
    Place place = place_of(scope, directive,
                           scope.where.empty() ? "SetHandler " + directive.args[0] : scope.where);
    if (directive.args[0] == "fcgid-script") place.by = "mod_fcgid";
    set_programs(place, scope, folder, scope.files);
    place.edits.push_back({directive.file, directive.begin, directive.end,
                           handler_lines(indent_of(directive), options_.socket)});
    judge(place, scope);
    places_.push_back(std::move(place));
  }

  // A section that allows programs, where AddHandler says which files are programs.
  void add_suffixes(const Scope& scope, const Directive& options) {
    const bool is_covered = std::ranges::any_of(
        script_folders_, [&](const std::string& folder) { return is_below(scope.folder, folder); });
    if (scope.section == nullptr || scope.folder.empty() || is_covered) return;
    Outline files;
    std::string by = cgi_;
    for (const Handler& handler : scope.handlers) {
      if (!is_below(scope.folder, handler.folder)) continue;
      if (handler.name == "fcgid-script") by = "mod_fcgid";
      for (const std::string& suffix : handler.suffixes) {
        if (std::ranges::count(files.suffixes, suffix) == 0) files.suffixes.push_back(suffix);
      }
    }
    if (files.suffixes.empty()) return;
    Place place = place_of(scope, options, scope.where);
    place.by = by;
    set_programs(place, scope, scope.folder, files);
    const Directive& section = *scope.section;
    const std::string indent = indent_of(options);
    place.edits.push_back(
        {section.file, section.body_end, section.body_end,
         indent + stanza_for_suffixes(files.suffixes, indent, options_.socket) + "\n"});
    judge(place, scope);
    places_.push_back(std::move(place));
  }

  void set_programs(Place& place, const Scope& scope, const std::string& folder,
                    const Outline& files) const {
    const bool is_file = files.whole || options_.is_file(folder);
    std::string path = folder;
    if (files.whole) path += "/" + files.begin;
    if (!is_file && !scope.is_regex) path = without_slash(path) + "/";
    place.programs = {.path = clean_path(path), .whole = is_file, .suffixes = files.suffixes};
    if (folder.find("/public_html") != folder.npos && place.user.empty()) place.user = "owner";
  }

  static void judge(Place& place, const Scope& scope) {
    if (!place.programs.path.starts_with('/')) {
      place.left_alone = "which folder it means is not known; it needs a SetHandler of its own";
    } else if (place.by == "mod_fcgid" && scope.wrapper.find("cgibridge") != scope.wrapper.npos) {
      place.left_alone = "the bridge answers here already";
    } else if (place.by == "mod_fcgid" && !scope.wrapper.empty()) {
      place.left_alone = "its programs are run by FcgidWrapper " + scope.wrapper +
                         "; the bridge's setting for that is interpreter";
    }
    if (!place.left_alone.empty()) place.edits.clear();
  }

  const ApacheTree& tree_;
  const PlaceOptions& options_;
  std::string cgi_;
  std::vector<std::string> script_folders_;
  std::vector<Place> places_;
};

}  // namespace

std::vector<Place> apache_places(const ApacheTree& tree, const PlaceOptions& options) {
  return Finder(tree, options).run();
}

std::string apache_user(const ApacheTree& tree) {
  std::string user, group;
  each(tree.directives, [&](const Directive& directive) {
    // A variable that has no value says nothing.
    if (directive.args.empty() || directive.args[0].starts_with("${")) return;
    if (is(directive, "User")) user = directive.args[0];
    if (is(directive, "Group")) group = directive.args[0];
  });
  return user.empty() || group.empty() || group == user ? user : user + ":" + group;
}

}  // namespace migrate
