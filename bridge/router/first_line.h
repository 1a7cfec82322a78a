// The "#!" line of a script: which interpreter it names, and with which words.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace router {

// The number of bytes of a file that the kernel looks at (BINPRM_BUF_SIZE).
inline constexpr std::size_t kFirstLineBytes = 256;

// What the kernel makes of the line (Linux, fs/binfmt_script.c): the interpreter, and everything
// after it as a single argument.
struct FirstLine {
  std::string interpreter;
  std::optional<std::string> argument;
};

// file_start: the first kFirstLineBytes bytes of a file, or all of a shorter one. None if the
// kernel would not run it as a script: no "#!", no interpreter, an interpreter cut by the limit.
std::optional<FirstLine> parse_first_line(std::string_view file_start);

// Where to find the interpreter.
enum class Lookup {
  path,         // interpreter is a path
  search_path,  // interpreter is a name to be looked up in the program's PATH
};

// The program that finally reads the script: words go between argv[0] and the script's path.
struct Interpreter {
  std::string interpreter;
  Lookup lookup = Lookup::path;
  std::vector<std::string> words;
  std::vector<std::string> assignments;  // "K=V", by env, to be added to the environment
};

// Resolves env(1): "env NAME", "env K=V NAME", "env -S 'NAME WORD...'" with coreutils'
// quoting. Fails, with the reason, on a line that env itself must carry out (other options,
// ${NAME}) or would refuse.
base::Result<Interpreter> interpreter_of(const FirstLine& line);

}  // namespace router
