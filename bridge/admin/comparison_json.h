// What is known about a program's arms, its shadow and its promotion, as `status` shows it.
#pragma once

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "compare/comparison.h"

namespace admin {

// brief: without what is long and rarely changes (masks, differences and their diffs). A page that
// refreshes each second asks for that, and for the rest when the counts show that there is more.
enum class Detail { full, brief };

// By the arm's name; only arms with requests. now: the time from which "recent" looks back.
nlohmann::json arms_json(const std::array<compare::Figures, compare::kArms>& figures,
                         base::TimePoint now);

// null if nothing was ever drawn for the shadow.
nlohmann::json shadow_json(const compare::Comparison& comparison, Detail detail,
                           base::TimePoint now);

// null if there is no rule.
nlohmann::json promotion_json(const compare::Promotion& promotion);

}  // namespace admin
