// From shadow over split to persistent by rule, and back at once.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "compare/figures.h"
#include "compare/histogram.h"
#include "compare/namespace.h"

namespace compare {

enum class Stage { shadow, split, persistent };
inline constexpr std::array<std::string_view, 3> kStageNames = {"shadow", "split", "persistent"};

constexpr std::string_view to_string(Stage stage) {
  return kStageNames[std::size_t(stage)];
}

// As in the settings (config::ProgramSettings::Promote).
struct PromotionRule {
  std::uint64_t after = 0;        // requests of a stage before the next; 0: no promotion
  std::uint64_t max_diff = 0;     // differences that are borne
  double max_error_delta = 0.1;   // percentage points of errors beyond classic's
  double max_latency_delta = 25;  // per cent that the p95 may be above classic's; 0: not looked at

  bool operator==(const PromotionRule&) const = default;
};

// One step of a program. From shadow to shadow: it has been found not to go on.
struct Step {
  Stage from, to;
  std::string why;  // with its figures: "1000 compared, 0 different; errors 0.0 % against 0.1 %"
  std::int64_t unix_ms = 0;
};

// Of one program. A stage is left upwards once `after` requests were fine in it: compared ones in
// shadow, persistent ones in split. It is left back to shadow at once, and held there until reset()
// (the program, its settings or the operator's mind changed), when the rule is broken:
// - more than max_diff of a stage's compared requests differ;
// - the persistent side makes more errors than it may in `after` requests, counted anew every
//   `after`. The allowance is classic's own rate of errors (of all that it answered since reset())
//   plus max_error_delta, and, if classic makes errors at all, three standard deviations of what
//   chance would give two equal sides; it is not waited for the end of the `after` requests;
// - the persistent side is slower: looked at every 100 of its requests, and at a stage's end. Its
// p95
//   in the present `after` may be max_latency_delta above classic's of all since reset(), and is
//   believed to be once two standard deviations of a p95 of so few are not the reason. Fewer than
//   20 of either side say nothing.
class Promotion {
 public:
  // Begins anew at `first` (of a mode: shadow, or split) under rule. Steps are kept.
  void reset(const PromotionRule& rule, Stage first);

  // A client's request is over. Errors of both sides and the latency of all but errors count.
  std::optional<Step> on_answer(const Observation& observation, std::int64_t unix_ms);
  // The shadow has compared one.
  std::optional<Step> on_compared(bool different, std::int64_t unix_ms);

  Stage stage() const { return stage_; }
  bool held() const { return held_; }  // went back, and stays
  // Another number since each reset(): what was begun before one counts for nothing behind it.
  std::uint64_t era() const { return era_; }
  const PromotionRule& rule() const { return rule_; }
  // What it waits for, or why it is held, as a sentence for status.
  std::string outlook() const;
  const std::deque<Step>& steps() const { return steps_; }  // the newest last, at most 20

 private:
  struct SideFigures {
    std::uint64_t requests = 0, errors = 0;
    Histogram latency;
  };
  std::optional<Step> judge(std::int64_t unix_ms);
  std::optional<Step> back(const std::string& why, std::int64_t unix_ms);
  std::optional<Step> go(Stage to, const std::string& why, std::int64_t unix_ms);
  std::uint64_t errors_borne() const;
  bool too_slow() const;
  std::string error_rates() const;
  std::string latencies() const;

  PromotionRule rule_;
  Stage stage_ = Stage::shadow;
  bool held_ = false;
  std::uint64_t era_ = 0;
  std::uint64_t compared_ = 0, differences_ = 0;  // in this stage
  SideFigures classic_;                           // since reset()
  SideFigures persistent_;                        // of the present `after` requests
  std::deque<Step> steps_;
};

}  // namespace compare
