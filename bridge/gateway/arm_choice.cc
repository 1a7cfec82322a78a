#include "gateway/arm_choice.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/address_block.h"

namespace gateway {
namespace {

using compare::Side;
using config::Mode;

constexpr std::string_view kCookieSticky = "cookie:";

// RFC 3875 §4.1.18: the name of a request header's meta-variable.
std::string meta_variable(std::string_view header) {
  std::string name = "HTTP_";
  for (const char c : header) {
    name += c == '-' ? '_' : (c >= 'a' && c <= 'z') ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return name;
}

std::optional<Side> pinned(const config::ProgramSettings::Pin& pin,
                           const cgi::Variables& variables) {
  if (pin.header.empty()) return std::nullopt;
  const auto word = cgi::find(variables, meta_variable(pin.header));
  if (!word || !base::any_contains(pin.from, cgi::value_or_empty(variables, "REMOTE_ADDR"))) {
    return std::nullopt;
  }
  return compare::pinned_side(*word);
}

Side split_side(const config::ProgramSettings::Split& split, const cgi::Variables& variables,
                compare::Splitter& splitter) {
  if (split.sticky == "client") {
    return compare::sticky_side(cgi::value_or_empty(variables, "REMOTE_ADDR"), split.persistent);
  }
  if (split.sticky.starts_with(kCookieSticky)) {
    const auto name = std::string_view(split.sticky).substr(kCookieSticky.size());
    const auto value = compare::cookie_value(cgi::value_or_empty(variables, "HTTP_COOKIE"), name);
    if (value) return compare::sticky_side(*value, split.persistent);
  }
  return splitter.next(split.persistent);
}

bool draw_shadow(const config::ProgramSettings::Shadow& shadow, const cgi::Variables& variables,
                 compare::Comparison& comparison) {
  if (comparison.sampler.next(shadow.share) == Side::classic) return false;
  const auto method = cgi::value_or_empty(variables, "REQUEST_METHOD");
  if (std::find(shadow.methods.begin(), shadow.methods.end(), method) != shadow.methods.end()) {
    return true;
  }
  comparison.shadow.skipped(compare::Skip::method);
  return false;
}

compare::PromotionRule rule_of(const config::ProgramSettings::Promote& promote) {
  return {.after = promote.after,
          .max_diff = promote.max_diff,
          .max_error_delta = promote.max_error_delta,
          .max_latency_delta = promote.max_latency_delta};
}

bool is_promoted(const config::ProgramSettings& settings) {
  return settings.promote.after > 0 &&
         (settings.mode == Mode::shadow || settings.mode == Mode::split);
}

}  // namespace

Mode effective_mode(const config::ProgramSettings& settings, const compare::Promotion& promotion) {
  if (!is_promoted(settings)) return settings.mode;
  switch (promotion.stage()) {
    case compare::Stage::shadow:
      return Mode::shadow;
    case compare::Stage::split:
      return Mode::split;
    case compare::Stage::persistent:
      break;
  }
  return Mode::persistent;
}

void keep_promotion(const config::ProgramSettings& settings, std::uint64_t version,
                    compare::Comparison& comparison) {
  const bool other_version = std::exchange(comparison.version, version) != version;
  if (!is_promoted(settings)) {
    if (comparison.promoted_from) comparison.promotion.reset({}, compare::Stage::shadow);
    comparison.promoted_from.reset();
    return;
  }
  const auto first = settings.mode == Mode::split ? compare::Stage::split : compare::Stage::shadow;
  const compare::PromotionRule rule = rule_of(settings.promote);
  if (comparison.promoted_from == first && !other_version && comparison.promotion.rule() == rule) {
    return;
  }
  comparison.promoted_from = first;
  comparison.promotion.reset(rule, first);
}

ArmChoice choose_arm(const config::ProgramSettings& settings, const cgi::Variables& variables,
                     compare::Comparison& comparison) {
  if (const auto side = pinned(settings.pin, variables)) return {.side = *side};
  const Mode mode = effective_mode(settings, comparison.promotion);
  if (mode == Mode::classic) return {.side = Side::classic};
  if (mode == Mode::persistent) return {.side = Side::persistent};
  const Side side = mode == Mode::shadow
                        ? Side::classic
                        : split_side(settings.split, variables, comparison.splitter);
  // As long as a split may still be promoted, the requests that classic answers in it are compared,
  // too.
  const bool compared = mode == Mode::shadow || is_promoted(settings);
  return {.side = side,
          .shadowed = side == Side::classic && compared &&
                      draw_shadow(settings.shadow, variables, comparison)};
}

}  // namespace gateway
