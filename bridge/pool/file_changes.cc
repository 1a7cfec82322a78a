#include "pool/file_changes.h"

#include "base/log.h"

namespace pool {

void FileChanges::note_start() {
  damper_.note_start(clock_.now());
  requests_ = 0;
}

void FileChanges::note_file(const std::string& path) {
  base::log_info("program={}: {} has changed: a new generation", program_, path);
  if (!restless_.note_change(path, damper_.life(clock_.now()), requests_)) return;
  base::log_warn(
      "program={}: {} changes all the time: what looks at it is left to the requests until it has "
      "not changed for {} s",
      program_, path, restless_.pause().count() / 1000);
  damper_.forgive();
}

base::Duration FileChanges::wait() {
  const base::Duration wait = damper_.wait(clock_.now());
  if (wait.count() > 0 && damper_.tell()) {
    base::log_info("program={}: {}", program_, damper_.describe());
  }
  return wait;
}

bool FileChanges::have_calmed() {
  if (!restless_.are_calm()) return false;
  restless_.let_go();
  base::log_info("program={}: its files have stopped changing: a new generation", program_);
  return true;
}

}  // namespace pool
