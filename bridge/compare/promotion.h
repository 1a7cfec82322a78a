// Promotes a program from shadow to split to persistent by a rule, and sends it back at once.
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
  std::uint64_t after = 0;        // requests in a stage before the next; 0: no promotion
  std::uint64_t max_diff = 0;     // differences that are accepted
  double max_error_delta = 0.1;   // percentage points of errors above classic's
  double max_latency_delta = 25;  // percent that the p95 may be above classic's; 0: not checked

  bool operator==(const PromotionRule&) const = default;
};

// One step of a program. From shadow to shadow: it was found unfit for promotion.
struct Step {
  Stage from, to;
  std::string why;  // with its figures: "1000 compared, 0 different; errors 0.0 % against 0.1 %"
  std::int64_t unix_ms = 0;
};

// The promotion of one program. It moves up a stage once `after` requests were fine: compared ones
// in shadow, persistent ones in split. It goes back to shadow at once, and is held there until
// reset() (after a change of the program, its settings or its mode), when the rule is broken:
// - more than max_diff of a stage's compared requests differ;
// - the persistent side makes more errors than it may in `after` requests; the count starts again
//   every `after`. The allowance is classic's own error rate (over all its answers since reset())
//   plus max_error_delta and, if classic makes errors at all, three standard deviations of what
//   chance would give two equal sides. Going back does not wait for the end of the `after`
//   requests;
// - the persistent side is slower, which is checked every 100 of its requests and at a stage's end.
//   Its p95 in the present `after` may be max_latency_delta above classic's p95 since reset(). It
//   counts as higher only beyond two standard deviations of a p95 of so few requests. Fewer than 20
//   latencies on either side prove nothing.
class Promotion {
 public:
  // Starts again at `first` (the stage of a mode: shadow or split) under rule. Steps are kept.
  void reset(const PromotionRule& rule, Stage first);

  // A client's request is over. Counts errors of both sides, and latencies except those of errors.
  std::optional<Step> on_answer(const Observation& observation, std::int64_t unix_ms);
  // The shadow has compared one request.
  std::optional<Step> on_compared(bool different, std::int64_t unix_ms);

  Stage stage() const { return stage_; }
  bool held() const { return held_; }  // sent back, and stays there
  // A new number after each reset(): what began before a reset() does not count after it.
  std::uint64_t era() const { return era_; }
  const PromotionRule& rule() const { return rule_; }
  // What it is waiting for, or why it is held, as a sentence for the status command.
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
  SideFigures persistent_;                        // in the present `after` requests
  std::deque<Step> steps_;
};

}  // namespace compare
