#include "cgi/script_reference.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cgi/percent.h"

namespace cgi {
namespace {

std::string_view without_proxy_prefix(std::string_view path) {
  constexpr std::string_view kProxy = "proxy:";
  if (!path.starts_with(kProxy)) return path;
  path.remove_prefix(kProxy.size());
  if (path.starts_with("unix:")) {
    // The socket's own path ends at the bar; an ordinary URL follows.
    const std::size_t bar = path.find('|');
    if (bar == std::string_view::npos) return {};
    path.remove_prefix(bar + 1);
  }
  const std::size_t authority = path.find("://");
  if (authority == std::string_view::npos) return path;
  const std::size_t start = path.find('/', authority + 3);
  return start == std::string_view::npos ? std::string_view() : path.substr(start);
}

std::string_view without_query(std::string_view path, std::string_view query) {
  if (query.empty() || !path.ends_with(query)) return path;
  const std::string_view before = path.substr(0, path.size() - query.size());
  return before.ends_with('?') ? before.substr(0, before.size() - 1) : path;
}

std::size_t common_suffix(std::string_view a, std::string_view b) {
  const auto [end, ignored] = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend());
  return static_cast<std::size_t>(end - a.rbegin());
}

// Whether the end of what the visitor asked for is the end of path, from the last "%" in path or
// from before it: then that "%" is the visitor's own, because url is plain.
bool shows_last_percent(std::string_view path, std::string_view url) {
  return common_suffix(path, url) >= path.size() - path.rfind('%');
}

bool ends_with_request(std::string_view path, std::string_view name, std::string_view path_info,
                       bool is_apache) {
  // Apache with proxy-fcgi-pathinfo=unescape: PATH_INFO is the whole path.
  if (name.empty()) return is_apache && !path_info.empty() && path == path_info;
  const std::string segment(name.substr(name.rfind('/') + 1));
  return path.ends_with("/" + segment + std::string(path_info));
}

// mod_proxy_fcgi passes the path on percent-encoded with ProxyPass and plain with SetHandler, and
// nothing in the request says which; SCRIPT_NAME is always plain. A visitor may write a "%" into a
// name (%25), and anything into PATH_INFO: so PATH_INFO counts only after SCRIPT_NAME's end.
std::string in_plain_spelling(std::string_view path, const Variables& variables, bool is_apache) {
  if (path.find('%') == std::string_view::npos) return std::string(path);
  std::optional<std::string> decoded = percent_decode(path);
  if (!decoded) return std::string(path);
  const std::string_view name = value_or_empty(variables, "SCRIPT_NAME");
  const std::string_view path_info = value_or_empty(variables, "PATH_INFO");
  const bool is_plain = shows_last_percent(path, name) ||
                        shows_last_percent(path, std::string(name).append(path_info));
  if (is_plain) return std::string(path);
  const bool is_encoded = common_suffix(*decoded, name) > common_suffix(path, name) ||
                          ends_with_request(*decoded, name, path_info, is_apache);
  return is_encoded ? *std::move(decoded) : std::string(path);
}

// Whatever a setting makes it call itself: no other server sends this one.
bool is_from_apache(const Variables& variables) {
  return value_or_empty(variables, "SERVER_SOFTWARE").starts_with("Apache") ||
         find(variables, "CONTEXT_DOCUMENT_ROOT");
}

// Apache compares its rules with a name as it is: a "?" in it is the visitor's (%3F).
bool asks_with_question_mark(const Variables& variables) {
  constexpr std::array<std::string_view, 2> kPlain = {"SCRIPT_NAME", "PATH_INFO"};
  return std::any_of(kPlain.begin(), kPlain.end(), [&](std::string_view name) {
    return value_or_empty(variables, name).find('?') != std::string_view::npos;
  });
}

// Apache's GENERIC back end cuts such a name itself, after its rules, if what follows the "?" is
// the query. ProxyPass sends the "?" as %3F.
bool is_cut_at_question_mark(std::string_view path, const Variables& variables) {
  const std::string_view name = value_or_empty(variables, "SCRIPT_NAME");
  const std::string_view before = without_query(name, value_or_empty(variables, "QUERY_STRING"));
  const auto has = [path](std::string_view mark) { return path.find(mark) != path.npos; };
  return before.size() != name.size() && !has("?") && !has("%3F") && !has("%3f");
}

std::string below_document_root(const Variables& variables, std::string_view path) {
  std::string_view root = value_or_empty(variables, "DOCUMENT_ROOT");
  if (root.empty()) return {};
  if (root.ends_with('/')) root.remove_suffix(1);
  return std::string(root).append(path);
}

// RFC 3875 4.1.13 always requires a SCRIPT_NAME.
std::string url_path(const Variables& variables) {
  for (const std::string_view name : {"SCRIPT_NAME", "DOCUMENT_URI"}) {
    if (const auto value = find(variables, name)) return std::string(*value);
  }
  std::string_view uri = value_or_empty(variables, "REQUEST_URI");
  uri = uri.substr(0, uri.find('?'));
  return percent_decode(uri).value_or(std::string(uri));
}

std::string_view last_segment(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// A web server that splits the path may still send SCRIPT_NAME unsplit. But a SCRIPT_NAME that ends
// with the program's own name is complete, even if PATH_INFO repeats part of it.
bool is_still_attached(std::string_view script_name, std::string_view path_info,
                       std::string_view script_file) {
  const std::string_view program = last_segment(script_file);
  if (path_info.empty() || !script_name.ends_with(path_info)) return false;
  if (last_segment(script_name) == program) return false;
  return last_segment(script_name.substr(0, script_name.size() - path_info.size())) == program;
}

}  // namespace

OrRefusal<std::string> script_path(const Variables& variables) {
  const std::string_view whole = value_or_empty(variables, "SCRIPT_FILENAME");
  std::string_view sent = without_proxy_prefix(whole);
  // Other servers leave no query on it: there a "?" is part of a name, which the visitor has chosen
  // (%3F), and which the server has compared with its rules as it is.
  const bool is_apache = is_from_apache(variables) || whole.size() != sent.size();
  if (is_apache && is_cut_at_question_mark(sent, variables)) {
    return Refusal{404, "the web server has cut the script's name at a \"?\" (%3F) in it: " +
                            std::string(sent)};
  }
  if (is_apache && !asks_with_question_mark(variables)) {
    sent = without_query(sent, value_or_empty(variables, "QUERY_STRING"));
  }
  std::string path = sent.empty()
                         ? below_document_root(variables, value_or_empty(variables, "SCRIPT_NAME"))
                         : in_plain_spelling(sent, variables, is_apache);
  if (path.empty()) {
    return Refusal{404, "no script: the web server sent neither SCRIPT_FILENAME nor DOCUMENT_ROOT"};
  }
  if (path.find('\0') != std::string::npos) return Refusal{400, "NUL byte in the script's path"};
  if (path.front() != '/') return Refusal{404, "script path is not absolute: " + path};
  return path;
}

std::optional<Variables> undivided(const Variables& variables, std::deque<std::string>& owned) {
  const std::string_view path_info = value_or_empty(variables, "PATH_INFO");
  if (path_info.empty() || value_or_empty(variables, "SCRIPT_FILENAME").ends_with(path_info)) {
    return std::nullopt;
  }
  Variables whole;
  for (auto [name, value] : variables) {
    if (name == "PATH_INFO" || name == "PATH_TRANSLATED") continue;
    if (name == "SCRIPT_NAME" || name == "SCRIPT_FILENAME") {
      value = owned.emplace_back(std::string(value).append(path_info));
    }
    whole.emplace_back(name, value);
  }
  return whole;
}

PathSplit split_path(const Variables& variables, std::string_view script_file,
                     std::string_view rest) {
  const std::string_view sent_path_info = value_or_empty(variables, "PATH_INFO");
  PathSplit split;
  split.script_name = url_path(variables);
  split.path_info = rest.empty() ? sent_path_info : rest;
  const bool attached = rest.empty()
                            ? is_still_attached(split.script_name, sent_path_info, script_file)
                            : split.script_name.ends_with(rest);
  if (attached) split.script_name.resize(split.script_name.size() - split.path_info.size());
  if (split.path_info.empty()) return split;

  const std::string_view sent_translated = value_or_empty(variables, "PATH_TRANSLATED");
  const bool is_for_this = sent_path_info == split.path_info && sent_translated.starts_with('/');
  split.path_translated =
      is_for_this ? std::string(sent_translated) : below_document_root(variables, split.path_info);
  return split;
}

bool doubles_a_slash(const Variables& variables, const PathSplit& split) {
  const auto is_doubled = [](std::string_view path) { return path.find("//") != path.npos; };
  if (!is_doubled(split.script_name)) return false;
  // A name that only the web server's settings have doubled is not the visitor's.
  std::string_view uri = value_or_empty(variables, "REQUEST_URI");
  uri = uri.substr(0, uri.find('?'));
  return uri.empty() || is_doubled(percent_decode(uri).value_or("//"));
}

}  // namespace cgi
