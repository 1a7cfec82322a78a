// Whether a program runs with reset = fork though its settings say rewind.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "config/program_settings.h"
#include "policy/backoff.h"

namespace policy {

// One per program. It stands for a time where rewinding did not pay, for longer each time in a row,
// and until something changes where a rewind was seen to leave something behind.
class Demotion {
 public:
  Demotion(base::Duration first, base::Duration most) : backoff_(first, most) {}

  // Rewinding does not pay under these settings.
  void begin(const std::string& why, const config::ProgramSettings& settings, base::TimePoint now);
  // A leak was proven.
  void prove(const std::string& why, const config::ProgramSettings& settings, base::TimePoint now);
  // It is over: the next one is the first again, as the program or its settings changed.
  void forget();
  // It is over: rewinding is tried again. The next one is longer, unless what was tried holds.
  void try_again();
  void note_held() { backoff_.succeeded(); }

  bool stands() const { return !why_.empty(); }
  bool is_proven() const { return is_proven_; }
  // Empty unless it stands.
  const std::string& why() const { return why_; }
  // Whether these settings make the same generation as those under which it began.
  bool is_for(const config::ProgramSettings& settings) const;
  base::Duration pause() const { return pause_; }  // before it is tried again
  // None: it does not stand, or until something changes.
  std::optional<base::TimePoint> ends_at() const;

 private:
  void stand(const std::string& why, const config::ProgramSettings& settings, base::TimePoint now);

  std::string why_;
  bool is_proven_ = false;
  config::ProgramSettings settings_;
  base::TimePoint since_{};
  base::Duration pause_{0};
  Backoff backoff_;
};

}  // namespace policy
