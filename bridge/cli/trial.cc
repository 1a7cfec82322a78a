#include "cli/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <memory>

#include "admin/worker_memory.h"
#include "base/log.h"
#include "cgi/environment.h"
#include "cli/own_bridge.h"
#include "worker/executable.h"

namespace cli {
namespace {

using compare::Arm;

// At least this many pairs of answers are compared in each arm: after eight, a value that classic
// never gives twice can be told from one that was kept (compare/masks.h).
constexpr std::size_t kPairsMin = 12;
constexpr std::size_t kRoundsMin = 3;
// New modules show up in the requests that load them; the bridge makes at most five generations for
// this.
constexpr int kWarmRoundsMax = 7;
constexpr std::chrono::seconds kSettleMax{30};
// Comparing one arm takes at most this part of the total time, and so does measuring it; but one
// round of each is always made.
constexpr int kTimeShare = 9;
constexpr std::size_t kDifferencesKept = 5;
constexpr std::size_t kLastWordsMax = 4000, kWordsLineMax = 1500;

config::ProgramSettings settings_of(const TrialPlan& plan, Arm arm,
                                    config::Launch launch = config::Launch::cgi) {
  config::ProgramSettings settings;
  settings.launch = launch;
  settings.level = plan.level;
  settings.env.insert(plan.settings_env.begin(), plan.settings_env.end());
  // How often a worker cannot stay is judged here, not by the bridge.
  settings.rewind.max_retired = 100;
  settings.mode = arm == Arm::classic ? config::Mode::classic : config::Mode::persistent;
  if (arm == Arm::fork) settings.reset = config::Reset::fork;
  if (arm == Arm::none) settings.reset = config::Reset::none;
  return settings;
}

// One worker takes every request, and is checked after each.
config::ProgramSettings strict(config::ProgramSettings settings) {
  settings.workers.max = 1;
  settings.workers.spare = 1;
  settings.rewind.verify = 1;
  return settings;
}

// Whether a program's file contains a word that FastCGI programs contain, or is run by the PHP that
// speaks FastCGI. Only such a program is started as a FastCGI program: another one might do things
// that nobody asked for.
bool mentions_fastcgi(const std::string& program) {
  if (worker::inspect(program, cgi::kDefaultPath).language == worker::Language::php) return true;
  std::ifstream file(program, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const std::string_view word :
       {"FCGI", "FastCGI", "fastcgi", "CGI::Fast", "fcgi", "flup", "php-cgi"}) {
    if (text.find(word) != text.npos) return true;
  }
  return false;
}

// What was written to standard error, made safe for a terminal.
std::string shown_words(std::string_view errors) {
  std::string shown;
  while (!errors.empty() && shown.size() < kLastWordsMax) {
    const std::string_view line = errors.substr(0, errors.find('\n'));
    errors.remove_prefix(std::min(line.size() + 1, errors.size()));
    shown += "  " + base::printable(line, kWordsLineMax) + "\n";
  }
  return shown;
}

class Trial {
 public:
  Trial(const TrialPlan& plan, const Progress& progress, Findings& findings)
      : plan_(plan),
        progress_(progress),
        findings_(findings),
        bridge_(plan.program, settings_of(plan, Arm::classic)) {
    for (const AskedRequest& request : plan_.requests) {
      records_.push_back(request_records(request, plan_.program, plan_.variables));
    }
    record_.keep(kDifferencesKept);
  }

  void run();

 private:
  bool answers_at_all();
  void try_arm(Arm arm, config::Launch launch = config::Launch::cgi);
  void look_for_fastcgi_alone();
  bool make_warm(Arm arm, ArmFindings& found);
  void compare_answers(Arm arm, ArmFindings& found);
  bool compare_once(Arm arm, std::size_t request, ArmFindings& found);
  void take_times(Arm arm, ArmFindings& found);
  void take_status(Arm arm, ArmFindings& found);
  void take_memory(ArmFindings& found);
  Heard ask(std::size_t request, const config::ProgramSettings& settings);
  bool wait_settled();
  std::size_t compared_requests() const;
  bool is_compared(std::size_t request) const {
    return findings_.requests[request].problem.empty();
  }

