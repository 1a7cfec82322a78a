// The generations of one program: which one serves, and when a new one is begun.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "modules/learner.h"
#include "policy/backoff.h"
#include "policy/demotion.h"
#include "policy/next_generation.h"
#include "pool/file_changes.h"
#include "pool/generation.h"
#include "pool/pool_status.h"
#include "pool/program_version.h"
#include "pool/turn.h"
#include "pool/workers.h"

namespace pool {

// Owned by the pool, whose settings it reads and whose workers it tells which generation serves.
// settle() and improve() act on what happened to a generation, at the end of the turn.
class Generations final : private GenerationOwner {
 public:
  // All of these outlive it, except `workers`, which is used only while the pool lives.
  Generations(const Surroundings& surroundings, const Subject& subject,
              const config::ProgramSettings& settings, Workers& workers, GenerationsOwner& owner);
  ~Generations();
  Generations(const Generations&) = delete;
  Generations& operator=(const Generations&) = delete;

  // ---- a request comes ----

  // Takes what was found under the program's name, and the request's environment.
  void see(const router::ProgramFile& file, bool runs_otherwise, std::string_view environment);
  // The request may be answered warm: begins another generation if one is due. Another version of a
  // file ends the old generation at once; after a change of settings it serves until the new one is
  // warm.
  void keep_up(std::string_view environment);
  // Whether the zygote that serves was launched with the values that this request brings; true if
  // none serves. If most requests bring other values, another zygote is launched with those, and
  // this one serves until then.
  bool suits(Turn& turn);

  // ---- at the end of a turn ----

  // To be called before requests are served: the upcoming generation takes over if it is ready.
  void settle();
  // To be called after that: begins another one for what was learned, or with a cheaper reset, if
  // due.
  void improve();

  // ---- what its workers say ----

  void on_note(const message::Received& note);
  // A worker was not in its first state after a rewind: no worker of that zygote is trusted any
  // more.
  void on_difference(const std::string& difference);

  // Lets the zygotes exit; they come back with the next request.
  void cool_down();

  // The generation that serves, or will be the first to; nullptr: none. It may be cold.
  Generation* serving() const { return active_.get(); }
  bool warm() const { return active_ != nullptr && active_->warmth() == Warmth::warm; }
  bool has_zygote() const;
  const ProgramVersion& version() const { return version_; }
  void inherit(const std::vector<std::string>& learned) { learner_.inherit(learned); }
  std::vector<std::string> learned() const { return learner_.names(); }
  // What the next zygote is launched with, as "K=V\0...".
  std::string constant_environment() const;
  // Fills in what concerns generations.
  void describe(PoolStatus& status) const;

 private:
  // The last generation that did not come up while an older one went on serving.
  struct Failed {
    std::optional<config::ProgramSettings> settings;  // that it was made with, if they were new
    base::TimePoint at{};
    std::vector<std::string> steps;
  };

  // GenerationOwner
  void on_change() override { owner_.on_change(); }
  void on_fork_failed(std::uint64_t worker_id, const std::string& why) override;
  void on_verified(std::uint64_t look_id, const worker::Verdict& verdict) override;

  const std::string& title() const { return subject_.title; }
  base::TimePoint now() const { return surroundings_.loop.now(); }
  policy::GenerationsView view();
  bool is_for_others(const Generation& generation) const;
  void carry_out(const policy::NextGeneration& next, const policy::GenerationsView& view,
                 std::string_view environment);
  void forget_version();
  void begin_when_calm();
  void begin(Depth depth = Depth::any);
  bool judge(Turn& turn);
  void adopt_upcoming();
  bool keep_active_instead();
  void note_warmth();
  void demote_if_due();
  void note_started_anew(const std::string& why);
  std::optional<base::Duration> retry_in() const;

  const Surroundings& surroundings_;
  const Subject& subject_;
  const config::ProgramSettings& settings_;
  Workers& workers_;
  GenerationsOwner& owner_;
  ProgramVersion version_;
  policy::StartChoice start_choice_;
  modules::Learner learner_;
  policy::Demotion demotion_;
  std::uint64_t started_anew_ = 0;  // requests, because the level was wrong for them
  std::string anew_why_;            // reason for the last of them
  std::string misfit_name_;         // the variable that made the last request unsuitable
  FileChanges changes_;
  Failed failed_;
  // upcoming takes over from active once it is no longer warming.
  std::unique_ptr<Generation> active_, upcoming_;
  std::vector<std::unique_ptr<Generation>> outgoing_;  // destroyed at the end of the turn
  std::uint64_t newest_ = 0;                           // its number
  policy::Retry retry_;     // of what did not become warm, or is shallower than it can be
  loop::Timer calm_timer_;  // runs while changes come too fast
};

}  // namespace pool
