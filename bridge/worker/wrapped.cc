#include "worker/wrapped.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "router/exec_wrapper.h"
#include "router/regular_file.h"
#include "router/unrunnable.h"

namespace worker {
namespace {

std::string base_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

// What the file is called that the links on the path lead to; empty: there is none.
std::string real_name(const std::string& path) {
  std::error_code error;
  return std::filesystem::canonical(path, error).filename();
}

std::string content_of(const std::string& path) {
  const base::UniqueFd file = router::open_regular(path);
  std::string text(router::kExecWrapperBytesMax + 1, '\0');
  const ssize_t got = file ? ::pread(file.get(), text.data(), text.size(), 0) : 0;
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

// A shell would look in the current folder as well; then it has to find the program itself.
bool has_only_absolute_folders(std::string_view search_path) {
  while (search_path.starts_with('/')) {
    const std::size_t colon = search_path.find(':');
    if (colon == search_path.npos) return true;
    search_path.remove_prefix(colon + 1);
  }
  return false;
}

std::string locate(const std::string& name, std::string_view search_path) {
  if (name.starts_with('/')) return name;
  return has_only_absolute_folders(search_path) ? router::find_in_path(name, search_path) : "";
}

// env NAME WORD... is NAME WORD...
void pass_over_env(std::vector<std::string>& words, std::string_view search_path) {
  if (words.size() < 2 || real_name(locate(words.front(), search_path)) != "env") return;
  const std::string& name = words[1];
  if (name.starts_with('-') || name.find_first_of("=/") != std::string::npos) return;
  words.erase(words.begin());
}

// Whether a switch takes no further word, and the interpreter still runs the script in its usual
// way.
bool is_plain_switch(Language language, const std::string& word) {
  constexpr std::array<std::pair<Language, std::string_view>, 3> kLetters{
      {{Language::perl, "wWXTt"}, {Language::python, "uEsSBO"}, {Language::ruby, "w"}}};
  const auto known = std::ranges::find(kLetters, language, &decltype(kLetters)::value_type::first);
  if (known == kLetters.end() || word.size() < 2) return false;
  const std::string_view letters = std::string_view(word).substr(1);
  if (letters.find_first_not_of(known->second) == letters.npos) return true;
  const bool adds = language == Language::perl ? word[1] == 'I' || word[1] == 'M'
                                               : language == Language::ruby && word[1] == 'I';
  return adds && word.size() > 2;
}

// The words are an interpreter, its switches, a script and the script's own words.
void find_script(Executable& executable) {
  const Language language = language_of(executable.file);
  if (language == Language::none || language == Language::php) return;
  if (language == Language::tcl && !is_known_tclsh(executable.file)) return;
  // Its program need not be a file, and all words of the launch are the program's.
  if (language == Language::java) {
    executable.interpreter_words = 1;
    executable.language = language;
    return;
  }
  std::size_t script = 1;
  while (script < executable.argv.size() && executable.argv[script].starts_with('-')) {
    if (!is_plain_switch(language, executable.argv[script++])) return;
  }
  if (script == executable.argv.size()) return;
  executable.interpreter_words = script;
  executable.language = language;
}

// What the shell itself changes in what it passes on, if nothing there means anything to it.
void add_shells_own(Executable& executable, const std::string& program) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(program).parent_path();
  executable.assignments.push_back("PWD=" + std::filesystem::canonical(folder, error).native());
  if (executable.shell == "bash") executable.assignments.push_back("SHLVL=0");
}

// Whether everybody who may read the file may execute it: an interpreter that is given it reads it,
// where the kernel would not have executed it.
bool is_executed_by_its_readers(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return false;
  return ((status.st_mode & 0444) >> 2 & ~status.st_mode) == 0;
}

bool can_be_executed(const std::string& path, std::string_view search_path) {
  return is_executed_by_its_readers(path) && router::why_unrunnable(path, search_path).empty();
}

bool is_called_plainly(const Executable& shell) {
  return shell.interpreter_words == 1 || (shell.interpreter_words == 2 && shell.argv[1] == "-e");
}

// What a process becomes that executes file with these words; none if that cannot be warm, or if
// the file is such a shell script itself.
std::optional<Executable> executed_as(const std::string& file,
                                      const std::vector<std::string>& words,
                                      std::string_view search_path) {
  // Why not is the program's to say, with each request.
  if (!can_be_executed(file, search_path)) return std::nullopt;
  Executable executable = inspect(file, search_path);
  if (!executable.cold_reason.empty() || !executable.shell.empty()) return std::nullopt;
  if (executable.interpreter_words == 0) executable.argv = {words.front()};
  executable.argv.insert(executable.argv.end(), words.begin() + 1, words.end());
  if (executable.interpreter_words == 0) find_script(executable);
  if (executable.interpreter_words > 0 && executable.language != Language::java) {
    executable.script_words = executable.argv.size() - executable.interpreter_words - 1;
  }
  if (executable.language == Language::php) return std::nullopt;
  executable.name = base_name(file);
  return executable;
}

// Java's options that have their value in the next word.
bool has_its_value_behind(const std::string_view word) {
  constexpr std::array<std::string_view, 11> kOptions = {"-cp",           "-classpath",
                                                         "--class-path",  "-p",
                                                         "--module-path", "--upgrade-module-path",
                                                         "--add-modules", "--add-exports",
                                                         "--add-opens",   "--add-reads",
                                                         "--source"};
  return std::ranges::find(kOptions, word) != kOptions.end();
}

std::size_t words_of_java(const std::vector<std::string_view>& words) {
  std::size_t at = 1;
  while (at < words.size() && words[at].starts_with('-')) {
    if (words[at] == "-jar" || words[at] == "-m" || words[at] == "--module") return at + 2;
    at += has_its_value_behind(words[at]) ? 2 : 1;
  }
  return at + 1;
}

}  // namespace

std::optional<Executable> wrapped_by(const std::string& program, const Executable& shell,
                                     std::string_view search_path) {
  const std::string name = real_name(shell.file);
  if ((name != "dash" && name != "bash") || !is_called_plainly(shell)) return std::nullopt;
  auto wrapper = router::parse_exec_wrapper(content_of(program), program);
  if (!wrapper) return std::nullopt;
  for (const std::string_view assignment : wrapper->assignments) {
    if (assignment.starts_with("PATH=")) search_path = assignment.substr(5);
  }
  pass_over_env(wrapper->words, search_path);
  const std::string file = locate(wrapper->words.front(), search_path);
  // A script that executes itself by another interpreter is a script like others for that one only.
  if (file.empty() || file == program) return std::nullopt;
  auto found = executed_as(file, wrapper->words, search_path);
  if (!found) return std::nullopt;
  Executable& executable = *found;
  executable.shell = name;
  executable.passes_query_words = wrapper->passes_words;
  auto assignments = std::move(wrapper->assignments);
  assignments.insert(assignments.end(), executable.assignments.begin(),
                     executable.assignments.end());
  executable.assignments = std::move(assignments);
  add_shells_own(executable, program);
  return found;
}

const std::string& Executed::name() const {
  return words.size() > 1 ? words.back() : file;
}

std::string Executed::key() const {
  std::string key = std::to_string(ignored) + '\0';
  for (const std::string* part : {&given, &folder, &search_path}) key.append(*part).push_back('\0');
  for (const std::string& word : words) key.append(word).push_back('\0');
  return key;
}

Executed executed_by(const message::Execution& execution) {
  const std::string folder(execution.folder), given(execution.file);
  Executed executed{.file = given.starts_with('/') ? given : folder + "/" + given,
                    .folder = folder,
                    .given = given,
                    .words = {},
                    .search_path = {},
                    .ignored = execution.ignored};
  const std::size_t fixed = fixed_words(executed.file, execution.words);
  for (std::size_t i = 0; i < fixed; ++i) executed.words.emplace_back(execution.words[i]);
  std::string_view rest = execution.environment;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(entry.size() + 1);
    if (entry.starts_with("PATH=") && executed.search_path.empty())
      executed.search_path = entry.substr(5);
  }
  return executed;
}

std::size_t fixed_words(const std::string& file, const std::vector<std::string_view>& words) {
  const Language language = language_of(file);
  if (language == Language::none || language == Language::php) return 1;
  if (language == Language::java) return std::min(words_of_java(words), words.size());
  std::size_t script = 1;
  while (script < words.size() && words[script].starts_with('-')) {
    if (!is_plain_switch(language, std::string(words[script++]))) return 1;
  }
  return script < words.size() ? script + 1 : 1;
}

std::optional<Executable> executable_of(const Executed& executed) {
  auto found = executed_as(executed.file, executed.words, executed.search_path);
  if (!found || found->language == Language::wasm) return std::nullopt;
  std::ranges::replace(found->argv, executed.file, executed.given);
  // A name that is not its file's must not make it another language's interpreter.
  const bool is_interpreter = executed.words.size() > 1;
  if (is_interpreter && found->language != language_of(executed.file)) return std::nullopt;
  if (!executed.search_path.empty()) {
    found->assignments.insert(found->assignments.begin(), "PATH=" + executed.search_path);
  }
  return found;
}

}  // namespace worker
