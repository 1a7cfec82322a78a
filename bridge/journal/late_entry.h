// The entry of a request that is over although its program has not ended.
#pragma once

#include <memory>

#include "config/program_settings.h"
#include "journal/entry.h"
#include "loop/timer.h"

namespace journal {

class Journal;

// Holds back the record of a request that was given up until it is known how its program ended. The
// entry is always written once: when the program has ended; when that takes longer than it should
// (then its exit code is not known); or when this is destroyed. Owned by whoever learns about the
// end.
class LateEntry {
 public:
  // Longer than a busy kernel takes to end a killed process.
  static constexpr std::chrono::seconds kReaped{5};

  // settings: the program's. patience: how long to wait. The journal must outlive this.
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
