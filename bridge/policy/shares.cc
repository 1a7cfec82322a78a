#include "policy/shares.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace policy {
namespace {

// One place in this many is kept for programs that run less than their share.
constexpr unsigned kKept = 8;

unsigned counts(unsigned running, bool waiting) {
  return running > 0 || waiting ? 1 : 0;
}

}  // namespace

// ---- one program's ----

Claim::Claim(Shares& shares, std::function<void()> on_room)
    : shares_(shares), on_room_(std::move(on_room)) {
  shares_.claims_.push_back(this);
}

Claim::~Claim() {
  stop_waiting();
  update(0, 0);
  std::erase(shares_.claims_, this);
}

void Claim::update(unsigned running, unsigned idle) {
  const bool freed = running < running_;
  const unsigned before = running_ + idle_;
  const unsigned gone = before > running + idle ? before - running - idle : 0;
  shares_.active_ -= counts(running_, waiting_);
  shares_.running_ += running - running_;
  shares_.idle_ += idle - idle_;
  running_ = running;
  idle_ = idle;
  shares_.active_ += counts(running_, waiting_);
  if (freed) shares_.tell_waiting();
  // Workers that have gone count towards those that had to go.
  yield_ = std::min(yield_ - std::min(yield_, gone), idle_);
  shares_.squeeze();
}

// The excess may have disappeared by itself.
unsigned Claim::to_yield() const {
  const unsigned limit = shares_.limit_;
  if (limit == 0 || shares_.workers() <= limit) return 0;
  return std::min(yield_, shares_.workers() - limit);
}

bool Claim::admitted() {
  if (shares_.admits(*this)) return true;
  if (waiting_) return false;
  shares_.active_ += 1 - counts(running_, waiting_);
  waiting_ = true;
  shares_.waiting_.push_back(this);
  shares_.waits_ += 1;
  return false;
}

void Claim::stop_waiting() {
  if (!waiting_) return;
  waiting_ = false;
  shares_.active_ -= 1 - counts(running_, waiting_);
  std::erase(shares_.waiting_, this);
  // Others may now have what was refused to them because of this claim.
  shares_.tell_waiting();
}

// ---- all together ----

void Shares::set_limit(unsigned limit) {
  if (limit_ == limit) return;
  limit_ = limit;
  squeeze();
  tell_waiting();
}

unsigned Shares::room() const {
  if (limit_ == 0) return std::numeric_limits<unsigned>::max();
  return limit_ > workers() ? limit_ - workers() : 0;
}

bool Shares::admits(const Claim& claim) const {
  if (limit_ == 0) return true;
  if (running_ >= limit_) return false;
  for (const Claim* other : waiting_) {
    if (other != &claim && other->running_ < claim.running_) return false;
  }
  if (limit_ - running_ > limit_ / kKept) return true;
  const unsigned active = active_ + 1 - counts(claim.running_, claim.waiting_);
  return claim.running_ < std::max(1u, limit_ / std::max(active, 2u));
}

// Tells those with the fewest first. Each asks for itself; those that still wait are told again.
void Shares::tell_waiting() {
  if (waiting_.empty()) return;
  std::vector<Claim*> told = waiting_;
  std::stable_sort(told.begin(), told.end(),
                   [](const Claim* a, const Claim* b) { return a->running_ < b->running_; });
  for (Claim* claim : told) claim->on_room_();
}

void Shares::offer_room() {
  if (!waiting_.empty()) return;
  std::vector<Claim*> told;
  std::copy_if(claims_.begin(), claims_.end(), std::back_inserter(told),
               [](const Claim* claim) { return claim->lacking_ > 0; });
  std::stable_sort(told.begin(), told.end(), [](const Claim* a, const Claim* b) {
    return a->running_ + a->idle_ < b->running_ + b->idle_;
  });
  unsigned left = room();
  for (Claim* claim : told) {
    if (left == 0) return;
    left -= std::min(left, claim->lacking_);
    claim->on_room_();
  }
}

void Shares::squeeze() {
  if (limit_ == 0 || workers() <= limit_) return;
  // Only when there are too many workers does this look at all claims.
  unsigned yielded = 0;
  for (const Claim* claim : claims_) yielded += claim->yield_;
  while (workers() - yielded > limit_) {
    const auto most = std::max_element(
        claims_.begin(), claims_.end(),
        [](const Claim* a, const Claim* b) { return a->idle_ - a->yield_ < b->idle_ - b->yield_; });
    if (most == claims_.end() || (*most)->idle_ == (*most)->yield_) return;
    if ((*most)->yield_++ == 0) (*most)->on_room_();
    yielded += 1;
  }
}

}  // namespace policy
