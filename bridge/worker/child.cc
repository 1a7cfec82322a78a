#include "worker/child.h"

#include <signal.h>

#include "base/assert.h"

namespace worker {

Child::Child(loop::Loop& loop, Processes& processes, base::Duration grace, ChildOwner& owner)
    : loop_(loop), processes_(processes), grace_(grace), owner_(owner) {}

Child::~Child() {
  if (!is_owned() || is_over()) return;
  processes_.signal_group(pid_, SIGKILL);
  processes_.abandon(pid_);
}

void Child::own(pid_t pid) {
  BRIDGE_ASSERT(!is_owned());
  pid_ = pid;
  processes_.expect(pid_, [this](const Death& death) {
    dead_ = true;
    owner_.on_death(death);
  });
}

void Child::terminate() {
  BRIDGE_ASSERT(is_owned() && !dead_ && !terminating());
  exit_timer_.reset();
  processes_.hold(pid_);
  processes_.signal_group(pid_, SIGTERM);
  grace_timer_ = std::make_unique<loop::Timer>(loop_, [this] { kill_group(); });
  grace_timer_->start(grace_);
}

// The leader is still there, if only as a zombie, so the group's number has not been reused.
void Child::kill_group() {
  processes_.signal_group(pid_, SIGKILL);
  group_killed_ = true;
  if (dead_) owner_.on_over();
  processes_.release(pid_);
}

void Child::expect_exit() {
  exit_timer_ = std::make_unique<loop::Timer>(loop_, [this] {
    owner_.on_overdue();
    processes_.kill_one(pid_);
  });
  exit_timer_->start(kExitPatience);
}

}  // namespace worker
