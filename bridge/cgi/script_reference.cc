#include "cgi/script_reference.h"

#include <algorithm>
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

// mod_proxy_fcgi passes the path on percent-encoded with ProxyPass and plain with SetHandler, and
// nothing in the request says which; SCRIPT_NAME is always plain.
std::string in_plain_spelling(std::string_view path, const Variables& variables) {
  if (path.find('%') == std::string_view::npos) return std::string(path);
  std::optional<std::string> decoded = percent_decode(path);
  if (!decoded) return std::string(path);
  const std::string_view name = value_or_empty(variables, "SCRIPT_NAME");
  const std::string url = std::string(name).append(value_or_empty(variables, "PATH_INFO"));
  const auto agreement = [&](std::string_view spelling) {
    return std::max(common_suffix(spelling, name), common_suffix(spelling, url));
  };
  return agreement(*decoded) > agreement(path) ? *std::move(decoded) : std::string(path);
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
  const bool is_apache = value_or_empty(variables, "SERVER_SOFTWARE").starts_with("Apache");
  if (is_apache || whole.size() != sent.size()) {
    sent = without_query(sent, value_or_empty(variables, "QUERY_STRING"));
  }
  std::string path = sent.empty()
                         ? below_document_root(variables, value_or_empty(variables, "SCRIPT_NAME"))
                         : in_plain_spelling(sent, variables);
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

}  // namespace cgi
