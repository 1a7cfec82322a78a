#include "policy/demotion.h"

#include "config/settings.h"

namespace policy {

void Demotion::begin(const std::string& why, const config::ProgramSettings& settings,
                     base::TimePoint now) {
  pause_ = backoff_.failed();
  stand(why, settings, now);
}

void Demotion::prove(const std::string& why, const config::ProgramSettings& settings,
                     base::TimePoint now) {
  is_proven_ = true;
  stand(why, settings, now);
}

void Demotion::stand(const std::string& why, const config::ProgramSettings& settings,
                     base::TimePoint now) {
  why_ = why;
  settings_ = settings;
  since_ = now;
}

void Demotion::forget() {
  backoff_.succeeded();
  try_again();
}

void Demotion::try_again() {
  why_.clear();
  is_proven_ = false;
}

bool Demotion::is_for(const config::ProgramSettings& settings) const {
  return config::same_generation(settings, settings_);
}

std::optional<base::TimePoint> Demotion::ends_at() const {
  if (!stands() || is_proven_) return std::nullopt;
  return since_ + pause_;
}

}  // namespace policy
