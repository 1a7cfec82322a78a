// How many workers there are, which pool has them, and when they go.
#include "unit/pool/pool_in_time.h"

namespace pool {
namespace {

class NumbersTest : public PoolTest {
 protected:
  std::size_t workers() const { return processes_.count(Kind::worker); }
  std::size_t workers_of(const std::string& program) const {
    const auto all = processes_.living(Kind::worker);
    return static_cast<std::size_t>(std::ranges::count_if(
        all, [&](const fakes::Process* worker) { return worker->argument() == program; }));
  }
};

TEST_F(NumbersTest, a_static_pool_has_all_its_workers_for_ever) {
  world_.settings.workers = {.min = 5, .max = 5};
  world_.warm(program_);
  EXPECT_EQ(workers(), 5u);
  pass(minutes(9));
  EXPECT_EQ(workers(), 5u);
}

TEST_F(NumbersTest, a_pool_on_demand_has_nobody_when_it_has_rested_but_its_zygote) {
  world_.settings.workers = {.spare = 0, .idle_timeout = seconds(60)};
  world_.warm(program_);
  request();
  pass(seconds(1));
  EXPECT_GE(workers(), 1u);
  pass(minutes(3));
  EXPECT_EQ(workers(), 0u);
  EXPECT_EQ(processes_.count(Kind::zygote), 1u);
  Client& client = request();
  pass(milliseconds(20));
  EXPECT_EQ(client.arm(), compare::Arm::rewind);
}

TEST_F(NumbersTest, a_burst_s_workers_go_though_requests_keep_coming) {
  for (const unsigned kept : {1u, 0u}) {
    world_.settings.workers = {.min = kept, .max = 6, .spare = kept, .idle_timeout = seconds(60)};
    world_.warm(program_);
    for (int i = 0; i < 6; ++i) request();
    pass(seconds(1));
    EXPECT_GE(workers(), 5u);
    for (int i = 0; i < 180; ++i) {
      request();
      pass(seconds(1));
    }
    EXPECT_LE(workers(), 2u);
  }
}

TEST_F(NumbersTest, workers_that_were_forked_together_are_not_replaced_together) {
  world_.settings.workers = {
      .min = 4, .max = 4, .spare = 4, .max_requests = 0, .max_age = hours(1)};
  world_.warm(program_);
  for (int i = 0; i < 4; ++i) request();
  pass(seconds(1));
  const auto first = processes_.living(Kind::worker);
  ASSERT_GE(first.size(), 4u);
  std::size_t most_at_once = 0, before = first.size();
  for (int minute = 0; minute < 65; ++minute) {
    request();
    pass(minutes(1));
    const auto left = static_cast<std::size_t>(
        std::ranges::count_if(first, [](const auto* worker) { return worker->lives(); }));
    most_at_once = std::max(most_at_once, before - left);
    before = left;
  }
  EXPECT_EQ(before, 0u);
  EXPECT_LT(most_at_once, first.size());
}

TEST_F(NumbersTest, a_free_place_goes_to_the_program_that_has_fewer) {
  const std::string other = world_.add_program("other.pl");
  world_.pools().set_limits({.workers_max = 4});
  world_.settings.queue.timeout = hours(1);
  processes_.nature.to_answer = fakes::never;
  for (int i = 0; i < 8; ++i) world_.request(program_, compare::Side::classic);
  pass(seconds(1));
  Client& small = world_.request(other, compare::Side::classic);
  pass(seconds(1));
  EXPECT_EQ(small.state(), State::waiting);
  processes_.living(Kind::program).front()->answer();
  pass(milliseconds(10));
  EXPECT_EQ(small.state(), State::running);
}

TEST_F(NumbersTest, idle_workers_make_room_for_requests_and_come_back_when_there_is_room) {
  const std::string other = world_.add_program("other.pl");
  world_.pools().set_limits({.workers_max = 6});
  world_.settings.workers = {.min = 4, .max = 4};
  world_.settings.queue.timeout = hours(1);
  world_.warm(program_);
  EXPECT_EQ(workers_of(program_), 4u);
  world_.settings.mode = config::Mode::classic;
  world_.settings.workers = {.max = 20};
  processes_.nature.to_answer = seconds(30);
  for (int i = 0; i < 12; ++i) world_.request(other, compare::Side::classic);
  pass(seconds(10));
  EXPECT_LT(workers_of(program_), 4u);
  processes_.nature.to_answer = milliseconds(5);
  pass(minutes(4));
  EXPECT_EQ(workers_of(program_), 4u) << "though nobody has asked";
}

TEST_F(NumbersTest, only_so_many_programs_are_kept_warm_and_do_not_put_out_each_other_s_zygotes) {
  world_.pools().set_limits({.zygotes_max = 2});
  std::vector<std::string> all;
  for (int i = 0; i < 5; ++i) all.push_back(world_.add_program(std::to_string(i) + ".pl"));
  for (const std::string& program : all) world_.warm(program);
  pass(seconds(2));
  EXPECT_LE(processes_.count(Kind::zygote), 2u);
  const auto before = processes_.zygotes_launched();
  for (int round = 0; round < 60; ++round) {
    for (const std::string& program : all) {
      Client& client = world_.request(program);
      pass(milliseconds(100));
      EXPECT_EQ(client.state(), State::ended);
    }
    EXPECT_LE(processes_.count(Kind::zygote), 2u);
  }
  EXPECT_LE(processes_.zygotes_launched(), before + 3);
}

}  // namespace
}  // namespace pool
