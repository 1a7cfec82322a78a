// One program's workers and the requests that wait for them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "policy/plan.h"
#include "policy/recent_peak.h"
#include "policy/shares.h"
#include "pool/generations.h"
#include "pool/pool_status.h"
#include "pool/wait_queue.h"
#include "pool/workers.h"
#include "router/resolver.h"

namespace pool {

struct WarmNote;

// Lives as long as its program is known. Events are noted; a pump() at the end of the turn acts on
// them.
class Pool : private WaitQueue::Server, private WorkersOwner, private GenerationsOwner {
 public:
  Pool(const Surroundings& surroundings, Subject subject);
  ~Pool() override;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  // What the next request is about: its settings, and the file that was just found under its name.
  // Another version starts a new generation, and the old one serves nobody from now on; other
  // settings start one too, but the old one serves until the new one is warm. environment: the
  // request's, from which values that stay constant between requests are learned. side: which side
  // may answer it. A program is made warm if its mode or this asks for it.
  void refresh(const config::ProgramSettings& settings, const router::ProgramFile& file,
               std::string_view environment, compare::Side side);
  // The reset of its warm workers, and the level of their checkpoint, if it is warm now; otherwise
  // none.
  std::optional<compare::Arm> warm_arm() const;
  std::string_view warm_level() const;

  PoolStatus status() const;
  const std::string& program() const { return subject_.home; }
  const Subject& subject() const { return subject_; }
  // Whether php-cgi runs it, as refresh() found; php-cgi needs REDIRECT_STATUS.
  bool is_php() const { return generations_.version().language() == worker::Language::php; }
  bool has_zygote() const { return generations_.has_zygote(); }
  // What another bridge needs to know about it; there: to be given to it before its first
  // refresh().
  WarmNote note() const;
  void inherit(const std::vector<std::string>& learned);
  // Nothing runs or waits here.
  bool quiet() const { return queue_.empty() && workers_.empty(); }
  base::TimePoint last_used() const { return last_used_; }
  // Lets all idle workers and the zygote exit; they come back with the next request.
  void cool_down() { generations_.cool_down(); }

  // ---- for a Run ----

  base::TimePoint now() const { return surroundings_.loop.now(); }
  void enqueue(Turn& turn);
  // The turn goes away: it leaves the queue, or its program is ended.
  void leave(Turn& turn);

 private:
  // WaitQueue::Server
  bool has_room() override;
  bool may_wait(std::size_t before) const override;
  bool serve(Turn& turn, std::size_t before) override;
  bool serve_shadow(Turn& turn) override;
  void on_full(Turn& turn) override;
  void on_late(Turn& turn) override;

  // WorkersOwner, GenerationsOwner
  void on_change() override { pump_.schedule(); }
  worker::Printed on_ended(Turn& turn, const worker::Ending& ending) override;
  void on_unbegun(Turn& turn) override;
  void on_note(const message::Received& note) override { generations_.on_note(note); }
  void on_executed(const std::string& path) override { counts_.warm.note_executed(path); }
  void on_difference(const std::string& what) override { generations_.on_difference(what); }

  void pump();
  bool refuse_changed(Turn& turn);
  bool serve_warm(Turn& turn);
  bool serve_by_fastcgi(Turn& turn);
  void start_classic(Turn& turn, Cold why);
  void refuse(Turn& turn, int status, const std::string& reason);
  void carry_out(const policy::PoolPlan& plan);
  void watch_forks();
  void update_claim(const policy::PoolView& now);
  void begin(Turn& turn);
  void note_rest();
  void check_invariants() const;
  policy::PoolView view() const;

  const Surroundings& surroundings_;
  const Subject subject_;
  config::ProgramSettings settings_;
  Generations generations_;
  WaitQueue queue_;
  Workers workers_;
  policy::RecentPeak recent_peak_;
  bool rested_ = false, care_is_due_ = false;
  base::TimePoint last_used_{}, warmth_wanted_{};  // when a request last might have had a worker
  PoolStatus counts_;
  // When they run: until nothing has come for idle_timeout; while requests wait for a fork; while
  // workers have a limited age or size.
  loop::Timer rest_timer_, fork_timer_, care_timer_;
  loop::Deferred pump_;
  policy::Claim claim_;  // to places of bridge.workers_max
};

}  // namespace pool
