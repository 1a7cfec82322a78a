// A program's command line from an indexed query (RFC 3875 4.4, 7.2).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cgi {

// More words or a longer query give no words at all (4.4: all or nothing).
inline constexpr std::size_t kQueryWordsMax = 1024;
inline constexpr std::size_t kQueryWordsBytesMax = 64 * 1024;

// The words after argv[0]: the parts of query between '+', percent-decoded, with characters that
// are special in a Bourne shell escaped with a backslash (7.2; mod_cgi does so too).
// No words at all if the method is not GET or HEAD, if query is empty or contains an unencoded '='
// or NUL, if a word is empty, if an escape is malformed or decodes to NUL, or above a limit.
std::vector<std::string> query_words(std::string_view method, std::string_view query);

}  // namespace cgi
