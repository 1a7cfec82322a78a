// Why a program's file cannot be executed, in words that its operator can act on.
#pragma once

#include <string>
#include <string_view>

namespace router {

// Looks at the file and at the interpreters that its first line leads to, as the kernel and env(1)
// do, and reports the first thing that keeps it from being executed: which file, what it is, what
// to do about it. Empty: nothing was found. Blocking; call it only after something has failed,
// because some of what it reports (a CR that an interpreter takes as a word) need not be fatal.
//
// program: an absolute path. search_path: the program's PATH, for env(1). interpreter: what the
// operator runs it with, whatever its first line says; empty: nothing.
std::string why_unrunnable(const std::string& program, std::string_view search_path,
                           const std::string& interpreter = {});

// The same for a program that was started, printed nothing and ended with an exit code; the result
// begins with "; ". In this way env(1), the loader, and the step down to another user show that
// they did not reach the program. environment: the program's, "K=V\0...". last_word: the last line
// of its standard error.
std::string what_hindered(const std::string& program, std::string_view environment,
                          const std::string& interpreter, std::string_view last_word);

// The value of PATH in an environment ("K=V\0..."); empty: there is none.
std::string_view search_path_in(std::string_view environment);

// Where env(1) finds name: the first entry of search_path that has it as an executable file; empty:
// none does.
std::string find_in_path(std::string_view name, std::string_view search_path);

}  // namespace router
