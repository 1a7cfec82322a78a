// What a program's file is, and so how deep its checkpoint can be.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "worker/language.h"

namespace worker {

struct Executable {
  // What a zygote executes: the program itself, or the interpreter that its first line leads to
  // through any number of scripts and env(1).
  std::string file;
  // argv as execve() of the program gives it to that file, the program's own path included; the
  // words of an indexed query come behind it.
  std::vector<std::string> argv;
  // How many leading words of argv are the interpreter and its switches (0 for a native program).
  std::size_t interpreter_words = 0;
  // "K=V" that env(1) in the first line adds.
  std::vector<std::string> assignments{};
  Language language = Language::none;
  // Why no zygote can be made; empty if one can.
  std::string cold_reason{};
};

// Looks at the file of program (an absolute path) and of its interpreters: static, setuid, of
// another machine or C library, without an interpreter. Reads files, blocking; done once for each
// version of a program. search_path is the program's PATH, for env(1). interpreter: what the
// operator has it run by, whatever its first line says; empty: nothing.
// file: what program leads to, without links, so that a native program is that very file whatever
// becomes of the links; empty: program itself. argv always has program.
Executable inspect(const std::string& program, std::string_view search_path,
                   const std::string& interpreter = {}, const std::string& file = {});

// Whether it is started on a listening socket, as a FastCGI program, instead of as a CGI program.
bool speaks_fastcgi(const Executable& executable, config::Launch launch);

// What a zygote at this level executes: file, and argv with the adapter's words in it.
// adapters: the folder that holds the adapters.
std::vector<std::string> zygote_argv(const Executable& executable, config::Level level,
                                     const std::string& adapters,
                                     const std::vector<std::string>& preload);

// What is put in front of such a zygote's environment, by name, for an adapter that the command
// line has no place for.
std::vector<std::pair<std::string, std::string>> zygote_variables(
    const Executable& executable, config::Level level, const std::string& adapters,
    const std::vector<std::string>& preload);

// The command line of one that speaks FastCGI: its own, but php-cgi's without the script.
std::vector<std::string> fastcgi_argv(const Executable& executable);

// The level that executable can be given under the operator's ceiling.
config::Level deepest_level(const Executable& executable, config::Level ceiling);

}  // namespace worker
