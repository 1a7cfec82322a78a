#include "journal/late_entry.h"

#include "journal/journal.h"

namespace journal {

LateEntry::LateEntry(loop::Loop& loop, Journal& journal, std::unique_ptr<Entry> entry,
                     std::shared_ptr<const config::ProgramSettings> settings,
                     base::Duration patience)
    : journal_(journal),
      entry_(std::move(entry)),
      settings_(std::move(settings)),
      patience_(loop, [this] { write(); }) {
  patience_.start(patience);
}

LateEntry::~LateEntry() {
  write();
}

void LateEntry::program_ended(const worker::Ending& ending) {
  if (entry_ != nullptr) entry_->program_ended(ending);
  write();
}

void LateEntry::write() {
  patience_.stop();
  if (entry_ != nullptr) journal_.end(*entry_, settings_.get());
  entry_.reset();
}

}  // namespace journal
