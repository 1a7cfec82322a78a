// A list of steps, in the form in which cgibridge-step-down gets it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/steps.h"

namespace sandbox {

// Steps are added at its end. Pure, except for sealed().
class StepList {
 public:
  void add(step_kind kind, std::uint64_t a = 0, std::uint64_t b = 0, std::string_view payload = {});
  // For a step that names a place: its path, and other arguments as text.
  void add_at(step_kind kind, std::string_view path, std::uint64_t a = 0, std::uint64_t b = 0,
              std::string_view more = {});

  const std::string& bytes() const { return bytes_; }
  bool operator==(const StepList&) const = default;

  // The list in a file in memory that nobody can change any more.
  base::Result<base::UniqueFd> sealed() const;

 private:
  std::string bytes_;
};

// One step per line, "unshare 20000", "bind 3 0 /tmp": for tests and for the log at level debug.
std::string describe(const StepList& steps);

}  // namespace sandbox
