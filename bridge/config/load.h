// Turns the text of a settings file into Settings, or into every reason why it cannot.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/settings.h"

namespace config {

// One thing that is wrong with a file. Lines, columns and the numbers in paths count from 1;
// columns are bytes. A problem with the file itself (it cannot be read) has line 0.
struct Problem {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  std::string path;     // "program[2].workers.max"; empty if the text is not TOML at all
  std::string message;  // "2 is below workers.min (4)"

  bool operator==(const Problem&) const = default;
};

// "file:line:column: path: message", without the parts that are missing.
std::string to_string(const Problem& problem);

// Settings, or at least one problem, in the order of the file. Of TOML syntax errors only the first
// is reported (toml11's limit); all other problems are reported together.
class [[nodiscard]] LoadOutcome {
 public:
  explicit LoadOutcome(Settings settings) : state_(std::move(settings)) {}
  explicit LoadOutcome(std::vector<Problem> problems) : state_(std::move(problems)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Asking for the one that is not there is a programmer's error and aborts.
  const Settings& settings() const;
  Settings take();
  const std::vector<Problem>& problems() const;

 private:
  std::variant<Settings, std::vector<Problem>> state_;
};

// Reads and checks a settings file of at most 1 MiB. Nothing is thrown.
LoadOutcome load_file(const std::string& path);

// The same for a text; file_name is only used in the problems.
LoadOutcome parse(std::string_view text, const std::string& file_name);

}  // namespace config
