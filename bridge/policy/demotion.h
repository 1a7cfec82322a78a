// Whether a program runs with reset = fork although its settings say rewind.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "config/program_settings.h"
#include "policy/backoff.h"

namespace policy {

// One per program. If rewinding did not pay, the demotion stands for a time, which grows each time
// in a row. If a rewind was seen to leave something behind, it stands until something changes.
class Demotion {
 public:
  Demotion(base::Duration first, base::Duration most) : backoff_(first, most) {}

  // Rewinding does not pay under these settings.
  void begin(const std::string& why, const config::ProgramSettings& settings, base::TimePoint now);
  // A leak was proven.
  void prove(const std::string& why, const config::ProgramSettings& settings, base::TimePoint now);
  // Ends it because the program or its settings changed: the next one counts as the first again.
  void forget();
  // Ends it to try rewinding again. The next one is longer, unless the try holds.
  void try_again();
  void note_held() { backoff_.succeeded(); }

  bool stands() const { return !why_.empty(); }
  bool is_proven() const { return is_proven_; }
  // Empty unless it stands.
  const std::string& why() const { return why_; }
  // Whether these settings give the same generation as those under which it began.
  bool is_for(const config::ProgramSettings& settings) const;
  base::Duration pause() const { return pause_; }  // before rewinding is tried again
  // None: it does not stand, or it stands until something changes.
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