  const TrialPlan& plan_;
  const Progress& progress_;
  Findings& findings_;
  OwnBridge bridge_;
  std::vector<std::string> records_;
  compare::ShadowRecord record_;
  config::Launch launch_ = config::Launch::cgi;                           // for the current arm
  std::array<std::uint64_t, policy::kRetirementKinds> retired_before_{};  // in earlier arms
};

void Trial::run() {
  bridge_.stop_after(plan_.timeout);
  if (answers_at_all()) {
    ArmFindings classic;
    classic.requests = records_.size();
    progress_("classic: measuring");
    take_times(Arm::classic, classic);
    findings_.arms.push_back(std::move(classic));
    try_arm(Arm::fork);
    try_arm(Arm::rewind);
    if (findings_.level == "compiled" || findings_.level == "booted") try_arm(Arm::none);
    if (mentions_fastcgi(plan_.program)) try_arm(Arm::none, config::Launch::fastcgi);
  } else if (mentions_fastcgi(plan_.program)) {
    look_for_fastcgi_alone();
  }
  for (const auto* masks : {&record_.head_masks(), &record_.body_masks()}) {
    findings_.masks.insert(findings_.masks.end(), masks->all().begin(), masks->all().end());
  }
  if (bridge_.stopped() == kInterrupted) findings_.problem = kInterrupted;
  if (bridge_.stopped() != kOutOfTime) return;
  const ArmFindings* rewind = findings_.find(Arm::rewind);
  const bool enough = rewind != nullptr &&
                      (!rewind->unavailable.empty() || rewind->compared() >= compared_requests());
  const std::string what = fmt::format("not done within {} s (--timeout)", plan_.timeout.count());
  (enough ? findings_.cut_short : findings_.problem) = "it was " + what;
}

std::size_t Trial::compared_requests() const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < records_.size(); ++i) count += is_compared(i) ? 1 : 0;
  return count;
}

Heard Trial::ask(std::size_t request, const config::ProgramSettings& settings) {
  bridge_.use(settings);
  return bridge_.ask(records_[request]);
}

// Whether classic has a proper answer to at least one of the requests.
bool Trial::answers_at_all() {
  progress_("classic: asking");
  bool any = false;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const Heard heard = ask(i, settings_of(plan_, Arm::classic));
    RequestFindings& entry = findings_.requests[i];
    if (!heard.complete) {
      entry.problem = "no answer";
    } else if (heard.refused) {
      entry.problem = "no proper answer";
      if (findings_.last_words.empty()) findings_.last_words = shown_words(heard.errors);
    } else {
      entry.status = answer_of(heard).status;
      any = true;
    }
  }
  if (any) {
    findings_.last_words.clear();
  } else {
    findings_.problem = "it gives no proper answer, classic as it is";
  }
  return any;
}

// Classic gives no answer: perhaps it is not a CGI program at all.
void Trial::look_for_fastcgi_alone() {
  if (!bridge_.stopped().empty()) return;
  progress_("fastcgi: asking");
  const Heard heard = ask(0, strict(settings_of(plan_, Arm::none, config::Launch::fastcgi)));
  if (!heard.complete || heard.refused || !heard.warm) return;
  findings_.last_words.clear();
  findings_.problem =
      "it answers by FastCGI alone, so there is nothing to compare it with; launch = \"fastcgi\" "
      "runs it";
}

void Trial::try_arm(Arm arm, config::Launch launch) {
  if (!bridge_.stopped().empty()) return;
  ArmFindings found;
  found.arm = arm;
  launch_ = launch;
  if (arm != Arm::fork && launch == config::Launch::cgi && findings_.level == "none") {
    found.unavailable = findings_.level_reason;
    return findings_.arms.push_back(std::move(found));
  }
  const std::string name(launch == config::Launch::fastcgi ? std::string_view("fastcgi")
                                                           : compare::to_string(arm));
  progress_(name + ": warming up");
  const std::uint64_t warm_before = bridge_.status().persistent;
  if (make_warm(arm, found)) {
    progress_(name + ": comparing");
    compare_answers(arm, found);
    progress_(name + ": measuring");
    take_times(arm, found);
    wait_settled();
    take_memory(found);
    found.requests = bridge_.status().persistent - warm_before;
    take_status(arm, found);
  }
  // A program that only mentions FastCGI does not get this arm: it has answered nothing that way.
  const bool is_arm = launch == config::Launch::cgi || (found.by_fastcgi() && found.requests > 0);
  if (is_arm) findings_.arms.push_back(std::move(found));
}

