// Why a program's file cannot be executed, in words that its operator can act on.
#pragma once

#include <string>
#include <string_view>

namespace router {

// Looks at the file and at the interpreters that its first line leads to, as the kernel and env(1)
// do, and says the first thing that keeps it from being executed: which file, what it is, what to
// do about it. Empty: nothing is seen. Blocking; to be asked once something has failed, since some
// of what it names (a CR that an interpreter takes as a word) need not be fatal.
//
// program: an absolute path. search_path: the program's PATH, for env(1). interpreter: what the
// operator has it run by, whatever its first line says; empty: nothing.
std::string why_unrunnable(const std::string& program, std::string_view search_path,
                           const std::string& interpreter = {});

// The same of a program that was started, said nothing and left with an exit code, "; " in front:
// env(1), the loader, and who steps down to another user tell so that they did not get as far as
// the program. environment: its own, "K=V\0...". last_word: the last line of its standard error.
std::string what_hindered(const std::string& program, std::string_view environment,
                          const std::string& interpreter, std::string_view last_word);

// The value of PATH in an environment ("K=V\0..."); empty: it has none.
std::string_view search_path_in(std::string_view environment);

// Where env(1) finds name: the first entry of search_path that has it as an executable file; empty:
// none has.
std::string find_in_path(std::string_view name, std::string_view search_path);

}  // namespace router
