#include "cgi/variables.h"

namespace cgi {

std::optional<std::string_view> find(const Variables& variables, std::string_view name) {
  for (auto variable = variables.rbegin(); variable != variables.rend(); ++variable) {
    if (variable->first == name) return variable->second;
  }
  return std::nullopt;
}

std::string_view value_or_empty(const Variables& variables, std::string_view name) {
  return find(variables, name).value_or(std::string_view());
}

}  // namespace cgi
