// The meta-variables of one request as the web server sent them, and how to ask for one.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace cgi {

// Name and value, borrowed from the request's parameters; the owner of those bytes keeps them until
// the request has been turned into an environment.
using Variable = std::pair<std::string_view, std::string_view>;

// In the order in which the web server sent them.
using Variables = std::vector<Variable>;

// The value of name. If a web server sends a name twice (nginx does, when a location repeats a
// fastcgi_param), the last one counts. The view lives as long as the variables' bytes.
std::optional<std::string_view> find(const Variables& variables, std::string_view name);

// Keeps only the first value of each name: the one that libc finds in an environment that has
// both, as fcgiwrap makes it.
void keep_first(Variables& variables);

// As find(), with "" for a variable that is not there.
std::string_view value_or_empty(const Variables& variables, std::string_view name);

}  // namespace cgi
