// The warm side of one version of a program: what makes its workers, and how deep it could be made.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/idle_cores.h"
#include "config/settings.h"
#include "limits/cgroups.h"
#include "limits/identities.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "modules/loaded_files.h"
#include "policy/backoff.h"
#include "policy/shares.h"
#include "pool/owners.h"
#include "pool/program_version.h"
#include "pool/warm_environment.h"
#include "worker/processes.h"
#include "worker/starter.h"

namespace pool {

class Pool;

// What the daemon gives to every pool. All of it outlives the pools.
struct Surroundings {
  loop::Loop& loop;
  worker::Processes& processes;
  Folders folders;
  limits::Identities& identities;
  limits::Cgroups& cgroups;
  // How many processors are unused now.
  std::function<unsigned()> idle_cores = base::idle_cores;
  policy::Shares* shares = nullptr;  // set by Pools, which owns it
  // Why the program with that path must not run now; set by the gateway, which knows the roots.
  std::function<std::optional<cgi::Refusal>(const std::string& program)> judge = nullptr;
  // The pool of what a program executes, made if it is new; nullptr: there are too many of them.
  // Set by Pools.
  std::function<Pool*(const Subject& subject)> executed = nullptr;
};

// cold: there will be no zygote; reason() says why, and the program runs classic.
enum class Warmth { warming, warm, cold };

// How a zygote is made.
struct Attempt {
  config::Level level;
  worker::Making making = worker::Making::forked;
  Binding binding = Binding::early;
};

// Owned by its pool, which destroys it at the end of a turn. If its zygote does not come up, it is
// tried again with workers started ahead of need (for Node), without what was learned, then one
// level less deep, then not at all.
class Generation final : private worker::StarterOwner {
 public:
  Generation(const Surroundings& surroundings, GenerationPlan plan, GenerationOwner& owner);
  Warmth warmth() const { return warmth_; }
  // Why it is cold, or why its level is not deeper; empty if it is as deep as asked for.
  const std::string& reason() const { return reason_; }
  // Whether it is cold, or less deep than its language can be, for a reason that may pass.
  bool fell_short() const { return is_up() ? fell_back_ : plan_.executable.cold_reason.empty(); }
  // Which attempts failed, why and when, in order.
  const std::vector<std::string>& steps() const { return steps_; }
  // Whether its workers are processes that speak FastCGI (upstream/): then it is warm from the
  // first moment, although a request waits until one has started.
  bool speaks_fastcgi() const { return by_fastcgi_; }
  // Valid only while warm. For programs that speak FastCGI this is not the level of a checkpoint.
  std::string_view level() const {
    return by_fastcgi_ ? "fastcgi" : config::to_string(starter_->level());
  }
  // What its workers do after a request, and why that is less than the settings ask for.
  config::Reset reset() const { return by_fastcgi_ ? config::Reset::none : starter_->reset(); }
  std::string reset_reason() const;
  ZygoteId zygote() const { return {plan_.number, starts_}; }
  const GenerationPlan& plan() const { return plan_; }
  const limits::Terms& terms() const { return terms_; }  // for what it started last
  // forked: workers are cheap and come at once. ahead: each one takes an interpreter's start.
  worker::Making making() const { return attempt_.making; }
  bool is_up() const { return warmth_ != Warmth::cold; }  // it may hold processes
  pid_t zygote_pid() const { return starter_ == nullptr ? -1 : starter_->pid(); }
  base::Status fork_worker(std::uint64_t worker_id, base::UniqueFd channel_end);
  // Has the zygote compare a worker with itself; it must be that worker's zygote.
  base::Status verify_worker(std::uint64_t look_id, pid_t pid);
  // The level does not pay: the zygote is made again, one level less deep, until the deeper level
  // is retried.
  void demote(const std::string& why);
  // The zygote does not do what it is told: kills it and starts another.
  void replace_zygote(const std::string& why);
  // The first variable that makes a request unsuitable for it (StartVariables); empty: it suits.
  // Programs that are run as FastCGI suit all requests, except PHP, which can also answer classic.
  std::string misfit(std::string_view environment) const;
  const policy::StartVariables& start_variables() const { return start_variables_; }
  // Where its interpreter looks for modules, as its zygote reported.
  const std::vector<std::string>& module_folders() const { return module_folders_; }
  // The path of a file that it loaded and that has changed since, or "".
  std::string changed_file() { return files_.changed(); }
  // Too many workers in a row that died before they were ready end the generation: more of them
  // would do the same. Not if it turns out that the zygote has died.
  void count_lost_worker(const std::string& why);
  bool is_losing_workers() const { return lost_in_a_row_ >= kLostWorkersMax; }  // it is judged soon
  void count_ready_worker() { lost_in_a_row_ = 0; }

 private:
  // This many lost in a row are too many.
  static constexpr unsigned kLostWorkersMax = 3;

  // worker::StarterOwner
  void on_ready() override;
  void on_gone(const std::string& why) override;
  void on_note(std::uint32_t kind, const std::string& text) override;

  void start_zygote();
  bool take_terms();
  void step_back(const std::string& why);
  void become_cold(const std::string& why);
  void judge_lost_workers();
  config::Reset reset_to_ask() const;
  std::unique_ptr<worker::Starter> make_starter();
  worker::WarmProgram warm_program() const;

  const Surroundings& surroundings_;
  GenerationPlan plan_;
  GenerationOwner& owner_;
  limits::Terms terms_;
  const bool by_fastcgi_;
  Warmth warmth_ = Warmth::warming;
  Attempt attempt_;
  std::string reason_;
  std::vector<std::string> steps_;
  std::string shallower_reason_;  // why this level is not possible, from the adapter
  bool fell_back_ = false;        // to this level, for another reason than that
  policy::StartVariables start_variables_;
  modules::LoadedFiles files_;
  std::vector<std::string> module_folders_;
  unsigned starts_ = 0;  // number of zygotes started
  unsigned lost_in_a_row_ = 0;
  std::string lost_why_;         // why the last of them was lost
  policy::Backoff sudden_ends_;  // of zygotes that had become warm
  base::TimePoint launched_at_;  // when the current zygote was launched
  std::unique_ptr<worker::Starter> starter_;
  loop::Deferred restart_;     // a zygote is never replaced from within its own callback
  loop::Timer verdict_;        // runs when too many workers were lost
  loop::Timer restart_later_;  // runs while zygotes end again and again after coming up
};

}  // namespace pool
