// Shell scripts that do nothing but execute another program with fixed words, as many packages and
// operators put into their cgi-bin.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace router {

// The largest script that is looked at.
inline constexpr std::size_t kExecWrapperBytesMax = 16 * 1024;

struct ExecWrapper {
  std::vector<std::string> assignments;  // "K=V", exported before, in their order
  std::vector<std::string> words;        // what is executed: a path or a name, then its words
  bool passes_words = false;             // "$@" follows them: the script's own words
};

// text: a script for dash or bash, with its first line, which is not looked at; script: its path,
// "$0". None unless every line up to an `exec` is empty, a comment, `set -e`, or exports fixed
// values, and nothing at all in it depends on the environment, the request, a file or the time: no
// other expansion, no redirection, no other command (POSIX.1-2017, Shell Command Language, 2). The
// program is an absolute path, or a name that is to be looked up in PATH. What follows `exec` is
// never run.
std::optional<ExecWrapper> parse_exec_wrapper(std::string_view text, const std::string& script);

// Whether a variable with that name makes the shell do anything except pass it on, or would have
// another value in what it executes.
bool means_something_to_shells(std::string_view name);

}  // namespace router
