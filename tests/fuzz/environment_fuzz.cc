// Any params: the path and the environment that are made from them keep the promises of their
// headers, whatever a web server or its client sends. Fields: the script's file, the rest of the
// path, the method, then NAME, VALUE and so on.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "cgi/environment.h"
#include "cgi/percent.h"
#include "cgi/query_words.h"
#include "cgi/script_reference.h"
#include "fuzz/fields.h"

namespace {

constexpr std::string_view kHighest("\xff\xff");

bool has_nul(std::string_view text) {
  return text.find('\0') != text.npos;
}

std::string_view value_in(const cgi::Environment& environment, std::string_view name) {
  std::string_view rest = environment.block;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(entry.size() + 1);
    if (entry.substr(0, entry.find('=')) == name) return entry.substr(name.size() + 1);
  }
  return kHighest;
}

void demand_path(const cgi::Variables& variables) {
  const auto path = cgi::script_path(variables);
  if (!path) {
    BRIDGE_ASSERT(path.refusal().status == 400 || path.refusal().status == 404);
    return;
  }
  BRIDGE_ASSERT(path.value().starts_with('/') && !has_nul(path.value()));
}

// Each name comes once, none of them controls how code is run, and the count is right.
void demand_block(const cgi::Environment& environment, const cgi::ParamRules& rules) {
  std::set<std::string_view> names;
  std::string_view rest = environment.block;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\0');
    BRIDGE_ASSERT(end != rest.npos);
    const std::string_view entry = rest.substr(0, end), name = entry.substr(0, entry.find('='));
    rest.remove_prefix(end + 1);
    BRIDGE_ASSERT(!name.empty() && name.size() < entry.size());
    BRIDGE_ASSERT(names.insert(name).second);
    BRIDGE_ASSERT(name == "PATH" || !cgi::forbidden_name(name));
    BRIDGE_ASSERT(name != "HTTP_PROXY" && name != "HTTP_CONTENT_LENGTH" && name != "FCGI_ROLE");
    BRIDGE_ASSERT(!rules.strict || name == "PATH" || cgi::is_meta_variable(name));
  }
  BRIDGE_ASSERT(names.size() == environment.count);
  BRIDGE_ASSERT(value_in(environment, "PATH") == cgi::kDefaultPath);
  for (const char* name : {"GATEWAY_INTERFACE", "QUERY_STRING", "SCRIPT_NAME", "SCRIPT_FILENAME"}) {
    BRIDGE_ASSERT(names.contains(name));
  }
  for (const char* name : {"PATH_INFO", "PATH_TRANSLATED", "CONTENT_LENGTH", "CONTENT_TYPE"}) {
    BRIDGE_ASSERT(!value_in(environment, name).empty());
  }
  BRIDGE_ASSERT(names.contains("CONTENT_LENGTH") == environment.content_length.has_value());
}

void demand_environment(const cgi::Variables& variables, std::string_view file,
                        std::string_view rest) {
  const cgi::PathSplit split = cgi::split_path(variables, file, rest);
  if (!rest.empty()) BRIDGE_ASSERT(split.path_info == rest);
  BRIDGE_ASSERT(!split.path_info.empty() || split.path_translated.empty());
  for (const bool strict : {false, true}) {
    const cgi::ParamRules rules{.strict = strict, .passed = {}};
    const auto built = cgi::build_environment(variables, split, file, {}, rules);
    if (!built) {
      BRIDGE_ASSERT(built.refusal().status == 400);
      continue;
    }
    demand_block(built.value(), rules);
    const auto& configured =
        std::pair<std::string, std::string>{"LD_PRELOAD", "the operator's own"};
    const auto own = cgi::build_environment(variables, split, file, {&configured, 1}, rules);
    BRIDGE_ASSERT(own && value_in(own.value(), configured.first) == configured.second);
  }
}

void demand_words(std::string_view method, std::string_view query) {
  const auto words = cgi::query_words(method, query);
  BRIDGE_ASSERT(words.size() <= cgi::kQueryWordsMax);
  for (const std::string& word : words) {
    BRIDGE_ASSERT(!word.empty() && !has_nul(word));
    for (std::size_t i = 0; i < word.size(); ++i) {
      if (word[i] == '\\') {
        i += 1;
        continue;
      }
      BRIDGE_ASSERT(std::string_view("&;`'\"|*?~<>^()[]{}$\n").find(word[i]) ==
                    std::string_view::npos);
    }
  }
  if (const auto decoded = cgi::percent_decode(query))
    BRIDGE_ASSERT(decoded->size() <= query.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parts = fuzz::fields(data, size);
  if (parts.size() < 3) return 0;
  cgi::Variables variables;
  for (std::size_t i = 3; i + 1 < parts.size(); i += 2) {
    variables.emplace_back(parts[i], parts[i + 1]);
  }
  demand_path(variables);
  demand_environment(variables, parts[0], parts[1]);
  demand_words(parts[2], cgi::value_or_empty(variables, "QUERY_STRING"));
  return 0;
}
