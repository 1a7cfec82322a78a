// Which process becomes which worker. The test says when those processes are ready, or gone.
#include "worker/ahead_starter.h"

#include <gtest/gtest.h>

#include "loop/timer.h"
#include "worker/channel.h"

namespace worker {
namespace {

using Words = std::vector<std::string>;

// A process that the starter made, as the test sees it: it lives as long as the starter keeps it.
class Process : public Forerunner {
 public:
  Process(int number, Words& told, bool& starts, StarterOwner& owner)
      : number_(number), told_(told), starts_(starts), owner_(owner) {}
  ~Process() override { told_.push_back(name() + " let go"); }

  base::Status start(const WarmProgram& program) override {
    if (!starts_) return base::Error{"no more processes"};
    told_.push_back(name() + " starts " + program.file);
    return base::Done{};
  }
  base::Status fork_worker(std::uint64_t, base::UniqueFd) override {
    return base::Error{"it forks nothing"};
  }
  base::Status verify_worker(std::uint64_t, pid_t) override { return base::Error{"nothing"}; }
  base::Status become_worker(std::uint64_t worker_id, base::UniqueFd channel_end) override {
    EXPECT_TRUE(channel_end);
    told_.push_back(name() + " becomes worker " + std::to_string(worker_id));
    return base::Done{};
  }
  pid_t pid() const override { return 100 + number_; }
  config::Level level() const override { return config::Level::booted; }
  base::Duration start_time() const override { return base::Duration(40 + number_); }
  config::Reset reset() const override { return config::Reset::fork; }
  const std::string& reset_reason() const override { return reason_; }

  void stand() { owner_.on_ready(); }
  void note(const std::string& text) { owner_.on_note(0, text); }
  void die(const std::string& why) { owner_.on_gone(why); }

 private:
  std::string name() const { return "process " + std::to_string(number_); }

  const int number_;
  Words& told_;
  bool& starts_;
  StarterOwner& owner_;
  const std::string reason_ = "it has threads";
};

class AheadStarterTest : public testing::Test, public StarterOwner, public StarterClient {
 protected:
  AheadStarterTest()
      : starter_(
            loop_, config::Reset::none, [this](StarterOwner& owner) { return make(owner); }, *this,
            *this) {}

  // StarterOwner
  void on_ready() override { told_.push_back("ready"); }
  void on_gone(const std::string& why) override { told_.push_back("gone: " + why); }
  void on_note(std::uint32_t, const std::string& text) override {
    told_.push_back("note: " + text);
  }

  // StarterClient
  void on_fork_failed(std::uint64_t id, const std::string& why) override {
    told_.push_back("no worker " + std::to_string(id) + ": " + why);
  }
  void on_verified(std::uint64_t, const Verdict&) override { ADD_FAILURE(); }

  std::unique_ptr<Forerunner> make(StarterOwner& owner) {
    const int number = static_cast<int>(made_.size()) + 1;
    auto process = std::make_unique<Process>(number, told_, starts_, owner);
    made_.push_back(process.get());
    return process;
  }

  bool start() {
    WarmProgram program;
    program.file = "node";
    return static_cast<bool>(starter_.start(program));
  }

  bool ask_for_worker(std::uint64_t id) {
    auto channel = make_channel().take();
    return static_cast<bool>(starter_.fork_worker(id, std::move(channel.second)));
  }

  // What was reported since the last call, at the end of the loop's turn.
  Words told() {
    loop::Timer turn(loop_, [this] { loop_.stop(); });
    turn.start(base::Duration(0));
    loop_.run();
    return std::exchange(told_, {});
  }

  loop::Loop loop_;
  Words told_;
  bool starts_ = true;
  std::vector<Process*> made_;
  AheadStarter starter_;
};

TEST_F(AheadStarterTest, is_ready_when_the_first_one_stands_and_says_what_that_one_bears) {
  ASSERT_TRUE(start());
  EXPECT_EQ(starter_.reset(), config::Reset::none);
  EXPECT_EQ(told(), Words{"process 1 starts node"});
  made_[0]->stand();
  EXPECT_EQ(told(), Words{"ready"});
  EXPECT_EQ(starter_.level(), config::Level::booted);
  EXPECT_EQ(starter_.reset(), config::Reset::fork);
  EXPECT_EQ(starter_.reset_reason(), "it has threads");
  EXPECT_EQ(starter_.start_time(), base::Duration(41));
  EXPECT_EQ(starter_.pid(), 101);
}

TEST_F(AheadStarterTest, gives_the_one_that_stands_to_the_first_worker_asked_for) {
  start();
  made_[0]->stand();
  told();
  EXPECT_TRUE(ask_for_worker(7));
  EXPECT_EQ(starter_.pid(), -1);
  EXPECT_EQ(told(), (Words{"process 1 becomes worker 7", "process 1 let go"}));
}

TEST_F(AheadStarterTest, launches_a_process_for_each_further_worker) {
  start();
  made_[0]->stand();
  ask_for_worker(1);
  told();
  EXPECT_TRUE(ask_for_worker(2));
  EXPECT_TRUE(ask_for_worker(3));
  EXPECT_EQ(starter_.pid(), -1) << "both are some worker's";
  EXPECT_EQ(told(), (Words{"process 2 starts node", "process 3 starts node"}));
  made_[2]->stand();
  EXPECT_EQ(told(), (Words{"process 3 becomes worker 3", "process 3 let go"}));
  made_[1]->stand();
  EXPECT_EQ(told(), (Words{"process 2 becomes worker 2", "process 2 let go"}));
}

TEST_F(AheadStarterTest, is_gone_if_the_first_one_never_stands) {
  start();
  told();
  made_[0]->die("it has no script");
  EXPECT_EQ(told(), (Words{"gone: it has no script", "process 1 let go"}));
}

TEST_F(AheadStarterTest, passes_on_what_each_one_notes) {
  start();
  made_[0]->note("loads a file");
  EXPECT_EQ(told(), (Words{"process 1 starts node", "note: loads a file"}));
}

TEST_F(AheadStarterTest, goes_on_when_the_one_that_stands_dies) {
  start();
  made_[0]->stand();
  told();
  made_[0]->die("killed");
  EXPECT_EQ(starter_.pid(), -1);
  EXPECT_EQ(told(), Words{"process 1 let go"});
  EXPECT_TRUE(ask_for_worker(1));
  EXPECT_EQ(told(), Words{"process 2 starts node"});
}

TEST_F(AheadStarterTest, says_which_worker_will_not_be_when_its_process_dies_on_the_way) {
  start();
  made_[0]->stand();
  ask_for_worker(1);
  ask_for_worker(2);
  told();
  made_[1]->die("killed");
  EXPECT_EQ(told(), (Words{"no worker 2: killed", "process 2 let go"}));
}

TEST_F(AheadStarterTest, says_so_when_no_process_can_be_launched) {
  start();
  made_[0]->stand();
  ask_for_worker(1);
  told();
  starts_ = false;
  EXPECT_FALSE(ask_for_worker(2));
  EXPECT_EQ(told(), (Words{"process 2 let go", "no worker 2: no more processes"}));
}

TEST_F(AheadStarterTest, does_not_start_if_the_first_launch_fails) {
  starts_ = false;
  EXPECT_FALSE(start());
  EXPECT_EQ(told(), Words{"process 1 let go"});
}

TEST_F(AheadStarterTest, compares_nothing) {
  start();
  EXPECT_FALSE(starter_.verify_worker(1, 101));
}

}  // namespace
}  // namespace worker
