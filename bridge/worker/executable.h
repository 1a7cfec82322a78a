// What kind of file a program is, and so how deep its checkpoint can be.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "worker/language.h"

namespace worker {

struct Executable {
  // What a zygote executes: the program itself, or the interpreter that its first line leads to,
  // through any number of scripts and env(1).
  std::string file;
  // The argv that execve() of the program would give that file, including the program's own path;
  // the words of an indexed query follow it.
  std::vector<std::string> argv;
  // How many leading words of argv are the interpreter and its switches (0 for a native program).
  std::size_t interpreter_words = 0;
  // "K=V" assignments that env(1) in the first line, or the shell, adds.
  std::vector<std::string> assignments{};
  Language language = Language::none;
  // The program is a script that only executes another one (wrapped.h): its shell, "dash" or
  // "bash"; all else is what it executes. Empty: it is not.
  std::string shell{};
  std::string name{};  // of its processes, if it is not that of the program's file
  std::size_t script_words =
      0;  // the last words of argv are not an interpreter's, but its script's
  bool passes_query_words = true;
  // Nothing can be preloaded into it, so a program of ours is launched that has it in its memory.
  bool is_static = false;
  // Why no zygote can be made; empty if one can be made.
  std::string cold_reason{};
};

// What programs are run by, whatever the kernel would do with their files.
struct RunBy {
  std::string interpreter{};  // named by the settings, for all; empty: none
  // For WebAssembly: its runner and that one's switches (wasm_words.h). Empty: nothing runs it.
  std::vector<std::string> wasm{};
};

// Examines the file of program (an absolute path) and of its interpreters: static, setuid, for
// another machine or C library, without an interpreter. Reads files, blocking; done once for each
// version of a program. search_path: the program's PATH, for env(1). file: program with its links
// resolved, so that a native program is that very file whatever happens to the links; empty:
// program itself. argv always has program.
Executable inspect(const std::string& program, std::string_view search_path,
                   const RunBy& run_by = {}, const std::string& file = {});

// Tcl's adapter depends on what tclsh does before it looks at its script, which is known only for
// one version: whether file, an interpreter, is of that.
bool is_known_tclsh(const std::string& file);

// Whether it is started as a FastCGI program on a listening socket, and not as a CGI program.
bool speaks_fastcgi(const Executable& executable, config::Launch launch);

// The file that a zygote executes: executable.file, or what is launched in a static one's place.
// adapters: the folder that holds the adapters.
std::string zygote_file(const Executable& executable, const std::string& adapters);

// The argv of a zygote at this level, which executes executable.file: executable.argv with the
// adapter's words inserted.
std::vector<std::string> zygote_argv(const Executable& executable, config::Level level,
                                     const std::string& adapters,
                                     const std::vector<std::string>& preload);

// Variables, as name and value, that are put first in such a zygote's environment, for an adapter
// that cannot get in through the command line.
std::vector<std::pair<std::string, std::string>> zygote_variables(
    const Executable& executable, config::Level level, const std::string& adapters,
    const std::vector<std::string>& preload);

// The command line of a program that speaks FastCGI: its own, but for php-cgi without the script.
std::vector<std::string> fastcgi_argv(const Executable& executable);

// The level that executable can get under the operator's ceiling.
config::Level deepest_level(const Executable& executable, config::Level ceiling);

}  // namespace worker
