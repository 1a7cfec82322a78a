// What a pool does when its zygotes and workers fail, and when a program changes.
#include "unit/pool/pool_in_time.h"

namespace pool {
namespace {

// ---- what does not come up ----

TEST_F(PoolTest, tries_one_level_less_deep_and_then_runs_classic) {
  processes_.nature.dies_before_checkpoint = fakes::kExited1;
  request();
  pass(seconds(1));
  EXPECT_EQ(processes_.zygotes_launched(), 2u);
  EXPECT_EQ(status().level, "none");
  Client& client = request();
  pass(milliseconds(10));
  EXPECT_EQ(client.state(), State::ended);
  EXPECT_EQ(client.arm(), compare::Arm::classic);
}

TEST_F(PoolTest, tries_again_after_a_minute_then_ever_later_and_half_an_hour_at_most) {
  processes_.nature.dies_before_checkpoint = fakes::kExited1;
  std::vector<base::TimePoint> tries;
  const auto begin = world_.time().now();
  std::uint64_t before = 0;
  for (int i = 0; i < 6 * 3600; ++i) {
    request();
    pass(seconds(1));
    world_.clients().clear();
    processes_.sweep();
    if (std::exchange(before, processes_.zygotes_launched()) != before) {
      tries.push_back(world_.time().now());
    }
  }
  ASSERT_GE(tries.size(), 7u);
  EXPECT_LE(tries[0] - begin, seconds(1));
  auto pause = std::chrono::seconds(60);
  for (std::size_t i = 1; i < tries.size(); ++i) {
    const auto waited = std::chrono::duration_cast<seconds>(tries[i] - tries[i - 1]);
    EXPECT_GE(waited, pause) << i;
    EXPECT_LE(waited, pause + seconds(2)) << i;
    pause = std::min(2 * pause, seconds(32 * 60));
  }
}

TEST_F(PoolTest, becomes_warm_at_a_retry_if_what_kept_it_from_that_has_passed) {
  processes_.nature.dies_before_checkpoint = fakes::kExited1;
  world_.warm(program_);
  processes_.nature.dies_before_checkpoint = 0;
  pass(seconds(61));
  world_.warm(program_);
  EXPECT_EQ(status().level, "compiled");
}

TEST_F(PoolTest, replaces_a_zygote_that_ends_three_times_at_once_and_then_later) {
  world_.warm(program_);
  const auto end_it = [this] {
    const auto zygotes = processes_.living(Kind::zygote);
    if (!zygotes.empty()) zygotes.front()->die(SIGKILL);
  };
  for (std::uint64_t ends = 1; ends <= 3; ++ends) {
    end_it();
    pass(milliseconds(50));
    EXPECT_EQ(processes_.zygotes_launched(), 1 + ends);
  }
  end_it();
  pass(milliseconds(249));
  EXPECT_EQ(processes_.count(Kind::zygote), 0u);
  pass(milliseconds(30));
  EXPECT_EQ(processes_.count(Kind::zygote), 1u);
  end_it();
  pass(milliseconds(499));
  EXPECT_EQ(processes_.count(Kind::zygote), 0u);
  pass(milliseconds(30));
  end_it();  // the sixth: it falls back to `linked`
  pass(seconds(1));
  EXPECT_EQ(processes_.zygotes_launched(), 7u);
  EXPECT_FALSE(status().level_reason.empty());
}

TEST_F(PoolTest, bears_zygotes_that_end_once_an_hour_for_ever) {
  world_.warm(program_);
  for (int i = 0; i < 48; ++i) {
    for (int minute = 0; minute < 60; minute += 5) {
      pass(minutes(5));
      request();
    }
    for (fakes::Process* zygote : processes_.living(Kind::zygote)) zygote->die(SIGKILL);
    pass(seconds(1));
    ASSERT_EQ(status().level, "compiled") << i;
  }
}

TEST_F(PoolTest, starts_workers_that_die_at_once_ever_later_and_never_stops_answering) {
  world_.settings.workers.max = 1;
  world_.warm(program_);
  std::uint64_t deaths = 0;
  std::vector<std::uint64_t> deaths_in_minute;
  for (int minute = 0; minute < 5; ++minute) {
    const std::uint64_t before = deaths;
    for (int i = 0; i < 600; ++i) {
      for (fakes::Process* worker : processes_.living(Kind::worker)) {
        if (worker->in_request()) continue;
        worker->die(fakes::kSegv);
        ++deaths;
      }
      pass(milliseconds(100));
    }
    deaths_in_minute.push_back(deaths - before);
    Client& client = request();
    pass(seconds(1));
    EXPECT_EQ(client.state(), State::ended) << minute;
  }
  EXPECT_LE(deaths_in_minute.front(), 30u);
  EXPECT_LE(deaths_in_minute.back(), 6u) << "every 30 s, and one for a request";
}

TEST_F(PoolTest, replaces_a_zygote_that_takes_too_long_over_a_fork) {
  world_.settings.workers.max = 1;
  world_.warm(program_);
  fakes::Process* zygote = processes_.living(Kind::zygote).front();
  zygote->nature.to_fork = fakes::never;
  processes_.living(Kind::worker).front()->die(SIGKILL);
  Client& client = request();
  pass(milliseconds(10));
  EXPECT_EQ(client.state(), State::waiting) << "a worker is on its way";
  pass(seconds(2));
  EXPECT_EQ(client.arm(), compare::Arm::classic);
  EXPECT_EQ(client.state(), State::ended);
  EXPECT_TRUE(zygote->lives());
  pass(seconds(10));
  request();
  pass(milliseconds(100));
  EXPECT_FALSE(zygote->lives());
  EXPECT_EQ(processes_.count(Kind::zygote), 1u);
}

TEST_F(PoolTest, does_not_wait_for_ever_for_a_fork_that_hangs_and_outlives_its_zygote) {
  world_.settings.workers.max = 1;
  world_.warm(program_);
  fakes::Process* zygote = processes_.living(Kind::zygote).front();
  zygote->nature.to_fork = fakes::never;
  zygote->leaves_hung_forks = true;
  processes_.living(Kind::worker).front()->die(SIGKILL);
  for (int i = 0; i < 30; ++i) {
    request();
    pass(seconds(1));
  }
  EXPECT_FALSE(zygote->lives());
  Client& client = request();
  pass(seconds(1));
  EXPECT_EQ(client.arm(), compare::Arm::rewind);
}

TEST_F(PoolTest, kills_a_worker_that_was_let_go_and_does_not_exit) {
  world_.warm(program_);
  fakes::Process* worker = processes_.living(Kind::worker).front();
  worker->close_channel();  // it receives nothing any more
  pass(seconds(9));
  EXPECT_TRUE(worker->lives());
  pass(seconds(2));
  EXPECT_FALSE(worker->lives());
  EXPECT_EQ(worker->wait_status(), SIGKILL);
}

TEST_F(PoolTest, gives_up_a_zygote_that_is_not_at_its_checkpoint_in_time) {
  world_.settings.timeouts.start = seconds(30);
  processes_.nature.to_checkpoint = fakes::never;
  Client& client = request();
  pass(milliseconds(29'900));
  EXPECT_EQ(client.state(), State::ended);
  EXPECT_EQ(processes_.zygotes_launched(), 1u);
  pass(milliseconds(200));
  EXPECT_EQ(processes_.zygotes_launched(), 2u) << "at `linked`";
}

// ---- what changes ----

TEST_F(PoolTest, lets_no_process_of_an_old_version_answer) {
  world_.warm(program_);
  const auto old = processes_.living(Kind::worker);
  const std::uint64_t served = old.front()->requests();
  world_.version = 2;
  Client& client = request();
  pass(milliseconds(10));
  EXPECT_EQ(client.arm(), compare::Arm::classic);
  pass(seconds(1));
  for (const fakes::Process* worker : old) EXPECT_FALSE(worker->lives());
  EXPECT_EQ(old.front()->requests(), served);
  Client& next = request();
  pass(milliseconds(10));
  EXPECT_EQ(next.arm(), compare::Arm::rewind);
}

TEST_F(PoolTest, starts_a_program_whose_file_changes_all_the_time_ever_less_often) {
  std::vector<std::uint64_t> starts;
  for (int minute = 0; minute < 3; ++minute) {
    const std::uint64_t before = processes_.zygotes_launched();
    for (int i = 0; i < 600; ++i) {
      ++world_.version;
      request();
      pass(milliseconds(100));
      processes_.sweep();
    }
    starts.push_back(processes_.zygotes_launched() - before);
  }
  EXPECT_LE(starts.front(), 10u);
  EXPECT_EQ(starts.back(), 0u) << "no pause of 250 ms and more without a change";
  pass(seconds(10));
  world_.warm(program_);
  EXPECT_EQ(status().level, "compiled");
}

TEST_F(PoolTest, serves_on_from_old_settings_until_the_new_ones_are_warm) {
  world_.warm(program_);
  world_.settings.env["NAME"] = "value";
  Client& client = request();
  pass(milliseconds(10));
  EXPECT_EQ(client.arm(), compare::Arm::rewind);
  EXPECT_EQ(status().generation, 1u);
  pass(seconds(1));
  EXPECT_EQ(status().generation, 2u);
}

TEST_F(PoolTest, forks_from_the_moment_on_at_which_a_rewind_was_seen_to_leave_something) {
  world_.settings.rewind.verify = 1;
  world_.warm(program_);
  processes_.living(Kind::zygote).front()->nature.difference = "page 7 of the heap";
  request();
  pass(seconds(1));
  EXPECT_EQ(status().reset, config::Reset::fork);
  EXPECT_NE(status().reset_reason.find("page 7 of the heap"), std::string::npos);
  for (int i = 0; i < 100; ++i) {
    Client& client = request();
    pass(minutes(5));
    EXPECT_NE(client.arm(), compare::Arm::rewind);
  }
}

}  // namespace
}  // namespace pool
