#include "cgi/variables.h"

#include <unordered_set>

#include "base/keyed_hash.h"

namespace cgi {

std::optional<std::string_view> find(const Variables& variables, std::string_view name) {
  for (auto variable = variables.rbegin(); variable != variables.rend(); ++variable) {
    if (variable->first == name) return variable->second;
  }
  return std::nullopt;
}

void keep_first(Variables& variables) {
  std::unordered_set<std::string_view, base::KeyedHash> known;
  known.reserve(variables.size());
  std::erase_if(variables, [&known](const Variable& variable) {
    return !known.insert(variable.first).second;
  });
}

std::string_view value_or_empty(const Variables& variables, std::string_view name) {
  return find(variables, name).value_or(std::string_view());
}

}  // namespace cgi
