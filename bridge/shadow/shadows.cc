#include "shadow/shadows.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace shadow {
namespace {

compare::Subject subject_of(const Task& task, compare::Arm arm, std::int64_t unix_ms) {
  return {.unix_ms = unix_ms, .arm = arm, .method = task.method, .uri = task.uri};
}

// A second run, seen as if a client had waited for it.
void count(compare::Figures& figures, const SecondRun::Outcome& outcome, base::TimePoint now) {
  compare::Observation seen = outcome.observation;
  const compare::Answer& answer = outcome.answer;
  seen.status = answer.status;
  if (answer.status >= 500) seen.failure = compare::Failure::status;
  if (answer.exit_code != 0) seen.failure = compare::Failure::exit_code;
  if (!answer.ended_by.empty()) seen.failure = compare::Failure::signal;
  if (answer.status == 0) seen.failure = compare::Failure::bad_answer;
  figures.add(seen, now);
}

}  // namespace

Shadows::Shadows(loop::Loop& loop, pool::Pools& pools, compare::Comparisons& comparisons,
                 OnCompared on_compared)
    : loop_(loop),
      pools_(pools),
      comparisons_(comparisons),
      on_compared_(std::move(on_compared)),
      pump_(loop, [this] { pump(); }) {}

void Shadows::add(Task task) {
  if (waiting_of(task.program) >= task.settings->shadow.queue) {
    comparisons_.of(task.program).shadow.skipped(compare::Skip::busy);
    return;
  }
  waiting_.push_back(std::move(task));
  pump_.schedule();
}

void Shadows::clear() {
  waiting_.clear();
  running_.clear();
}

std::size_t Shadows::waiting_of(const std::string& program) const {
  return static_cast<std::size_t>(
      std::count_if(waiting_.begin(), waiting_.end(),
                    [&program](const Task& task) { return task.program == program; }));
}

std::size_t Shadows::running_of(const std::string& program) const {
  return static_cast<std::size_t>(
      std::count_if(running_.begin(), running_.end(), [&program](const Comparing& comparing) {
        return !comparing.over && comparing.task.program == program;
      }));
}

void Shadows::pump() {
  for (Comparing& comparing : running_) comparing.was_run.reset();
  running_.remove_if([](const Comparing& comparing) { return comparing.over; });
  for (std::size_t i = 0; i < waiting_.size();) {
    if (running_of(waiting_[i].program) >= waiting_[i].settings->shadow.concurrent) {
      ++i;
      continue;
    }
    Task task = std::move(waiting_[i]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    begin(std::move(task));
  }
}

void Shadows::begin(Task task) {
  Comparing& comparing = running_.emplace_back();
  comparing.task = std::move(task);
  run(comparing, compare::Side::persistent,
      [this, &comparing](auto outcome) { on_persistent(comparing, std::move(outcome)); });
}

void Shadows::run(Comparing& comparing, compare::Side side, SecondRun::OnOver on_over) {
  comparing.was_run = std::move(comparing.run);
  comparing.run = std::make_unique<SecondRun>(loop_, pools_.of(comparing.task.program),
                                              comparing.task, side, std::move(on_over));
}

void Shadows::on_persistent(Comparing& comparing, SecondRun::Outcome outcome) {
  const Task& task = comparing.task;
  compare::Comparison& comparison = comparisons_.of(task.program);
  if (!outcome.has_run) {
    comparison.shadow.skipped(compare::Skip::not_warm);
    return end(comparing);
  }
  const compare::Arm arm = outcome.observation.arm;
  count(comparison.shadow_arms[std::size_t(arm)], outcome, loop_.now());
  comparison.shadow.keep(task.settings->shadow.differences);
  const auto look =
      comparison.shadow.look(subject_of(task, arm, loop_.unix_ms()), task.classic, outcome.answer);
  if (look == compare::Look::done) {
    tell(task, compare::Match::same);
    return end(comparing);
  }
  comparing.arm = arm;
  comparing.persistent = std::move(outcome.answer);
  run(comparing, compare::Side::classic,
      [this, &comparing](auto control) { on_control(comparing, std::move(control)); });
}

void Shadows::on_control(Comparing& comparing, SecondRun::Outcome outcome) {
  const Task& task = comparing.task;
  compare::Comparison& comparison = comparisons_.of(task.program);
  // Nothing is to be learned from another version of the program.
  if (!outcome.has_run || comparison.version != task.version) {
    comparison.shadow.skipped(compare::Skip::failed);
    return end(comparing);
  }
  const bool differs =
      comparison.shadow.conclude(subject_of(task, comparing.arm, loop_.unix_ms()), task.classic,
                                 comparing.persistent, outcome.answer);
  if (differs) {
    const auto& found = comparison.shadow.differences();
    base::log_warn("program={} shadow: {} {} answered otherwise by {} than by classic: {}",
                   task.program, task.method, base::printable(task.uri, 200),
                   compare::to_string(comparing.arm), found.empty() ? "" : found.back().what);
  }
  tell(task, differs ? compare::Match::different : compare::Match::masked);
  end(comparing);
}

void Shadows::tell(const Task& task, compare::Match match) {
  if (comparisons_.of(task.program).promotion.era() == task.era) on_compared_(task.program, match);
}

void Shadows::end(Comparing& comparing) {
  comparing.over = true;
  pump_.schedule();
}

}  // namespace shadow
