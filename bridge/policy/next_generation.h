// Whether a program's generations are as they should be when a request comes, or a new one must
// begin: a pure decision on what is known at that moment.
#pragma once

#include <optional>

#include "base/clock.h"

namespace policy {

// The state of a program's generations, and what its request brings, at one moment.
struct GenerationsView {
  bool exists = false;    // one serves, or is on its way
  bool upcoming = false;  // one is on its way to take over from the one that serves
  bool warm = false;      // the one that serves is warm
  // What has changed since the newest was made:
  bool other_file = false;      // the program's file
  bool other_settings = false;  // the settings that matter for a generation
  bool loaded_file = false;     // a file that the program loaded
  // It could not be made warm, or not deeper: when to try again. cold: it is not warm at all.
  bool cold = false;
  std::optional<base::TimePoint> try_again_at{};
  // It was given reset = fork instead of rewind, and until when; none: until something changes.
  bool demoted = false;
  bool demoted_for_settings = true;  // under the present settings
  std::optional<base::TimePoint> trust_again_at{};
};

// keep: all is as it should be. begin: begin a new one beside the one that serves. begin_when_calm:
// begin a new one when its files have stopped changing. try_deeper: begin one at its language's
// level beside the one that serves. trust_again: begin one beside it that rewinds again.
enum class Step { keep, begin, begin_when_calm, try_deeper, trust_again };

struct NextGeneration {
  Step step = Step::keep;
  bool lets_go = false;           // the present one must not answer any more
  bool is_change = false;         // something has changed: past failures no longer count
  bool is_new_version = false;    // a file has changed: such changes are paced
  bool forgets_demotion = false;  // rewinding is trusted again
};

// A changed file ends the old generation at once: it must not answer again. If only settings have
// changed, it serves until the new one is warm.
NextGeneration next_generation(const GenerationsView& view, base::TimePoint now);

}  // namespace policy
