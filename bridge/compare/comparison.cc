#include "compare/comparison.h"

#include <algorithm>

namespace compare {

Comparison& Comparisons::of(const std::string& program) {
  auto found = by_program_.find(program);
  if (found != by_program_.end()) {
    newest_first_.splice(newest_first_.begin(), newest_first_, found->second);
  } else {
    newest_first_.push_front({program, std::make_unique<Comparison>()});
    by_program_.emplace(program, newest_first_.begin());
    forget_oldest();
  }
  return *newest_first_.front().comparison;
}

const Comparison* Comparisons::find(const std::string& program) const {
  auto found = by_program_.find(program);
  return found == by_program_.end() ? nullptr : found->second->comparison.get();
}

void Comparisons::limit(std::size_t most) {
  most_ = std::max<std::size_t>(1, most);
  forget_oldest();
}

void Comparisons::forget_oldest() {
  while (newest_first_.size() > most_) {
    by_program_.erase(newest_first_.back().program);
    newest_first_.pop_back();
  }
}

}  // namespace compare
