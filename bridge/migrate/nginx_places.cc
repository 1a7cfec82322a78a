#include <algorithm>
#include <map>
#include <optional>

#include "migrate/places.h"

namespace migrate {
namespace {

using Params = std::vector<std::pair<std::string, std::string>>;

// The beginning of a value, as far as it is the same for all requests.
struct Value {
  std::string begin;
  bool whole = true;
};

// What a block inherits from those around it.
struct Scope {
  std::string site;
  Value root = {"", false};  // of root or alias
  bool is_alias = false;     // then without the part of the URL that the location names
  Params params = {};        // fastcgi_param
  std::map<std::string, std::string> variables = {};  // of `set`
  const Directive* location = nullptr;
  std::string location_uri = {};  // of a location without a regular expression
  Value uri = {"/", false};
  std::vector<std::string> suffixes = {};
  std::string split = {};  // fastcgi_split_path_info
};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// The directives of a block, those of included files where they are included.
void each(const std::vector<Directive>& block,
          const std::function<void(const Directive&)>& function) {
  for (const Directive& directive : block) {
    if (directive.name == "include" && !directive.is_block) {
      each(directive.children, function);
    } else {
      function(directive);
    }
  }
}

void enter_location(Scope& scope, const Directive& location) {
  const std::vector<std::string>& args = location.args;
  const std::string& last = args.empty() ? std::string() : args.back();
  scope.location = &location;
  scope.location_uri.clear();
  scope.suffixes.clear();
  const std::string kind = args.size() > 1 ? args[0] : "";
  if (kind == "~" || kind == "~*") {
    const Outline outline = outline_of(last);
    scope.uri = {outline.begin.empty() ? "/" : outline.begin, outline.whole};
    scope.suffixes = outline.suffixes;
  } else if (last.starts_with('@')) {
    scope.uri = {"/", false};
  } else {
    scope.location_uri = last;
    scope.uri = {last, kind == "="};
  }
}

// The URL as $fastcgi_script_name has it.
Value script_name(const Scope& scope) {
  if (scope.split.empty() || scope.uri.whole) return scope.uri;
  // "^(/gitweb\.cgi)(/.*)$": the first group is the script.
  const Outline outline = outline_of(first_group_of(scope.split));
  return outline.begin.size() > scope.uri.begin.size() ? Value{outline.begin, false} : scope.uri;
}

Value append(Value value, const Value& more) {
  if (!value.whole) return value;
  return {value.begin + more.begin, more.whole};
}

Value value_of_variable(const Scope& scope, const std::string& name) {
  if (name == "document_root" || name == "realpath_root") return scope.root;
  if (name == "fastcgi_script_name") return script_name(scope);
  if (name == "uri" || name == "document_uri") return scope.uri;
  if (name == "request_filename") {
    if (!scope.is_alias) return append(scope.root, scope.uri);
    // The alias of a regular expression is the whole path.
    if (scope.location_uri.empty()) return scope.root;
    Value uri = scope.uri;
    if (uri.begin.starts_with(scope.location_uri)) uri.begin.erase(0, scope.location_uri.size());
    return append(scope.root, uri);
  }
  const auto set = scope.variables.find(name);
  if (set != scope.variables.end()) return {set->second, true};
  return {"", false};
}

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

Value evaluate(const Scope& scope, const std::string& text) {
  Value value;
  for (std::size_t at = 0; at < text.size() && value.whole;) {
    if (text[at] != '$') {
      value.begin += text[at++];
      continue;
    }
    const bool braces = text.compare(at, 2, "${") == 0;
    std::size_t begin = at + (braces ? 2 : 1), end = begin;
    while (end < text.size() && is_name(text[end])) ++end;
    value = append(std::move(value), value_of_variable(scope, text.substr(begin, end - begin)));
    at = end + (braces ? 1 : 0);
  }
  return value;
}

// If a name is sent twice, fcgiwrap's programs see the first value.
const std::string* param(const Scope& scope, std::string_view name) {
  for (const auto& [key, text] : scope.params) {
    if (key == name) return &text;
  }
  return nullptr;
}

std::string remark_on(const Params& params) {
  for (std::size_t i = 0; i < params.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (params[i].first != params[j].first || params[i].second == params[j].second) continue;
      return params[i].first +
             " is sent twice: fcgiwrap's programs see the first value, the bridge's the last; "
             "remove the one that is not meant";
    }
  }
  return {};
}

// As fcgiwrap finds its program: SCRIPT_FILENAME, or DOCUMENT_ROOT with SCRIPT_NAME.
Value program_of(const Scope& scope) {
  if (const std::string* file = param(scope, "SCRIPT_FILENAME")) return evaluate(scope, *file);
  const std::string* root = param(scope, "DOCUMENT_ROOT");
  const std::string* name = param(scope, "SCRIPT_NAME");
  return append(evaluate(scope, root ? *root : "$document_root"),
                evaluate(scope, name ? *name : "$fastcgi_script_name"));
}

// Whether word, in small letters, is somewhere in text.
bool has(std::string_view text, std::string_view word) {
  for (std::size_t at = 0; at + word.size() <= text.size(); ++at) {
    if (same_name(text.substr(at, word.size()), word)) return true;
  }
  return false;
}

class Finder {
 public:
  Finder(const Tree& tree, const PlaceOptions& options) : tree_(tree), options_(options) {}

  std::vector<Place> run() {
    each(tree_.directives, [&](const Directive& directive) {
      if (directive.name == "http") walk(directive.children, Scope{});
    });
    return std::move(places_);
  }

