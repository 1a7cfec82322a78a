#include "worker/child.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>

#include "fakes/manual_loop.h"

namespace worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Records the calls.
class Written final : public Processes {
 public:
  std::string take() { return std::exchange(text_, {}); }
  void die() { on_death_({}); }

 private:
  void write(const std::string& what) { text_ += what + ' '; }
  base::Result<pid_t> launch(const LaunchSpec&) override { return base::Error{"not here"}; }
  void signal_group(pid_t, int number) override {
    write(number == SIGTERM ? "TERM" : number == SIGKILL ? "KILL" : "?");
  }
  void kill_one(pid_t) override { write("kill-one"); }
  void expect(pid_t, std::function<void(const Death&)> on_death) override {
    on_death_ = std::move(on_death);
  }
  bool expects(pid_t) const override { return on_death_ != nullptr; }
  void forget(pid_t) override { write("forget"); }
  void hold(pid_t) override { write("hold"); }
  void release(pid_t) override { write("release"); }
  void abandon(pid_t) override { write("abandon"); }
  bool is_living_child(pid_t) const override { return true; }
  Senders senders() const override { return Senders::unnamed; }

  std::string text_;
  std::function<void(const Death&)> on_death_;
};

class ChildTest : public testing::Test, public ChildOwner {
 protected:
  ChildTest() { child_->own(7); }

  // ChildOwner
  void on_death(const Death&) override { told_ += child_->is_over() ? "dead-over " : "dead "; }
  void on_over() override { told_ += "over "; }
  void on_overdue() override { told_ += "overdue "; }

  fakes::ManualLoop loop_;
  Written processes_;
  std::string told_;
  std::unique_ptr<Child> child_ =
      std::make_unique<Child>(loop_.loop(), processes_, seconds(3), *this);
};

TEST_F(ChildTest, is_over_with_its_death) {
  processes_.die();
  EXPECT_EQ(told_, "dead-over ");
  child_.reset();
  EXPECT_EQ(processes_.take(), "");
}

TEST_F(ChildTest, gets_term_and_after_the_grace_time_kill) {
  child_->terminate();
  EXPECT_TRUE(child_->terminating());
  EXPECT_EQ(processes_.take(), "hold TERM ");
  loop_.advance(milliseconds(2999));
  EXPECT_EQ(processes_.take(), "");
  loop_.advance(milliseconds(1));
  EXPECT_EQ(processes_.take(), "KILL release ");
  processes_.die();
  EXPECT_EQ(told_, "dead-over ");
}

TEST_F(ChildTest, keeps_its_pid_until_its_group_was_killed) {
  child_->terminate();
  processes_.die();
  EXPECT_EQ(told_, "dead ");
  processes_.take();
  loop_.advance(seconds(3));
  EXPECT_EQ(told_, "dead over ");
  EXPECT_EQ(processes_.take(), "KILL release ");
}

TEST_F(ChildTest, is_killed_alone_if_it_does_not_exit) {
  child_->expect_exit();
  loop_.advance(Child::kExitPatience);
  EXPECT_EQ(told_, "overdue ");
  EXPECT_EQ(processes_.take(), "kill-one ");
}

TEST_F(ChildTest, is_not_killed_if_it_need_not_exit_any_more_or_is_terminated) {
  child_->expect_exit();
  child_->expect_no_exit();
  loop_.advance(2 * Child::kExitPatience);
  EXPECT_EQ(told_, "");
  child_->expect_exit();
  child_->terminate();
  loop_.advance(2 * Child::kExitPatience);
  EXPECT_EQ(told_, "");
}

TEST_F(ChildTest, dies_with_its_owner) {
  child_.reset();
  EXPECT_EQ(processes_.take(), "KILL abandon ");
}

TEST_F(ChildTest, is_no_process_at_first) {
  Child none(loop_.loop(), processes_, seconds(3), *this);
  EXPECT_FALSE(none.is_owned());
  EXPECT_FALSE(none.is_over());
}

}  // namespace
}  // namespace worker
