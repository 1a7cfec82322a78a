// A program's pool through seconds and hours in a fake world.
#include "pool/pool.h"

#include "unit/pool/pool_in_time.h"

namespace pool {
namespace {

TEST_F(PoolTest, answers_classic_until_its_zygote_stands_and_warm_from_then_on) {
  Client& first = request();
  pass(milliseconds(10));
  EXPECT_EQ(first.state(), State::ended);
  EXPECT_EQ(first.arm(), compare::Arm::classic);
  pass(milliseconds(20));
  Client& second = request();
  pass(milliseconds(10));
  EXPECT_EQ(second.state(), State::ended);
  EXPECT_EQ(second.arm(), compare::Arm::rewind);
  EXPECT_EQ(status().level, "compiled");
}

// ---- the queue ----

class FullPoolTest : public PoolTest {
 protected:
  FullPoolTest() {
    world_.settings.workers.max = 1;
    world_.settings.queue = {.max = 2, .timeout = seconds(5)};
    world_.warm(program_);
    processes_.living(Kind::worker).front()->nature.to_answer = fakes::never;
  }
};

TEST_F(FullPoolTest, lets_a_request_wait_for_queue_timeout_to_the_millisecond) {
  request();
  Client& waits = request();
  pass(milliseconds(4999));
  EXPECT_EQ(waits.state(), State::waiting);
  EXPECT_EQ(waits.run().queue_time(), milliseconds(4999));
  pass(milliseconds(1));
  EXPECT_EQ(waits.state(), State::refused);
  EXPECT_EQ(waits.refusal().status, 503);
  EXPECT_EQ(status().refused_late, 1u);
}

TEST_F(FullPoolTest, refuses_at_once_what_queue_max_does_not_hold) {
  for (int i = 0; i < 3; ++i) request();
  Client& last = request();
  pass(milliseconds(0));
  EXPECT_EQ(last.state(), State::refused);
  EXPECT_EQ(status().waiting, 2u);
  EXPECT_EQ(status().refused_full, 1u);
}

TEST_F(PoolTest, runs_classic_whom_the_queue_does_not_hold_while_there_are_places) {
  world_.settings.queue.max = 0;
  world_.settings.workers.min = world_.settings.workers.spare = 0;
  world_.settings.reset = config::Reset::fork;
  world_.warm(program_);
  pass(minutes(3));
  ASSERT_EQ(processes_.count(Kind::worker), 0u);
  Client& client = request();
  pass(milliseconds(20));
  EXPECT_EQ(client.state(), State::ended);
  EXPECT_EQ(client.arm(), compare::Arm::classic);
}

TEST_F(FullPoolTest, serves_in_the_order_of_their_coming) {
  request();
  pass(milliseconds(1));
  fakes::Process* worker = processes_.living(Kind::worker).front();
  Client& first = request();
  Client& second = request();
  pass(milliseconds(1));
  EXPECT_EQ(first.state(), State::waiting);
  worker->nature.to_answer = milliseconds(5);
  worker->answer();
  pass(milliseconds(7));
  EXPECT_EQ(first.state(), State::ended);
  EXPECT_EQ(second.state(), State::running);
  pass(milliseconds(7));
  EXPECT_EQ(second.state(), State::ended);
}

TEST_F(FullPoolTest, gives_the_place_of_a_visitor_who_leaves_to_the_next) {
  Client& gone = request();
  Client& waits = request();
  pass(milliseconds(1));
  gone.leave();
  pass(seconds(1));
  EXPECT_EQ(waits.state(), State::ended);
}

// ---- a program's end ----

TEST_F(FullPoolTest, terminates_the_program_of_a_visitor_who_left_and_kills_it_after_kill_grace) {
  world_.settings.timeouts.kill_grace = seconds(3);
  fakes::Process* worker = processes_.living(Kind::worker).front();
  worker->nature.to_term = fakes::never;
  Client& client = request();
  pass(milliseconds(1));
  client.leave();
  pass(milliseconds(2999));
  EXPECT_TRUE(worker->lives());
  pass(milliseconds(1));
  EXPECT_FALSE(worker->lives());
  EXPECT_EQ(worker->wait_status(), SIGKILL);
}

TEST_F(PoolTest, tells_a_request_whose_worker_died_how_it_died) {
  world_.warm(program_);
  for (auto* worker : processes_.living(Kind::worker)) {
    worker->nature.dies_in_request = fakes::kSegv;
  }
  Client& client = request();
  pass(milliseconds(10));
  EXPECT_EQ(client.state(), State::ended);
  EXPECT_EQ(client.ending().app_status, 128u + SIGSEGV);
  EXPECT_EQ(client.told_over().size(), 1u);
}

TEST_F(PoolTest, gives_a_request_that_its_worker_never_began_to_another) {
  world_.settings.workers.spare = 2;
  world_.warm(program_);
  const auto workers = processes_.living(Kind::worker);
  ASSERT_GE(workers.size(), 2u);
  for (fakes::Process* worker : workers) {
    if (worker->requests() == 0) continue;
    worker->nature.to_answer = fakes::never;
  }
  Client& client = request();
  ASSERT_TRUE(world_.settle());
  for (fakes::Process* worker : workers) {
    if (worker->in_request()) worker->retire(RETIRED_CHILDREN, "a child that was not waited for");
  }
  pass(milliseconds(20));
  EXPECT_EQ(client.state(), State::ended);
  EXPECT_EQ(client.told_over().size(), 1u);
}

TEST_F(PoolTest, lets_a_worker_go_whose_request_said_nothing) {
  world_.settings.workers.max = 1;
  world_.warm(program_);
  fakes::Process* worker = processes_.living(Kind::worker).front();
  request().printed = {.output = false, .errors = false};
  pass(milliseconds(50));
  EXPECT_FALSE(worker->lives());
}

// ---- how many, and how long ----

TEST_F(PoolTest, keeps_as_many_workers_as_came_at_once_until_they_were_idle_for_idle_timeout) {
  world_.settings.workers = {.min = 1, .max = 8, .spare = 1, .idle_timeout = seconds(60)};
  world_.warm(program_);
  for (int i = 0; i < 6; ++i) request();
  pass(seconds(1));
  EXPECT_GE(processes_.count(Kind::worker), 6u);
  for (int i = 0; i < 58; ++i) {
    request();
    pass(seconds(1));
  }
  EXPECT_GE(processes_.count(Kind::worker), 6u);
  pass(seconds(120));
  EXPECT_EQ(processes_.count(Kind::worker), 1u);
}

TEST_F(PoolTest, lets_its_zygote_go_after_ten_minutes_without_a_request) {
  world_.warm(program_);
  pass(minutes(9));
  EXPECT_EQ(processes_.count(Kind::zygote), 1u);
  pass(minutes(1) + seconds(2));
  EXPECT_EQ(processes_.count_living(), 0u);
  world_.warm(program_);
  EXPECT_EQ(processes_.count(Kind::zygote), 1u);
}

TEST_F(PoolTest, replaces_a_worker_after_max_requests) {
  world_.settings.workers.max = 1;
  world_.settings.workers.max_requests = 10;
  world_.warm(program_);
  const fakes::Process* worker = processes_.living(Kind::worker).front();
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(worker->lives()) << i;
    request();
    pass(milliseconds(20));
  }
  EXPECT_FALSE(worker->lives());
  EXPECT_EQ(processes_.count(Kind::worker), 1u);
}

TEST_F(PoolTest, replaces_an_idle_worker_that_is_older_than_max_age) {
  world_.settings.workers.max = 1;
  world_.settings.workers.min = 1;
  world_.settings.workers.max_age = hours(1);
  world_.warm(program_);
  const fakes::Process* worker = processes_.living(Kind::worker).front();
  for (int i = 0; i < 53; ++i) {
    pass(minutes(1));
    request();
  }
  EXPECT_TRUE(worker->lives());
  pass(minutes(7) + seconds(2));
  EXPECT_FALSE(worker->lives());
}

TEST_F(PoolTest, shares_the_places_of_all_between_programs_that_are_as_busy) {
  world_.pools().set_limits({.workers_max = 4});
  const std::string other = world_.add_program("other.pl");
  world_.warm(program_);
  world_.warm(other);
  for (fakes::Process* worker : processes_.living(Kind::worker)) {
    worker->nature.to_answer = milliseconds(100);
  }
  processes_.nature.to_answer = milliseconds(100);
  world_.settings.queue.timeout = minutes(10);
  unsigned most = 0, most_of_other = 0;
  for (int i = 0; i < 40; ++i) {
    request();
    world_.request(other);
    pass(milliseconds(10));
    const auto mine = status(), theirs = world_.status(other);
    most = std::max(most, mine.busy + theirs.busy);
    most_of_other = std::max(most_of_other, theirs.busy);
  }
  EXPECT_LE(most, 4u);
  EXPECT_EQ(most_of_other, 2u);
  pass(seconds(30));
  for (const auto& client : world_.clients()) EXPECT_EQ(client->state(), State::ended);
}

}  // namespace
}  // namespace pool
