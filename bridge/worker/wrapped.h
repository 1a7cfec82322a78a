// Programs that execute another one: shell scripts which do nothing else, and those that do it in
// the middle of a request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "message/channel_message.h"
#include "worker/executable.h"

namespace worker {

// What a process of the shell script program (an absolute path) becomes, if all that its shell does
// is fixed (router/exec_wrapper.h): the executable that a zygote can execute at once, with what the
// shell adds to the environment in its assignments. shell: what inspect() finds without looking
// into the script. None if the script does anything else, or if what it executes cannot be warm,
// which the shell then has to find out each time. Reads files, blocking.
std::optional<Executable> wrapped_by(const std::string& program, const Executable& shell,
                                     std::string_view search_path);

// What a process executes in the middle of its request (message/wire.h, EXECUTE).
struct Executed {
  std::string file, folder;        // absolute paths: what is executed, and where
  std::string given;               // the file's path as it was given, which its interpreter gets
  std::vector<std::string> words;  // argv, as far as it is the same in each request
  std::string search_path;         // PATH in its environment; empty: there is none
  std::uint32_t ignored = 0;       // signals; bit 0 is signal 1
  bool operator==(const Executed&) const = default;

  // A short name: its script, or else its file.
  const std::string& name() const;
  std::string key() const;  // differs from those of others
};

// The environment's PATH and the words that are fixed_words().
Executed executed_by(const message::Execution& execution);

// How many of these words, of which there is at least one, belong to the program whatever the
// request: argv[0]; of an interpreter also its switches and its script. Pure.
std::size_t fixed_words(const std::string& file, const std::vector<std::string_view>& words);

// The executable that a zygote can execute in place of that process. None if it cannot be warm.
// Reads files, blocking.
std::optional<Executable> executable_of(const Executed& executed);

}  // namespace worker
