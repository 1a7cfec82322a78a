#include "modules/learner.h"

#include "base/log.h"

namespace modules {

bool Learner::hear(std::string_view text, const Terms& terms) {
  const auto module = read_loaded_note(terms.language, text);
  if (!module || names_.size() >= kNamesMax) return false;
  if (known_.contains(module->name) || not_believed_.contains(module->name)) return false;
  const auto why = why_not_ahead(*module, terms.folders, terms.learn, terms.user);
  if (why && not_believed_.size() < kNamesMax) {
    base::log_info("program={}: {} is not loaded ahead: {}", program_, module->name,
                   base::printable(*why, 300));
    not_believed_.insert(module->name);
  }
  if (why) return false;
  add(module->name);
  has_more_ = true;
  if (names_.size() == kNamesMax) {
    base::log_warn("program={}: {} modules are loaded ahead, and no more: requests load the others",
                   program_, kNamesMax);
  }
  return true;
}

void Learner::add(const std::string& name) {
  if (known_.insert(name).second) names_.push_back(name);
}

void Learner::inherit(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (names_.size() < kNamesMax && is_module_name(name)) add(name);
  }
}

void Learner::begin_anew(Names names) {
  if (names == Names::go) {
    names_.clear();
    known_.clear();
  }
  not_believed_.clear();
  generations_ = 0;
  names_before_ = names_.size();
}

}  // namespace modules
