#include "router/exec_wrapper.h"

#include <algorithm>
#include <array>

#include "config/units.h"

namespace router {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
constexpr std::string_view kDigits = "0123456789";
// What stands for itself in a word, wherever it is.
constexpr std::string_view kPlain = "/.:@%+,=-";
// What does not stand for itself between double quotes; "!" only where a person types.
constexpr std::string_view kActive = "$`\\\"";

bool is_one_of(std::string_view set, char byte) {
  return set.find(byte) != std::string_view::npos;
}

// A line, word by word.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) { skip_blanks(); }

  // Nothing is left but a comment.
  bool at_end() const { return rest_.empty() || rest_.front() == '#'; }

  // Whether this is what comes next, as a whole word.
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    const std::string_view after = rest_.substr(word.size());
    if (!after.empty() && !is_one_of(" \t", after.front())) return false;
    rest_ = after;
    skip_blanks();
    return true;
  }

  // The next word, without its quotes; none if it is not fixed, or if there is none.
  std::optional<std::string> fixed() {
    if (at_end()) return std::nullopt;
    std::string word;
    while (!rest_.empty() && !is_one_of(" \t", rest_.front())) {
      const char byte = rest_.front();
      const bool quoted = byte == '\'' || byte == '"';
      if (!(quoted ? take_quoted(word, byte) : take_plain(word))) return std::nullopt;
    }
    skip_blanks();
    return word;
  }

 private:
  bool take_plain(std::string& word) {
    const char byte = rest_.front();
    if (!is_one_of(kLetters, byte) && !is_one_of(kDigits, byte) && !is_one_of(kPlain, byte)) {
      return false;
    }
    word += byte;
    rest_.remove_prefix(1);
    return true;
  }

  bool take_quoted(std::string& word, char quote) {
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) return false;
    const std::string_view inside = rest_.substr(1, end - 1);
    if (quote == '"' && inside.find_first_of(kActive) != std::string_view::npos) return false;
    // Bytes that shells use for themselves, or take for parts of letters.
    if (!std::ranges::all_of(inside, [](char byte) { return byte >= ' ' && byte < '\x7f'; })) {
      return false;
    }
    word += inside;
    rest_.remove_prefix(end + 1);
    return true;
  }

  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size()));
  }

  std::string_view rest_;
};

// "K=V" of a word that is fixed.
bool add_assignment(std::vector<std::string>& assignments, std::string word) {
  const std::string_view name = std::string_view(word).substr(0, word.find('='));
  const bool is_one = name.size() < word.size() && config::is_environment_name(name);
  if (!is_one || means_something_to_shells(name)) return false;
  assignments.push_back(std::move(word));
  return true;
}

bool take_exports(Words& words, std::vector<std::string>& assignments) {
  while (!words.at_end()) {
    auto word = words.fixed();
    if (!word || !add_assignment(assignments, *std::move(word))) return false;
  }
  return true;
}

// K=V; export K
bool take_assignment(Words& words, std::string_view line, std::vector<std::string>& assignments) {
  const std::size_t semicolon = line.find(';');
  if (semicolon == std::string_view::npos) return false;
  words = Words(line.substr(0, semicolon));
  auto word = words.fixed();
  if (!word || !words.at_end()) return false;
  const std::string name = word->substr(0, word->find('='));
  Words then(line.substr(semicolon + 1));
  return then.take("export") && then.take(name) && then.at_end() &&
         add_assignment(assignments, *std::move(word));
}

bool take_command(Words& words, const std::string& script, ExecWrapper& wrapper) {
  while (!words.at_end()) {
    if (words.take("\"$@\"") || words.take("${1+\"$@\"}")) {
      wrapper.passes_words = true;
      return words.at_end();
    }
    if (words.take("\"$0\"")) {
      wrapper.words.push_back(script);
      continue;
    }
    auto word = words.fixed();
    if (!word) return false;
    wrapper.words.push_back(*std::move(word));
  }
  return true;
}

// Neither a switch of exec's own, nor a path from the current folder.
bool names_a_program(const std::vector<std::string>& words) {
  if (words.empty() || words.front().empty()) return false;
  const std::string& name = words.front();
  if (name.starts_with('/')) return !name.ends_with('/');
  return name.find_first_of("/=") == std::string::npos && !name.starts_with('-');
}

}  // namespace

std::optional<ExecWrapper> parse_exec_wrapper(std::string_view text, const std::string& script) {
  if (text.size() > kExecWrapperBytesMax || text.find('\0') != std::string_view::npos) return {};
  ExecWrapper wrapper;
  text.remove_prefix(std::min(text.find('\n'), text.size()));
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size());
    Words words(line);
    if (words.at_end()) continue;
    if (words.take("set")) {
      if (!words.take("-e") || !words.at_end()) return std::nullopt;
    } else if (words.take("export")) {
      if (!take_exports(words, wrapper.assignments)) return std::nullopt;
    } else if (words.take("exec")) {
      if (!take_command(words, script, wrapper)) return std::nullopt;
      if (!names_a_program(wrapper.words)) return std::nullopt;
      return wrapper;
    } else if (!take_assignment(words, line, wrapper.assignments)) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

bool means_something_to_shells(std::string_view name) {
  // The shells set, compute or obey them (dash(1), bash(1) "Shell Variables").
  constexpr std::array<std::string_view, 37> kNames = {"_",
                                                       "PWD",
                                                       "OLDPWD",
                                                       "SHLVL",
                                                       "IFS",
                                                       "OPTIND",
                                                       "OPTERR",
                                                       "OPTARG",
                                                       "PPID",
                                                       "LINENO",
                                                       "PS4",
                                                       "SHELLOPTS",
                                                       "UID",
                                                       "EUID",
                                                       "FUNCNAME",
                                                       "GROUPS",
                                                       "DIRSTACK",
                                                       "HISTCMD",
                                                       "HOSTNAME",
                                                       "HOSTTYPE",
                                                       "MACHTYPE",
                                                       "OSTYPE",
                                                       "RANDOM",
                                                       "SRANDOM",
                                                       "SECONDS",
                                                       "EPOCHSECONDS",
                                                       "EPOCHREALTIME",
                                                       "PIPESTATUS",
                                                       "POSIXLY_CORRECT",
                                                       "COMPREPLY",
                                                       "CDPATH",
                                                       "ENV",
                                                       "GLOBIGNORE",
                                                       "EXECIGNORE",
                                                       "COLUMNS",
                                                       "LINES",
                                                       "IGNOREEOF"};
  return name.starts_with("BASH") || name.starts_with("COMP_") ||
         std::ranges::find(kNames, name) != kNames.end();
}

}  // namespace router