 private:
  void walk(const std::vector<Directive>& block, Scope scope) {
    read_settings(block, scope);
    each(block, [&](const Directive& directive) {
      if (directive.name == "location" || directive.name == "server" || directive.name == "if" ||
          directive.name == "limit_except") {
        Scope inside = scope;
        if (directive.name == "server") inside.site = site_of(directive);
        if (directive.name == "location") enter_location(inside, directive);
        walk(directive.children, std::move(inside));
      } else if (directive.name == "fastcgi_pass" && scope.location && !directive.args.empty()) {
        places_.push_back(place_of(scope, directive));
      }
    });
  }

  // What holds for the whole block, wherever it is in it.
  void read_settings(const std::vector<Directive>& block, Scope& scope) {
    Params params;
    each(block, [&](const Directive& directive) {
      const std::vector<std::string>& args = directive.args;
      if (args.empty()) return;
      if (directive.name == "root" || directive.name == "alias") {
        scope.is_alias = directive.name == "alias";
        scope.root = evaluate(scope, args[0]);
      } else if (directive.name == "fastcgi_param" && args.size() > 1) {
        params.emplace_back(args[0], args[1]);
      } else if (directive.name == "set" && args.size() > 1 && args[0].starts_with('$')) {
        const Value value = evaluate(scope, args[1]);
        if (value.whole) scope.variables[args[0].substr(1)] = value.begin;
      } else if (directive.name == "rewrite" && scope.location) {
        scope.uri = {"/", false};
      } else if (directive.name == "fastcgi_split_path_info") {
        scope.split = args[0];
      }
    });
    // nginx inherits them only if the block has none of its own.
    if (!params.empty()) scope.params = std::move(params);
  }

  static std::string site_of(const Directive& server) {
    std::string name;
    each(server.children, [&](const Directive& directive) {
      if (directive.name == "server_name" && !directive.args.empty() && name.empty()) {
        name = directive.args[0] == "_" ? "" : directive.args[0];
      }
    });
    return name;
  }

  // "unix:/run/fcgiwrap.socket", of an upstream as well.
  std::string address_of(const std::string& given) {
    std::string address = given;
    each(tree_.directives, [&](const Directive& http) {
      each(http.children, [&](const Directive& upstream) {
        if (upstream.name != "upstream" || upstream.args != std::vector{given}) return;
        each(upstream.children, [&](const Directive& server) {
          if (server.name == "server" && !server.args.empty()) address = server.args[0];
        });
      });
    });
    return address;
  }

  std::string why_left_alone(const Scope& scope, const Place& place) {
    const std::string path = place.programs.path;
    const std::string address = place.by;
    if (address == "unix:" + options_.socket) return "the bridge answers here already";
    if (has(address, "cgiwrap")) return {};
    const bool is_php = has(address, "php") || has(address, "fpm") || path.ends_with(".php") ||
                        std::ranges::any_of(place.programs.suffixes, [](const std::string& suffix) {
                          return suffix.starts_with(".php");
                        });
    if (is_php) return "PHP has processes of its own";
    const std::string url = joined(scope.location->args);
    if (has(address, "cgi.") || has(url, "cgi") || has(url, ".pl") || has(path, "cgi") ||
        path.ends_with(".pl") || has(address, "spawn")) {
      return {};
    }
    return "what listens at " + address +
           " is not known to be fcgiwrap; a program that speaks FastCGI itself stays where it is";
  }

  Place place_of(const Scope& scope, const Directive& pass) {
    const Value program = program_of(scope);
    Place place{
        .server = Server::nginx,
        .site = scope.site,
        .where = "location " + joined(scope.location->args),
        .by = address_of(pass.args[0]),
        .programs = {.path = clean_path(program.begin),
                     .whole = program.whole,
                     .suffixes = program.whole ? std::vector<std::string>() : scope.suffixes},
        .user = {},
        .file = pass.file,
        .line = pass.line};
    for (const auto& [name, text] : scope.params) {
      const Value value = evaluate(scope, text);
      if (value.whole && text.find('$') == text.npos) place.variables.emplace_back(name, text);
    }
    // The location is shown, if it and what is changed are in one file.
    const bool is_near = scope.location->file == pass.file && scope.location->begin < pass.begin;
    place.shown_begin = is_near ? scope.location->begin : pass.begin;
    place.shown_end = is_near ? scope.location->end : pass.end;
    place.left_alone = why_left_alone(scope, place);
    if (!place.left_alone.empty()) return place;
    if (!place.programs.path.starts_with('/')) {
      place.left_alone =
          "which programs it runs depends on variables; name their folder in roots, "
          "and pass them to unix:" +
          options_.socket;
      return place;
    }
    place.remark = remark_on(scope.params);
    place.edits.push_back(
        {pass.file, pass.begin, pass.end, "fastcgi_pass unix:" + options_.socket + ";"});
    return place;
  }

  const Tree& tree_;
  const PlaceOptions& options_;
  std::vector<Place> places_;
};

}  // namespace

std::vector<Place> nginx_places(const Tree& tree, const PlaceOptions& options) {
  return Finder(tree, options).run();
}

std::string nginx_user(const Tree& tree) {
  std::string user;
  each(tree.directives, [&](const Directive& directive) {
    if (directive.name != "user" || directive.args.empty()) return;
    user = directive.args[0];
    if (directive.args.size() > 1) user += ":" + directive.args[1];
  });
  return user;
}

}  // namespace migrate
