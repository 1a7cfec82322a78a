// What a program executes in the middle of its requests, in a fake world.
#include "pool/stand_in.h"

#include <algorithm>
#include <csignal>
#include <stdexcept>

#include "unit/pool/pool_in_time.h"

namespace pool {
namespace {

class StandInTest : public PoolTest {
 protected:
  StandInTest() {
    world_.settings.workers.min = world_.settings.workers.max = 1;
    world_.warm(program_);
    executing().nature.executes = other_;
    executing().nature.exit_code = 1;  // which nobody is told
  }
  fakes::Process& worker_of(const std::string& script) {
    for (fakes::Process* worker : processes_.living(Kind::worker)) {
      if (worker->argument() == script) return *worker;
    }
    throw std::runtime_error("no worker of " + script);
  }
  fakes::Process& executing() { return worker_of(program_); }
  fakes::Process& standing_in() { return worker_of(other_); }
  std::string title() const { return program_ + " > " + other_; }
  PoolStatus other() {
    for (const PoolStatus& status : world_.pools().status()) {
      if (status.program == title()) return status;
    }
    return {};
  }
  // What it executes is warm, and its own worker, too.
  void warm_other() {
    processes_.nature.exit_code = 3;
    request();
    pass(seconds(1));
    request();  // a new worker comes for the one that has really executed it
    pass(seconds(1));
    executing().nature.executes = other_;
    ASSERT_EQ(other().idle, 1u);
  }

  const std::string other_ = world_.add_program("other.pl");
};

TEST_F(StandInTest, executes_it_itself_until_the_other_is_warm) {
  Client& client = request();
  pass(seconds(1));
  EXPECT_EQ(client.state(), State::ended);
  EXPECT_EQ(client.ending().app_status, 1u);
  EXPECT_EQ(other().requests, 0u);
  EXPECT_EQ(other().level, "compiled");
}

TEST_F(StandInTest, another_worker_takes_its_place_and_both_stay) {
  warm_other();
  const pid_t executing_pid = executing().pid(), other_pid = standing_in().pid();
  for (int i = 0; i < 3; ++i) {
    Client& client = request();
    pass(milliseconds(7));
    EXPECT_EQ(client.run().pid(), other_pid);
    pass(milliseconds(50));
    EXPECT_EQ(client.state(), State::ended);
    EXPECT_EQ(client.arm(), compare::Arm::rewind);
    EXPECT_EQ(client.ending().app_status, 3u);
  }
  EXPECT_EQ(executing().pid(), executing_pid);
  EXPECT_EQ(standing_in().pid(), other_pid);
  EXPECT_EQ(other().requests, 3u);
}

// Goal: a worker that only has to hear of the end, however late, is not taken for a program that
// goes on in the background.
TEST_F(StandInTest, has_no_process_once_it_has_ended) {
  warm_other();
  executing().nature.to_hear = milliseconds(1000);
  Client& client = request();
  pass(milliseconds(50));
  ASSERT_EQ(client.state(), State::running);
  EXPECT_EQ(other().busy, 0u);
  EXPECT_EQ(client.run().pid(), -1);
  pass(milliseconds(1000));
  EXPECT_EQ(client.state(), State::ended);
}

TEST_F(StandInTest, ends_with_the_request_of_a_client_that_has_left) {
  warm_other();
  standing_in().nature.to_answer = fakes::never;
  Client& client = request();
  pass(milliseconds(10));
  ASSERT_EQ(other().busy, 1u);
  client.leave();
  pass(milliseconds(10));
  EXPECT_EQ(other().busy, 0u);
  EXPECT_EQ(status().busy, 0u);
}

TEST_F(StandInTest, that_dies_in_the_request_is_what_the_client_hears_of) {
  warm_other();
  standing_in().nature.dies_in_request = fakes::kSegv;
  Client& client = request();
  pass(milliseconds(50));
  EXPECT_EQ(client.state(), State::ended);
  EXPECT_EQ(client.ending().app_status, 128u + SIGSEGV);
}

TEST_F(StandInTest, that_died_before_it_took_the_request_is_not_missed) {
  warm_other();
  executing().nature.passes_nothing = true;
  Client& client = request();
  pass(milliseconds(7));
  ASSERT_EQ(other().busy, 1u);
  standing_in().die(SIGKILL);
  pass(milliseconds(50));
  EXPECT_EQ(client.state(), State::ended);
  EXPECT_EQ(client.ending().app_status, 3u);  // of the worker that has then executed it itself
}

TEST_F(StandInTest, ends_if_the_worker_that_waits_dies) {
  warm_other();
  standing_in().nature.to_answer = fakes::never;
  Client& client = request();
  pass(milliseconds(10));
  executing().die(SIGKILL);
  pass(milliseconds(50));
  EXPECT_EQ(client.ending().app_status, 128u + SIGKILL);
  EXPECT_EQ(other().busy, 0u);
}

TEST_F(StandInTest, there_are_as_many_as_requests_run) {
  warm_other();
  standing_in().nature.to_answer = fakes::never;
  world_.settings.workers.max = 2;
  request();
  pass(milliseconds(100));
  ASSERT_EQ(other().busy, 1u);
  for (fakes::Process* worker : processes_.living(Kind::worker)) {
    const bool is_own = worker->argument() == program_ && !worker->in_request();
    if (is_own) worker->nature.executes = other_;
  }
  Client& second = request();
  pass(milliseconds(100));
  EXPECT_EQ(second.state(), State::ended);
  EXPECT_EQ(other().requests, 2u);
  EXPECT_EQ(status().busy, 1u);
}

TEST_F(StandInTest, a_program_has_places_for_eight_others) {
  for (unsigned i = 0; i < Pools::kExecutedMost + 2; ++i) {
    const std::string path = world_.add_program("other" + std::to_string(i) + ".pl");
    executing().nature.executes = path;
    request();
    pass(seconds(1));
    request();
    pass(seconds(1));
  }
  const auto all = world_.pools().status();
  EXPECT_EQ(all.size(), 1 + Pools::kExecutedMost);
}

}  // namespace
}  // namespace pool
