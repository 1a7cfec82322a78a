#include "pool/turn.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "pool/stand_in.h"

namespace pool {

Turn::Turn(Job job, RunClient& client, base::TimePoint now)
    : job_(job), client_(&client), since_(now) {}

Turn::~Turn() = default;

void Turn::let_stand_in(std::unique_ptr<StandIn> stand_in) {
  BRIDGE_ASSERT(state_ == State::running);
  stand_in_ = std::move(stand_in);
}

void Turn::stand_in_is_over() {
  stand_in_.reset();
}

void Turn::set_deadline(loop::Loop& loop, base::Duration timeout, std::function<void()> on_late) {
  BRIDGE_ASSERT(state_ == State::queued);
  deadline_ = std::make_unique<loop::Timer>(loop, std::move(on_late));
  deadline_->start(timeout);
}

void Turn::give_to(worker::Worker& worker, compare::Arm arm) {
  BRIDGE_ASSERT(state_ == State::queued);
  state_ = State::running;
  deadline_.reset();
  worker_ = &worker;
  arm_ = arm;
}

void Turn::refuse(const cgi::Refusal& refusal) {
  BRIDGE_ASSERT(state_ == State::queued);
  state_ = State::over;
  deadline_.reset();
  client_->on_refused(refusal);
}

void Turn::begin(base::TimePoint now) {
  BRIDGE_ASSERT(state_ == State::running);
  started_at_ = now;
  if (++starts_ == 1) client_->on_started(arm_);
}

void Turn::take_back() {
  BRIDGE_ASSERT(state_ == State::running);
  state_ = State::queued;
  worker_ = nullptr;
}

worker::Printed Turn::end(const worker::Ending& ending) {
  BRIDGE_ASSERT(state_ == State::running);
  state_ = State::over;
  worker_ = nullptr;
  const auto stand_in = std::move(stand_in_);
  return client_->on_ended(stand_in != nullptr ? stand_in->ending(ending) : ending);
}

pid_t Turn::pid() const {
  if (worker_ == nullptr) return -1;
  return stand_in_ != nullptr ? stand_in_->pid_instead_of(worker_->pid()) : worker_->pid();
}

std::optional<bool> Turn::suits(std::uint64_t generation) const {
  return judged_for_ == generation ? std::optional(suits_) : std::nullopt;
}

void Turn::judge(std::uint64_t generation, bool suits) {
  judged_for_ = generation;
  suits_ = suits;
}

std::chrono::microseconds Turn::queue_time(base::TimePoint now) const {
  const base::TimePoint until = state_ == State::queued ? now : std::max(started_at_, since_);
  return std::chrono::duration_cast<std::chrono::microseconds>(until - since_);
}

}  // namespace pool
