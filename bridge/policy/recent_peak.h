// The most of what was at once lately.
#pragma once

#include <vector>

#include "base/clock.h"

namespace policy {

// Told each number as it changes, it knows the greatest that there was during the last while.
// Remembers no more than one entry for each number up to that.
class RecentPeak {
 public:
  // From now on there are so many; window: how long a greater number before it still counts.
  void note(unsigned at_once, base::TimePoint now, base::Duration window);
  // Of what was noted, as of the last note().
  unsigned value() const { return spans_.empty() ? 0 : spans_.front().at_once; }
  // Nothing that was before counts any more.
  void forget() { spans_.clear(); }

 private:
  struct Span {
    unsigned at_once;
    base::TimePoint until;  // since when there have been fewer; of the last one: not yet
  };
  std::vector<Span> spans_;  // falling, in the order of time; the last one is that of now
};

}  // namespace policy
