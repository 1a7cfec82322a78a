#include "admin/comparison_json.h"

#include <fmt/chrono.h>

#include "admin/figures.h"

namespace admin {
namespace {

using nlohmann::json;

std::string utc(std::int64_t unix_ms) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(static_cast<std::time_t>(unix_ms / 1000)));
}

json quantiles_json(const compare::Histogram& histogram) {
  return {{"p50", histogram.quantile(0.5)},
          {"p90", histogram.quantile(0.9)},
          {"p95", histogram.quantile(0.95)},
          {"p99", histogram.quantile(0.99)},
          {"p99_9", histogram.quantile(0.999)},
          {"max", histogram.max()},
          {"mean", histogram.mean()}};
}

json failures_json(const compare::Figures& figures) {
  json failures = json::object();
  for (std::size_t i = 1; i < compare::kFailures; ++i) {
    const std::uint64_t count = figures.failed(static_cast<compare::Failure>(i));
    if (count > 0) failures[std::string(compare::kFailureNames[i])] = count;
  }
  return failures;
}

json classes_json(const compare::Figures& figures) {
  json classes = json::object();
  if (figures.status_class(0) > 0) classes["none"] = figures.status_class(0);
  for (unsigned i = 1; i <= 5; ++i) {
    if (figures.status_class(i) > 0) classes[fmt::format("{}xx", i)] = figures.status_class(i);
  }
  return classes;
}

json recent_json(const compare::Figures& figures, base::TimePoint now) {
  const compare::Figures::Recent recent = figures.recent(now);
  const double seconds = std::chrono::duration<double>(recent.span).count();
  const auto count = static_cast<double>(recent.latency.count());
  return {{"requests_per_s", seconds > 0 ? count / seconds : 0.0},
          {"p50_us", recent.latency.quantile(0.5)},
          {"p95_us", recent.latency.quantile(0.95)},
          {"p99_us", recent.latency.quantile(0.99)}};
}

json figures_json(const compare::Figures& figures, base::TimePoint now) {
  json arm = {{"failures", failures_json(figures)},
              {"status", classes_json(figures)},
              {"latency_us", quantiles_json(figures.latency())},
              {"queue_us", quantiles_json(figures.queue())},
              {"cpu_us", quantiles_json(figures.cpu())},
              {"recent", recent_json(figures, now)}};
  add_figures(arm, arm_figures(), figures);
  return arm;
}

void add_masks(json& list, const compare::Masks& masks, const char* in) {
  for (const compare::Mask& mask : masks.all()) {
    list.push_back({{"in", in},
                    {"before", mask.before},
                    {"after", mask.after},
                    {"form", mask.form},
                    {"used", mask.used}});
  }
}

json differences_json(const compare::ShadowRecord& shadow) {
  json list = json::array();
  for (const compare::Difference& difference : shadow.differences()) {
    list.push_back({{"id", difference.id},
                    {"at", utc(difference.unix_ms)},
                    {"arm", compare::to_string(difference.arm)},
                    {"method", difference.method},
                    {"uri", difference.uri},
                    {"what", difference.what},
                    {"diff", difference.diff}});
  }
  return list;
}

json skipped_json(const compare::ShadowRecord& shadow) {
  json skipped = json::object();
  for (std::size_t i = 0; i < compare::kSkips; ++i) {
    const std::uint64_t count = shadow.skips(static_cast<compare::Skip>(i));
    if (count > 0) skipped[std::string(compare::kSkipNames[i])] = count;
  }
  return skipped;
}

}  // namespace

json arms_json(const std::array<compare::Figures, compare::kArms>& figures, base::TimePoint now) {
  json arms = json::object();
  for (std::size_t i = 0; i < compare::kArms; ++i) {
    if (figures[i].requests() == 0) continue;
    arms[std::string(compare::kArmNames[i])] = figures_json(figures[i], now);
  }
  return arms;
}

json shadow_json(const compare::Comparison& comparison, Detail detail, base::TimePoint now) {
  const compare::ShadowRecord& shadow = comparison.shadow;
  json skipped = skipped_json(shadow);
  if (shadow.compared() == 0 && skipped.empty()) return nullptr;
  json found = {
      {"compared", shadow.compared()},
      {"same", shadow.same()},
      {"masked", shadow.masked()},
      {"different", shadow.different()},
      {"skipped", std::move(skipped)},
      {"masks_known", shadow.head_masks().all().size() + shadow.body_masks().all().size()},
      {"arms", arms_json(comparison.shadow_arms, now)}};
  if (detail == Detail::brief) return found;
  found["masks"] = json::array();
  add_masks(found["masks"], shadow.head_masks(), "head");
  add_masks(found["masks"], shadow.body_masks(), "body");
  found["differences"] = differences_json(shadow);
  return found;
}

json promotion_json(const compare::Promotion& promotion) {
  if (promotion.rule().after == 0) return nullptr;
  json steps = json::array();
  for (const compare::Step& step : promotion.steps()) {
    steps.push_back({{"at", utc(step.unix_ms)},
                     {"from", compare::to_string(step.from)},
                     {"to", compare::to_string(step.to)},
                     {"why", step.why}});
  }
  return {{"stage", compare::to_string(promotion.stage())},
          {"held", promotion.held()},
          {"outlook", promotion.outlook()},
          {"steps", std::move(steps)}};
}

}  // namespace admin
