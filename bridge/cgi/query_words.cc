#include "cgi/query_words.h"

#include <algorithm>
#include <optional>

#include "cgi/percent.h"

namespace cgi {
namespace {

// Special in a Bourne shell; the set that mod_cgi escapes.
constexpr std::string_view kShellActive = "&;`'\"|*?~<>^()[]{}$\\\n";

std::string shell_escaped(std::string_view word) {
  std::string escaped;
  escaped.reserve(word.size());
  for (const char c : word) {
    if (kShellActive.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

std::vector<std::string> query_words(std::string_view method, std::string_view query) {
  // RFC 3875 4.4: only a query without '=' is a search-string.
  if (method != "GET" && method != "HEAD") return {};
  if (query.empty() || query.size() > kQueryWordsBytesMax) return {};
  // A NUL would end the word, and what follows it would begin another string.
  if (query.find_first_of(std::string_view("=\0", 2)) != std::string_view::npos) return {};

  std::vector<std::string> words;
  for (std::size_t start = 0; start <= query.size();) {
    const std::size_t plus = std::min(query.find('+', start), query.size());
    const std::optional<std::string> word = percent_decode(query.substr(start, plus - start));
    // 4.4: search-word = 1*schar; and if one word cannot be passed, none is.
    if (!word || word->empty() || words.size() == kQueryWordsMax) return {};
    words.push_back(shell_escaped(*word));
    start = plus + 1;
  }
  return words;
}

}  // namespace cgi
