// The entry of a request that is over while its program is not.
#pragma once

#include <memory>

#include "config/program_settings.h"
#include "journal/entry.h"
#include "loop/timer.h"

namespace journal {

class Journal;

// Holds back what is written down of a request that was given up, until it is known how its program
// ended. Written once whatever happens: when the program has ended; when that takes longer than it
// should (its exit code is not known then); or when this is destroyed. Owned by whoever hears of
// the end.
class LateEntry {
 public:
  // Longer than a busy kernel takes to end a process that was killed.
  static constexpr std::chrono::seconds kReaped{5};

  // settings: of the program. patience: how long it is waited for. The journal outlives this.
  LateEntry(loop::Loop& loop, Journal& journal, std::unique_ptr<Entry> entry,
            std::shared_ptr<const config::ProgramSettings> settings, base::Duration patience);
  ~LateEntry();
  LateEntry(const LateEntry&) = delete;
  LateEntry& operator=(const LateEntry&) = delete;

  void program_ended(const worker::Ending& ending);

 private:
  void write();

  Journal& journal_;
  std::unique_ptr<Entry> entry_;  // until it is written
  const std::shared_ptr<const config::ProgramSettings> settings_;
  loop::Timer patience_;
};

}  // namespace journal
