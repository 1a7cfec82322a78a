// What happens when files that a program loads change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "modules/loaded_files.h"
#include "modules/restless_files.h"

namespace pool {

// How soon after a change the program is made warm again, and which files change so often that what
// looks at them is left to the requests. Logs it. Owned by the program's generations; clock and
// program outlive it.
class FileChanges {
 public:
  FileChanges(const loop::Clock& clock, const std::string& program)
      : clock_(clock), program_(program), restless_(clock) {}

  void note_request() { ++requests_; }
  // A generation begins.
  void note_start();
  // A file that the present generation has loaded has changed.
  void note_file(const std::string& path);
  // That, or a change of the program itself, ends the generation.
  void note_end() { damper_.note_change(clock_.now()); }
  // The program has been replaced.
  void forget_restless() { restless_.forget(); }

  // How much longer to wait before a start; logs if that is new.
  base::Duration wait();
  // Why the program waits for a start; empty: it does not.
  std::string why_waiting() const { return damper_.is_told() ? damper_.describe() : ""; }

  const std::vector<std::string>& restless() const { return restless_.paths(); }
  // Whether the restless ones have just been found calm; they no longer count as restless then.
  bool have_calmed();

 private:
  const loop::Clock& clock_;
  const std::string& program_;
  modules::ChangeDamper damper_;
  modules::RestlessFiles restless_;
  std::uint64_t requests_ = 0;  // since the generation began
};

}  // namespace pool
