#include "cgi/environment.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/keyed_hash.h"

namespace cgi {
namespace {

// Names that are dropped, or set below from a better source than what was sent.
constexpr std::array<std::string_view, 9> kNotPassedOn = {
    "HTTP_PROXY",      "HTTP_CONTENT_LENGTH", "HTTP_CONTENT_TYPE", "FCGI_ROLE",      "SCRIPT_NAME",
    "SCRIPT_FILENAME", "PATH_INFO",           "PATH_TRANSLATED",   "CONTENT_LENGTH",
};

bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

bool is_possible(const Variable& variable) {
  const auto& [name, value] = variable;
  return !name.empty() && name.find('=') == std::string_view::npos && !has_nul(name) &&
         !has_nul(value);
}

bool is_set_otherwise(std::string_view name) {
  return std::find(kNotPassedOn.begin(), kNotPassedOn.end(), name) != kNotPassedOn.end();
}

bool fits(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool may_pass(std::string_view name, const ParamRules& rules) {
  if (is_ours(name)) return false;
  if (!forbidden_name(name) && (!rules.strict || is_meta_variable(name))) return true;
  return std::any_of(rules.passed.begin(), rules.passed.end(),
                     [name](const std::string& pattern) { return fits(name, pattern); });
}

// RFC 3875 4.1.2: 1*digit.
std::optional<std::uint64_t> parse_length(std::string_view text) {
  std::uint64_t length = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, length);
  if (error != std::errc() || stop != end) return std::nullopt;
  return length;
}

// Each name once, in the place where it was first set, with the value that was set last. This is a
// hash table with open addressing over a plain list, so an environment costs three allocations
// instead of one for each name.
class Settings {
 public:
  // At most count names may be set.
  explicit Settings(std::size_t count)
      : places_(std::bit_ceil(2 * count + 1), kNone), mask_(places_.size() - 1) {
    settings_.reserve(count);
  }

  void set(std::string_view name, std::string_view value) {
    settings_[place_of(name)].second = value;
  }

  // What was set before is replaced by the first value that is joined.
  void begin_joining() { first_joined_ = settings_.size(); }

  void join(std::string_view name, std::string_view value, std::string_view separator) {
    const std::uint32_t place = place_of(name);
    std::string_view& known = settings_[place].second;
    if (known.empty() || place < first_joined_) {
      known = value;
    } else if (!value.empty()) {
      known = joined_.try_emplace(place, known).first->second.append(separator).append(value);
    }
  }

  void set_unless_empty(std::string_view name, std::string_view value) {
    if (!value.empty()) set(name, value);
  }

