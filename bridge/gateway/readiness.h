// Whether a bridge wants requests: what load balancers and orchestrators ask before they send any.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "gateway/page_visit.h"

namespace gateway {

// A bridge is ready once the programs that it starts with are warm, and until it is about to end.
// Not being ready refuses nothing: whoever asks nonetheless is answered.
class Readiness {
 public:
  // Whether that program is still being made warm.
  using StillWarming = std::function<bool(const std::string& program)>;

  // How long anybody waits for programs to become warm; those that are not warm then run classic.
  static constexpr std::chrono::seconds kPatience{30};

  // It is not ready before each of these programs is warm, or will not become warm; at the latest
  // at that time. Called once, at the start.
  void wait_for(std::vector<std::string> programs, base::TimePoint until);

  // It is about to end: no more requests should be sent. Cannot be taken back.
  void leave() { leaving_ = true; }
  bool leaving() const { return leaving_; }

  // What keeps it from being ready, as a sentence without a full stop; empty: nothing.
  std::string why_not(base::TimePoint now, const StillWarming& still_warming) const;

 private:
  // Those that were not warm when somebody last asked: a program that was warm once counts as warm,
  // whatever becomes of it later.
  mutable std::vector<std::string> awaited_;
  base::TimePoint until_{};
  bool leaving_ = false;
};

// What a request for bridge.health is answered: 200 "ready" if why_not is empty, otherwise 503 and
// why_not; 405 for any method but GET and HEAD. No cache may keep it.
PageAnswer health_answer(const PageRequest& request, const std::string& why_not);

// What the bridge answers itself: requests below bridge.page.path, and for bridge.health.
struct OwnAnswers {
  PageHandler page;
  PageHandler health;
  Readiness readiness;
};

}  // namespace gateway
