#include "compare/promotion.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace compare {
namespace {

constexpr std::size_t kStepsKept = 20;
constexpr std::uint64_t kLatencyEvery = 100;
constexpr std::uint64_t kLatencyLeast = 20;  // a p95 of fewer means nothing

std::string number(std::uint64_t count) {
  return std::to_string(count);
}

std::string rounded(double value, const char* format) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string counted(std::uint64_t count, std::string_view what) {
  return number(count) + ' ' + std::string(what) + (count == 1 ? "" : "s");
}

std::string in_ms(std::uint64_t microseconds) {
  return rounded(double(microseconds) / 1000, "%.2f ms");
}

double per_cent_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * double(part) / double(whole);
}

}  // namespace

void Promotion::reset(const PromotionRule& rule, Stage first) {
  std::deque<Step> steps = std::move(steps_);
  const std::uint64_t era = era_ + 1;
  *this = Promotion();
  steps_ = std::move(steps);
  era_ = era;
  rule_ = rule;
  stage_ = first;
}

std::optional<Step> Promotion::on_answer(const Observation& observation, std::int64_t unix_ms) {
  if (rule_.after == 0 || held_) return std::nullopt;
  SideFigures& side = side_of(observation.arm) == Side::classic ? classic_ : persistent_;
  ++side.requests;
  if (is_error(observation.failure)) ++side.errors;
  if (observation.failure == Failure::none) {
    side.latency.add(std::uint64_t(std::max<std::int64_t>(0, observation.latency.count())));
  }
  if (&side == &classic_ || stage_ == Stage::shadow) return std::nullopt;
  return judge(unix_ms);
}

// Called after each request of the persistent side.
std::optional<Step> Promotion::judge(std::int64_t unix_ms) {
  if (persistent_.errors > errors_borne()) {
    return back(counted(persistent_.errors, "error") + " in " +
                    counted(persistent_.requests, "persistent request") + ", " +
                    number(errors_borne()) + " are accepted in " + number(rule_.after) + " (" +
                    error_rates() + ')',
                unix_ms);
  }
  bool full = persistent_.requests >= rule_.after;
  if ((full || persistent_.requests % kLatencyEvery == 0) && too_slow()) {
    return back(latencies() + ", " + rounded(rule_.max_latency_delta, "%g %% more are accepted"),
                unix_ms);
  }
  if (!full) return std::nullopt;
  std::string why = counted(persistent_.requests, "persistent request") + "; " + error_rates() +
                    "; " + latencies();
  persistent_ = {};
  if (stage_ == Stage::persistent) return std::nullopt;
  return go(Stage::persistent, why, unix_ms);
}

std::optional<Step> Promotion::on_compared(bool different, std::int64_t unix_ms) {
  if (rule_.after == 0 || held_) return std::nullopt;
  ++compared_;
  if (different) ++differences_;
  std::string figures = number(compared_) + " compared, " + number(differences_) + " different";
  if (differences_ > rule_.max_diff) {
    return back(figures + ", " + number(rule_.max_diff) + " are accepted", unix_ms);
  }
  if (stage_ != Stage::shadow || compared_ < rule_.after) return std::nullopt;
  return go(Stage::split, figures, unix_ms);
}

// How many errors the persistent side may have in rule_.after requests.
std::uint64_t Promotion::errors_borne() const {
  double requests = double(rule_.after);
  double rate = per_cent_of(classic_.errors, classic_.requests) / 100;
  double chance = 0;
  if (classic_.errors > 0) {
    chance =
        3 * std::sqrt(requests * rate * (1 - rate) * (1 + requests / double(classic_.requests)));
  }
  return std::uint64_t(requests * (rate + rule_.max_error_delta / 100) + chance + 1e-9);
}

bool Promotion::too_slow() const {
  std::uint64_t count = persistent_.latency.count();
  if (rule_.max_latency_delta <= 0 || count < kLatencyLeast) return false;
  if (classic_.latency.count() < kLatencyLeast) return false;
  // Among `count` values, the share below the true p95 varies by this much.
  double doubt = 2 * std::sqrt(0.95 * 0.05 / double(count));
  double most = double(classic_.latency.quantile(0.95)) * (1 + rule_.max_latency_delta / 100);
  return double(persistent_.latency.quantile(0.95 - doubt)) > most;
}

std::optional<Step> Promotion::back(const std::string& why, std::int64_t unix_ms) {
  held_ = true;
  return go(Stage::shadow, why, unix_ms);
}

std::optional<Step> Promotion::go(Stage to, const std::string& why, std::int64_t unix_ms) {
  steps_.push_back({stage_, to, why, unix_ms});
  if (steps_.size() > kStepsKept) steps_.pop_front();
  stage_ = to;
  compared_ = differences_ = 0;
  persistent_ = {};
  return steps_.back();
}

std::string Promotion::error_rates() const {
  return "errors " + rounded(per_cent_of(persistent_.errors, persistent_.requests), "%.2f %%") +
         " against classic's " +
         rounded(per_cent_of(classic_.errors, classic_.requests), "%.2f %%");
}

std::string Promotion::latencies() const {
  return "p95 " + in_ms(persistent_.latency.quantile(0.95)) + " against classic's " +
         in_ms(classic_.latency.quantile(0.95));
}

std::string Promotion::outlook() const {
  if (rule_.after == 0) return "no promotion";
  if (held_) {
    return "held in shadow: " + steps_.back().why +
           "; begins anew when the program, its settings or its mode is changed";
  }
  switch (stage_) {
    case Stage::shadow:
      return number(compared_) + " of " + counted(rule_.after, "request") +
             " compared before split, " + number(differences_) + " different";
    case Stage::split:
      return number(persistent_.requests) + " of " + counted(rule_.after, "persistent request") +
             " before persistent; " + error_rates();
    case Stage::persistent:
      return "persistent; " + error_rates() + " in the last " +
             counted(persistent_.requests, "request");
  }
  return "";
}

}  // namespace compare
