// A program's command line from an indexed query (RFC 3875 4.4, 7.2).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cgi {

// More words, or a longer query, give no command line at all (4.4: all or nothing).
inline constexpr std::size_t kQueryWordsMax = 1024;
inline constexpr std::size_t kQueryWordsBytesMax = 64 * 1024;

// The words behind argv[0]: query's parts between '+', percent-decoded, characters that are active
// in a Bourne shell escaped with a backslash (7.2; mod_cgi does it as well).
// None at all if the method is not GET or HEAD, if query is empty or holds an unencoded '=' or NUL,
// if a word is empty, an escape is broken or gives NUL, or a limit is passed.
std::vector<std::string> query_words(std::string_view method, std::string_view query);

}  // namespace cgi
