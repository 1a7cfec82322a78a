// The variables that a program's process reads once, on its way to the checkpoint: a zygote has
// read the values with which it was launched, so it suits only requests that bring the same ones.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "policy/values_vote.h"
#include "worker/language.h"

namespace policy {

// The meta-variables that on most sites are the same for every request of a program. They let a
// program be warm that reads them while it compiles (`use lib "$ENV{DOCUMENT_ROOT}/lib"`).
using ConstantVariables = std::map<std::string, std::string, std::less<>>;

// Those that are in a request's environment block ("K=V\0...").
ConstantVariables constant_variables(std::string_view environment);

// What the program itself is launched with: PATH and the constants, then the operator's env, then
// what env(1) in its first line assigns ("K=V").
using LaunchVariables = ConstantVariables;
LaunchVariables launch_variables(const ConstantVariables& constants,
                                 const config::ProgramSettings& settings,
                                 const std::vector<std::string>& assignments);

// Whether the loader, libc or the interpreter is known to read a variable with that name before the
// checkpoint at that level. At linked, only the loader and what it calls have run; at a deeper
// level, the interpreter has taken its locale, its time zone and its own settings.
bool is_read_at_start(std::string_view name, config::Level level);

// Sorted names without "". NOTE_READ brings them one per line.
using ReadNames = std::set<std::string, std::less<>>;

// For one generation: what its zygote was launched with, and what it has read of that.
class StartVariables {
 public:
  static constexpr std::size_t kReadNamesMax = 1000;

  StartVariables() = default;
  // launched: the program's variables, without those that make it stop at its checkpoint.
  // through_shell: a shell passes the variables on, and only what means nothing to it passes as it
  // comes.
  StartVariables(LaunchVariables launched, const std::vector<std::string>& assignments,
                 bool through_shell = false);

  const LaunchVariables& launched() const { return launched_; }
  void note_read(std::string_view lines);
  const ReadNames& read() const { return read_; }

  // The first name in a request's environment ("K=V\0...") whose value the zygote does not have, or
  // else the first name that the request lacks; empty: the zygote suits the request.
  std::string misfit(std::string_view environment, worker::Language language,
                     config::Level level) const;

 private:
  bool counts(std::string_view name, worker::Language language, config::Level level) const;

  LaunchVariables launched_;
  // Assigned by env(1) or a shell, so a request's value does not matter.
  std::set<std::string, std::less<>> assigned_;
  bool through_shell_ = false;
  ReadNames read_;
  std::uint32_t letters_read_ = 0;  // the first letters of these names, as bits
};

// For a program: what its next zygote is launched with.
class StartChoice {
 public:
  // Takes what a request brings. Empty: no request is known yet, as when it is made warm ahead.
  void take(std::string_view environment);
  // A request came. Used only if it is the first after a zygote was made without any request.
  void note_request(std::string_view environment) {
    if (is_guess_ && first_.empty()) first_ = environment;
  }
  // The program read other values while it was loaded than its request brings. True: the zygote was
  // made before any request was known, and another should be launched with the first one's values.
  bool follow_first_request();
  const ConstantVariables& constants() const { return constants_; }
  void forget_read() { read_.clear(); }

  void count_fit();
  // The zygote did not suit a request. read: what that zygote has read. True: another zygote should
  // be launched with this request's values.
  bool count_misfit(std::string_view environment, const ReadNames& read, base::TimePoint now);
  // True once for each generation: a misfit is worth a line in the log.
  bool is_first_in(std::uint64_t generation) {
    return std::exchange(told_of_, generation) != generation;
  }

 private:
  std::uint64_t told_of_ = 0;
  ConstantVariables constants_;
  bool is_known_ = false;
  bool is_guess_ = false;  // constants_ do not come from a request
  std::string first_;      // the environment of the first request after that guess
  ReadNames read_;         // by all zygotes so far: the next are launched with these as well
  ValuesVote vote_;
};

}  // namespace policy
