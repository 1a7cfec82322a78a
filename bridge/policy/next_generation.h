// Whether a request finds its program's generations as they should be, or a new one is begun: a
// pure decision on what is known when it comes.
#pragma once

#include <optional>

#include "base/clock.h"

namespace policy {

// A program's generations, and what its request brings, at one moment.
struct GenerationsView {
  bool exists = false;    // one serves, or is on its way
  bool upcoming = false;  // one is on its way to take over from the one that serves
  bool warm = false;      // the one that serves is
  // What the newest was not made for:
  bool other_file = false;      // the program's file is another one
  bool other_settings = false;  // or the settings are, in what makes a generation
  bool loaded_file = false;     // one that it loaded has changed
  // It could not be made warm, or no deeper: when that is tried again. cold: not warm at all.
  bool cold = false;
  std::optional<base::TimePoint> try_again_at{};
  // It was given reset = fork instead of rewind: until when; none: until something changes.
  bool demoted = false;
  bool demoted_for_settings = true;  // under the settings of now
  std::optional<base::TimePoint> trust_again_at{};
};

// keep: all is as it should be. begin: a new one, beside the one that serves. begin_when_calm: a
// new one, once its files have rested. try_deeper: one at its language's level, beside the one that
// serves. trust_again: one that rewinds again, beside it.
enum class Step { keep, begin, begin_when_calm, try_deeper, trust_again };

struct NextGeneration {
  Step step = Step::keep;
  bool lets_go = false;           // the one that stands must answer no more
  bool is_change = false;         // something is other than before: what failed counts no longer
  bool is_new_version = false;    // a file is: its changes are paced
  bool forgets_demotion = false;  // rewinding is trusted again
};

// A file that is another one ends the old generation at once: it must not answer once more. Other
// settings alone leave it serving until the new one is warm.
NextGeneration next_generation(const GenerationsView& view, base::TimePoint now);

}  // namespace policy