bool Trial::wait_settled() {
  return bridge_.run_until(kSettleMax, [this] { return bridge_.settled(); });
}

// Waits until a generation serves that loads in advance what the requests need, with the arm's
// reset.
bool Trial::make_warm(Arm arm, ArmFindings& found) {
  const config::ProgramSettings settings = strict(settings_of(plan_, arm, launch_));
  std::uint64_t generation = 0;
  for (int round = 0; round < kWarmRoundsMax && bridge_.stopped().empty(); ++round) {
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (is_compared(i)) ask(i, settings);
      if (!wait_settled()) break;
    }
    const pool::PoolStatus now = bridge_.status();
    if (now.level == "none") break;
    // The first round ran classic while the generation was made, so no modules were learned then.
    if (now.level != "compiled" || now.generation == generation) break;
    generation = now.generation;
  }
  const pool::PoolStatus now = bridge_.status();
  const bool warm = now.level != "none" && now.level != "warming";
  if (!warm) {
    found.unavailable = now.level_reason.empty() ? "it does not become warm" : now.level_reason;
  } else if (now.reset != now.reset_asked) {
    found.unavailable = now.reset_reason;
    if (!now.level_reason.empty()) found.unavailable += " (" + now.level_reason + ")";
  }
  // The level of an arm that may be recommended is the one that counts.
  found.level = now.level;
  if (arm == Arm::fork || (arm == Arm::rewind && warm)) {
    findings_.learned = now.learned;
    findings_.level = warm ? now.level : "none";
    findings_.level_reason = warm ? now.level_reason : found.unavailable;
  }
  return found.unavailable.empty();
}

void Trial::compare_answers(Arm arm, ArmFindings& found) {
  // An answer to HEAD shows next to nothing.
  std::size_t requests = 0;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    requests += is_compared(i) && plan_.requests[i].method != "HEAD" ? 1 : 0;
  }
  const std::size_t wanted = requests == 0 ? 0 : (kPairsMin + requests - 1) / requests;
  const std::size_t rounds = std::max(kRoundsMin, wanted);
  const auto enough =
      loop::system_clock().now() + std::chrono::milliseconds(plan_.timeout) / kTimeShare;
  for (std::size_t round = 0; round < rounds; ++round) {
    if (round > 0 && loop::system_clock().now() > enough) return;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (!is_compared(i)) continue;
      // While a worker is replaced, a request may run classic: try once more.
      if (!compare_once(arm, i, found) && wait_settled()) compare_once(arm, i, found);
      if (!bridge_.stopped().empty()) return;
    }
  }
}

// False: no warm worker took it, so there was nothing to compare.
bool Trial::compare_once(Arm arm, std::size_t request, ArmFindings& found) {
  const config::ProgramSettings classic_settings = settings_of(plan_, Arm::classic);
  const Heard classic = ask(request, classic_settings);
  const Heard warm = ask(request, strict(settings_of(plan_, arm, launch_)));
  if (!classic.complete || !warm.complete || !warm.warm) return false;
  const std::string uri =
      to_string(plan_.requests[request]).substr(plan_.requests[request].method.size() + 1);
  const compare::Subject subject{.unix_ms = loop::system_clock().unix_ms(),
                                 .arm = arm,
                                 .method = plan_.requests[request].method,
                                 .uri = uri};
  const std::uint64_t same = record_.same(), masked = record_.masked();
  const std::uint64_t different = record_.different();
  const compare::Answer first = answer_of(classic), second = answer_of(warm);
  for (const pid_t pid : bridge_.status().worker_pids) {
    found.names_pid |= holds_pid(warm.output, pid) && !holds_pid(classic.output, pid);
  }
  if (record_.look(subject, first, second) == compare::Look::needs_control) {
    const Heard control = ask(request, classic_settings);
    if (!control.complete) return true;
    record_.conclude(subject, first, second, answer_of(control));
  }
  found.same += record_.same() - same;
  found.masked += record_.masked() - masked;
  found.different += record_.different() - different;
  if (record_.different() > different && found.differences.size() < kDifferencesKept) {
    found.differences.push_back(record_.differences().back());
  }
  return true;
}