  Environment environment() const {
    std::size_t bytes = 0;
    for (const auto& [name, value] : settings_) bytes += name.size() + value.size() + 2;
    Environment environment;
    environment.block.reserve(bytes);
    for (const auto& [name, value] : settings_) {
      environment.block.append(name).append(1, '=').append(value).append(1, '\0');
    }
    environment.count = settings_.size();
    return environment;
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  // Where the name stands in settings_; there with "" if it was not.
  std::uint32_t place_of(std::string_view name) {
    std::size_t slot = base::KeyedHash()(name) & mask_;
    for (; places_[slot] != kNone; slot = (slot + 1) & mask_) {
      if (settings_[places_[slot]].first == name) return places_[slot];
    }
    places_[slot] = static_cast<std::uint32_t>(settings_.size());
    settings_.emplace_back(name, std::string_view());
    return places_[slot];
  }

  Variables settings_;
  std::size_t first_joined_ = 0;
  std::unordered_map<std::uint32_t, std::string> joined_;  // by place: what its view shows
  std::vector<std::uint32_t> places_;  // by hash: an index into settings_, or kNone
  const std::size_t mask_;
};

// RFC 3875 4.1.18: equal fields of a request become one. nginx before 1.23, HAProxy and h2o send
// each of them. These fields are no lists (RFC 9110 5.3), so the last counts.
constexpr auto kNoLists = std::to_array<std::string_view>(
    {"HTTP_AUTHORIZATION", "HTTP_DATE", "HTTP_FROM", "HTTP_HOST", "HTTP_IF_MODIFIED_SINCE",
     "HTTP_IF_RANGE", "HTTP_IF_UNMODIFIED_SINCE", "HTTP_MAX_FORWARDS", "HTTP_ORIGIN",
     "HTTP_PROXY_AUTHORIZATION", "HTTP_RANGE", "HTTP_REFERER", "HTTP_USER_AGENT"});

bool is_list(std::string_view name) {
  return name.starts_with("HTTP_") && !std::ranges::binary_search(kNoLists, name);
}

std::string_view separator_of(std::string_view name) {
  return name == "HTTP_COOKIE" ? "; " : ", ";  // RFC 9113 8.2.3
}

// Caddy sends this when a body comes in chunks.
constexpr std::string_view kUnknownLength = "-1";

bool redirects(std::string_view server_software) {
  constexpr std::array<std::string_view, 3> kServers = {"lighttpd", "nginx", "HAProxy"};
  return server_software.empty() || server_software.find("mod_fcgid") != std::string_view::npos ||
         std::any_of(kServers.begin(), kServers.end(),
                     [&](std::string_view name) { return server_software.starts_with(name); });
}

}  // namespace

bool is_ours(std::string_view name) {
  return name.starts_with("CGIBRIDGE_");
}

OrRefusal<Environment> build_environment(const Variables& variables, const PathSplit& split,
                                         std::string_view script_filename,
                                         ConfiguredEnvironment configured,
                                         const ParamRules& rules) {
  std::string_view length_text = value_or_empty(variables, "CONTENT_LENGTH");
  if (length_text == kUnknownLength) length_text = {};
  const std::optional<std::uint64_t> content_length = parse_length(length_text);
  if (!length_text.empty() && !content_length) {
    return Refusal{400, "CONTENT_LENGTH is no length: " + std::string(length_text)};
  }
  for (const std::string_view value :
       {std::string_view(split.script_name), std::string_view(split.path_info),
        std::string_view(split.path_translated), script_filename}) {
    if (has_nul(value)) return Refusal{400, "NUL byte in the request's path"};
  }

  Settings settings(variables.size() + configured.size() + rules.fallback.size() + 8);
  settings.set("PATH", kDefaultPath);
  for (const auto& [name, value] : rules.fallback) {
    if (is_possible({name, value})) settings.set(name, value);
  }
  settings.set("GATEWAY_INTERFACE", "CGI/1.1");
  settings.set("QUERY_STRING", "");
  settings.set("SCRIPT_NAME", split.script_name);
  settings.set("SCRIPT_FILENAME", script_filename);
  settings.set_unless_empty("PATH_INFO", split.path_info);
  settings.set_unless_empty("PATH_TRANSLATED", split.path_translated);
  settings.set_unless_empty("CONTENT_LENGTH", length_text);
  settings.begin_joining();
  std::string_view kept_back;
  const bool has_type = !value_or_empty(variables, "CONTENT_TYPE").empty();
  for (const Variable& variable : variables) {
    const auto& [name, value] = variable;
    if (!is_possible(variable) || is_set_otherwise(name)) continue;
    if (!may_pass(name, rules)) {
      if (kept_back.empty() && name != "PATH") kept_back = name;
      continue;
    }
    if (name == "CONTENT_TYPE" && (!has_type || value.empty())) continue;
    if (is_list(name)) {
      settings.join(name, value, separator_of(name));
    } else {
      settings.set(name, value);
    }
  }
  for (const auto& [name, value] : configured) {
    if (is_possible({name, value})) settings.set(name, value);
  }
  Environment environment = settings.environment();
  environment.content_length = content_length;
  environment.server_redirects = redirects(value_or_empty(variables, "SERVER_SOFTWARE"));
  environment.kept_back = kept_back;
  return environment;
}

std::string_view value_in(std::string_view block, std::string_view name) {
  while (!block.empty()) {
    const std::string_view entry = block.substr(0, block.find('\0'));
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return entry.substr(name.size() + 1);
    }
    block.remove_prefix(std::min(entry.size() + 1, block.size()));
  }
  return {};
}

std::string folder_of(const std::string& program, std::string_view block) {
  const std::string_view folder = value_in(block, kFolderVariable);
  if (!folder.empty()) return folder == "-" ? "." : std::string(folder);
  const std::size_t slash = program.rfind('/');
  return slash == 0 ? "/" : program.substr(0, slash);
}

}  // namespace cgi
