#include "policy/next_generation.h"

namespace policy {
namespace {

bool is_due(const std::optional<base::TimePoint>& at, base::TimePoint now) {
  return at && now > *at;
}

// Nothing has changed: checks whether the time has come for what was put off.
Step step_in_time(const GenerationsView& view, base::TimePoint now) {
  if (!view.warm || view.upcoming) return Step::keep;
  if (view.demoted && is_due(view.trust_again_at, now)) return Step::trust_again;
  return is_due(view.try_again_at, now) ? Step::try_deeper : Step::keep;
}

}  // namespace

NextGeneration next_generation(const GenerationsView& view, base::TimePoint now) {
  NextGeneration next;
  next.is_new_version = view.other_file || view.loaded_file;
  next.is_change = next.is_new_version || view.other_settings;
  next.forgets_demotion = view.demoted && (next.is_change || !view.demoted_for_settings);
  const bool tries_again = view.cold && is_due(view.try_again_at, now);
  if (view.exists && !next.is_change && !next.forgets_demotion && !tries_again) {
    next.step = step_in_time(view, now);
    next.forgets_demotion = next.step == Step::trust_again;
    return next;
  }
  next.lets_go = next.is_new_version || !view.other_settings;
  next.step = !view.exists || next.is_new_version ? Step::begin_when_calm : Step::begin;
  return next;
}

}  // namespace policy