void Trial::take_times(Arm arm, ArmFindings& found) {
  found.times.assign(records_.size(), {});
  std::vector<std::vector<Microseconds>> samples(records_.size());
  const config::ProgramSettings settings = settings_of(plan_, arm, launch_);
  const auto enough =
      loop::system_clock().now() + std::chrono::milliseconds(plan_.timeout) / kTimeShare;
  // Round 0 is not counted: it forks the workers that are to be ready for the rest.
  for (std::size_t round = arm == Arm::classic ? 1 : 0;
       round <= plan_.runs && bridge_.stopped().empty(); ++round) {
    if (round > 1 && loop::system_clock().now() > enough) break;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (!is_compared(i)) continue;
      // A process that is started ahead of need gets the time that it would have on an idle site.
      if (findings_.level == "booted" && arm == Arm::fork) {
        bridge_.run_until(kSettleMax, [this] { return bridge_.status().idle > 0; });
      }
      const Heard heard = ask(i, settings);
      const bool counts = round > 0 && heard.complete && heard.warm == (arm != Arm::classic);
      if (counts) samples[i].push_back(heard.time);
    }
  }
  for (std::size_t i = 0; i < samples.size(); ++i) found.times[i] = times_of(std::move(samples[i]));
}

void Trial::take_status(Arm arm, ArmFindings& found) {
  const pool::PoolStatus now = bridge_.status();
  for (std::uint32_t reason = 1; reason < policy::kRetiredMaxRequests && arm != Arm::fork;
       ++reason) {
    const std::uint64_t workers = now.retirements->counted(reason) - retired_before_[reason];
    retired_before_[reason] += workers;
    if (workers == 0) continue;
    found.retired.push_back(
        {std::string(policy::retirement_name(reason)), now.retirements->last_why(reason), workers});
  }
  if (arm != Arm::rewind) return;
  found.verified = now.rewinds->verified();
  found.verify_differences = now.rewinds->differences();
  found.rewind_pages = now.rewinds->pages().p50;
  found.rewind_us = now.rewinds->microseconds().p50;
}

void Trial::take_memory(ArmFindings& found) {
  const pool::PoolStatus now = bridge_.status();
  nlohmann::json status;
  status["programs"] = {{{"zygote_pid", now.zygote_pid}, {"worker_pids", now.worker_pids}}};
  admin::add_memory(status);
  const nlohmann::json& memory = status["programs"][0]["memory"];
  if (memory.contains("zygote_kib")) found.zygote_kib = memory["zygote_kib"].get<std::uint64_t>();
  // The worker with the most memory has served.
  for (const auto& [pid, kib] : memory["workers_kib"].items()) {
    found.worker_kib = std::max(found.worker_kib.value_or(0), kib.get<std::uint64_t>());
  }
}

}  // namespace

Findings run_trial(const TrialPlan& plan, const Progress& progress) {
  const auto begin = loop::system_clock().now();
  Findings findings;
  findings.program = plan.program;
  findings.runs = plan.runs;
  findings.settings_env = plan.settings_env;
  for (const AskedRequest& request : plan.requests) findings.requests.push_back({request, 0, {}});
  adopt_orphans();
  auto trial = std::make_unique<Trial>(plan, progress, findings);
  trial->run();
  trial.reset();
  end_children();
  findings.took =
      std::chrono::duration_cast<std::chrono::milliseconds>(loop::system_clock().now() - begin);
  return findings;
}

}  // namespace cli
