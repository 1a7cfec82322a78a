// One program's workers and the requests that wait for them.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "modules/learner.h"
#include "policy/backoff.h"
#include "policy/next_generation.h"
#include "policy/plan.h"
#include "policy/recent_peak.h"
#include "policy/reset_costs.h"
#include "policy/shares.h"
#include "pool/generation.h"
#include "pool/pool_status.h"
#include "pool/run.h"
#include "pool/workers.h"
#include "router/resolver.h"

namespace pool {

struct WarmNote;

// Lives as long as its program is known. Events are noted; a pump() at the turn's end acts.
class Pool {
 public:
  Pool(const Surroundings& surroundings, std::string program);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  // What the next request is about: its settings and the file that was just seen by its name.
  // Another version starts a new generation, and the old one serves nobody from here on; other
  // settings start one too, but the old one serves until the new one is warm.
  // environment: of the request, for what stays constant from one to the next.
  // side: which may answer it. A program is made warm if its mode or this asks for it.
  void refresh(const config::ProgramSettings& settings, const router::ProgramFile& file,
               std::string_view environment, compare::Side side);
  // The reset of its warm workers, and the level of their checkpoint, if it is warm now; else none.
  std::optional<compare::Arm> warm_arm() const;
  std::string_view warm_level() const;

  PoolStatus status() const;
  const std::string& program() const { return program_; }
  // Whether php-cgi runs it, as refresh() saw; that wants REDIRECT_STATUS.
  bool is_php() const { return language_ == worker::Language::php; }
  bool has_zygote() const;
  // What another bridge needs to know of it; there: before its first refresh().
  WarmNote note() const;
  void inherit(const std::vector<std::string>& learned);
  // Nothing runs or waits here.
  bool quiet() const { return waiting_.empty() && beside_.empty() && workers_.empty(); }
  base::TimePoint last_used() const { return last_used_; }
  // Lets all idle workers and the zygote go; they come back with the next request.
  void cool_down();

 private:
  friend class Run;  // whose side is:
  base::TimePoint now() const { return surroundings_.loop.now(); }
  void enqueue(Run& run);
  void leave(Run& run);
  void give_up(Run& run);

  void note_seen(const config::ProgramSettings& settings, const router::ProgramFile& file);
  policy::GenerationsView generations_view();
  bool is_for_others(const Generation& generation) const;
  void carry_out(const policy::NextGeneration& next, const policy::GenerationsView& view,
                 std::string_view environment);
  void forget_version();
  worker::Executable look_at_file() const;
  void pump();
  void serve_clients();
  void serve_shadows();
  void limit_queue();
  bool refuse_late(Run& run);
  bool serve(Run& run, std::size_t before);
  bool serve_warm(Run& run);
  bool may_wait(std::size_t before) const;
  bool serve_by_fastcgi(Run& run);
  bool suits(Run& run);
  static bool wants_worker(const Run& run);
  unsigned waiting_for_workers() const;
  void start_classic(Run& run, Cold why);
  void refuse(Run& run, int status, const std::string& reason);
  void carry_out(const policy::PoolPlan& plan);
  void watch_forks();
  bool may_run_one_more();
  void update_claim(const policy::PoolView& now);
  void look_after_workers();
  void note_warmth();
  void started(Run& run);
  void count_started(const Run& run, int by);
  worker::Printed on_ended(Run& run, const worker::Ending& ending);
  void on_unbegun(Run& run);
  void on_note(const message::Received& note);
  void note_started_anew(const std::string& why);
  void demote_if_due();
  void demote(const std::string& why);
  void on_difference(const std::string& difference);
  void start_generation(Depth depth = Depth::any);
  void start_when_calm();
  void adopt_upcoming();
  bool keep_active_instead();
  void look_whether_rested();
  void check_invariants() const;
  policy::PoolView view() const;
  std::optional<base::Duration> retry_in() const;
  bool runs_any() const;
  bool warm() const { return active_ != nullptr && active_->warmth() == Warmth::warm; }

  const Surroundings& surroundings_;
  const std::string program_;
  config::ProgramSettings settings_;
  router::ProgramFile file_, seen_;  // for which generations were made; by look_at_file()
  std::string launched_file_;        // what is executed: of a native program the file that was seen
  worker::Language language_ = worker::Language::none;
  policy::StartChoice start_choice_;
  modules::Learner learner_;
  policy::Demotion demotion_;  // whether this version runs with reset = fork
  std::string anew_why_;       // the last request that was started anew
  modules::ChangeDamper damper_;
  base::Duration told_pause_{0};  // the pause that the log has told of
  // With which no generation came up, while an older one serves; tried again later.
  std::optional<config::ProgramSettings> failed_settings_;
  std::vector<std::string> failed_steps_;
  base::TimePoint failed_at_{};
  // upcoming takes over from active once it is no longer warming.
  std::unique_ptr<Generation> active_, upcoming_;
  std::vector<std::unique_ptr<Generation>> outgoing_;  // destroyed at the end of the turn
  std::uint64_t generations_ = 0;
  std::deque<Run*> waiting_, beside_;  // clients', and shadows'
  Workers workers_;
  policy::RecentPeak recent_peak_;
  bool rested_ = false, care_is_due_ = false;
  base::TimePoint last_used_{}, warmth_wanted_{};  // when a request last might have had a worker
  policy::Retry retry_;  // of what did not become warm, or not as deep as it can be
  policy::Backoff demotion_backoff_;
  PoolStatus counts_;
  // These run: until nothing has come for idle_timeout; while requests wait for a fork; while
  // changes come too fast; while workers have an age or a size that is limited.
  loop::Timer rest_timer_, fork_timer_, calm_timer_, care_timer_;
  loop::Deferred pump_;
  policy::Claim claim_;  // on the places of bridge.workers_max
};

}  // namespace pool
