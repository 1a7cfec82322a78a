// A worker's states and events. The process sends its first READY, which only it can, and waits to
// be killed; the test sends everything else on its channel.
#include "worker/worker.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fakes/execution.h"
#include "worker/child_reaper.h"

namespace worker {
namespace {

using Words = std::vector<std::string>;

using fakes::packet;

std::string done(std::uint64_t request_id, bool stays, std::int32_t exit_code = 0) {
  return fakes::done_packet(request_id, stays, exit_code);
}

std::string retired(retirement why, const std::string& text) {
  return packet(
      MESSAGE_RETIRED,
      message_retired{static_cast<std::uint32_t>(why), static_cast<std::uint32_t>(text.size())},
      text);
}

// Records what it is told.
class Owner : public WorkerOwner {
 public:
  void on_ready(Worker&) override { told.push_back("ready"); }
  void on_done(Worker&, const message::Received& done) override {
    told.push_back(done.stays ? "done, stays" : "done");
  }
  void on_ended(Worker&, const Ending& ending) override {
    told.push_back("ended " + std::to_string(ending.app_status));
  }
  void on_at_rest(Worker&) override { told.push_back("at rest"); }
  void on_reset_over(Worker&) override { told.push_back("reset over"); }
  void on_retired(Worker&, std::uint32_t retirement, const std::string& why) override {
    told.push_back("retired " + std::to_string(retirement) + ": " + why);
  }
  void on_unbegun(Worker&) override { told.push_back("unbegun"); }
  void on_silent(Worker&) override { told.push_back("silent"); }
  void on_gone(Worker&) override { told.push_back("gone"); }
  void on_note(Worker&, const message::Received&) override { told.push_back("note"); }
  void on_execute(Worker&, const message::Execution& execution) override {
    told.push_back("execute " + std::string(execution.file));
  }

  Words told;
};

class WorkerTest : public testing::Test {
 protected:
  WorkerTest() : reaper_(loop_), worker_(loop_, reaper_, 1, label_, kill_grace_, owner_) {
    auto channel = make_channel().take();
    auto names = base::make_pipe().take();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setpgid(0, 0);
      introduce(names.first.get(), std::move(channel.second));
      for (;;) ::pause();
    }
    ::setpgid(pid_, pid_);
    worker_.await_fork(std::move(channel.first));
    program_ = std::move(channel.second);
    names_ = std::move(names.second);
  }
  ~WorkerTest() override {
    if (reaper_.is_living_child(pid_)) ::kill(pid_, SIGKILL);
  }

  // Runs in the process: sends READY for the given pid.
  static void introduce(int names, base::UniqueFd channel) {
    pid_t pid = 0;
    if (::read(names, &pid, sizeof pid) != sizeof pid) return;
    const std::string ready = packet(MESSAGE_READY, message_ready{pid, 0});
    (void)!::send(channel.get(), ready.data(), ready.size(), MSG_NOSIGNAL);
  }
  void say_ready_for(pid_t pid) {
    EXPECT_EQ(::write(names_.get(), &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  }

  void say(const std::string& bytes) {
    EXPECT_EQ(::send(program_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void read_request() {
    char bytes[1024];
    EXPECT_GT(::recv(program_.get(), bytes, sizeof bytes, MSG_DONTWAIT), 0);
  }
  void die(int signal_number = SIGKILL) {
    program_.reset();
    ::kill(pid_, signal_number);
  }

  // Runs the loop until told has this many words.
  void until(std::size_t words) {
    const auto end = base::Clock::now() + std::chrono::seconds(10);
    loop::Timer* again = nullptr;
    loop::Timer timer(loop_, [&] {
      if (owner_.told.size() >= words || base::Clock::now() > end) return loop_.stop();
      again->start(base::Duration(1));
    });
    again = &timer;
    timer.start(base::Duration(0));
    loop_.run();
    EXPECT_EQ(owner_.told.size(), words) << testing::PrintToString(owner_.told);
  }
  void become_ready() {
    say_ready_for(pid_);
    until(owner_.told.size() + 1);
    ASSERT_EQ(worker_.state(), WorkerState::idle);
  }
  void assign(std::uint64_t request_id, message::SayReady say_ready = message::SayReady::no) {
    const std::vector<std::string> none;
    const auto request = message::encode_request(
        request_id, say_ready, message::Streams::sent,
        {.cwd = "/", .argv = none, .query_words = none, .environment = {}, .environment_count = 0});
    const int fds[] = {0, 1, 2};
    ASSERT_TRUE(worker_.assign(request_id, say_ready, request, fds).ok());
  }

  const std::string label_ = "program=test";
  // Long enough for the process to end after SIGTERM on a busy machine.
  const base::Duration kill_grace_{1000};
  loop::Loop loop_;
  ChildReaper reaper_;
  Owner owner_;
  Worker worker_;
  base::UniqueFd program_, names_;
  pid_t pid_ = -1;
};

TEST_F(WorkerTest, answers_one_request_after_the_other) {
  become_ready();
  for (std::uint64_t id = 10; id < 15; ++id) {
    assign(id);
    EXPECT_EQ(worker_.state(), WorkerState::busy);
    read_request();
    owner_.told.clear();
    say(done(id, 1, 3));
    until(2);
    EXPECT_EQ(owner_.told, (Words{"done, stays", "ended 3"}));
    EXPECT_EQ(worker_.state(), WorkerState::idle);
  }
  EXPECT_EQ(worker_.served(), 5u);
}

// Otherwise it could name somebody else's zygote, and the bridge would signal that.
TEST_F(WorkerTest, cannot_name_another_process_as_itself) {
  say_ready_for(::getpid());
  until(1);
  EXPECT_EQ(owner_.told, (Words{"gone"}));
  EXPECT_EQ(worker_.pid(), -1);
}

TEST_F(WorkerTest, cannot_be_named_by_another_process) {
  say(packet(MESSAGE_READY, message_ready{pid_, 0}));
  until(1);
  EXPECT_EQ(owner_.told, (Words{"gone"}));
}

// Like a zygote that answers its own fork.
TEST_F(WorkerTest, cannot_be_a_process_that_has_an_owner) {
  reaper_.expect(pid_, [](const Death&) {});
  say_ready_for(pid_);
  until(1);
  EXPECT_EQ(owner_.told, (Words{"gone"}));
  reaper_.forget(pid_);
}

TEST_F(WorkerTest, takes_a_request_while_it_still_resets_itself) {
  become_ready();
  assign(1);
  say(done(1, 1));
  until(3);
  assign(2);
  EXPECT_EQ(worker_.state(), WorkerState::busy);
}

TEST_F(WorkerTest, that_does_not_stay_ends) {
  become_ready();
  assign(1);
  say(done(1, 0));
  until(3);
  EXPECT_EQ(worker_.state(), WorkerState::ending);
  die();
  until(4);
  EXPECT_EQ(owner_.told, (Words{"ready", "done", "ended 0", "gone"}));
}

TEST_F(WorkerTest, is_checked_behind_a_request_that_asked_for_it) {
  become_ready();
  assign(1, message::SayReady::yes);
  say(done(1, 1));
  until(3);
  EXPECT_EQ(worker_.state(), WorkerState::resetting);
  say(packet(MESSAGE_READY, message_ready{pid_, 0}));
  until(4);
  EXPECT_EQ(owner_.told.back(), "reset over");
  EXPECT_EQ(worker_.state(), WorkerState::checking);
  worker_.pass_check();
  EXPECT_EQ(worker_.state(), WorkerState::idle);
}

TEST_F(WorkerTest, says_whether_it_is_at_rest_and_stays_idle) {
  become_ready();
  ASSERT_TRUE(worker_.ask_whether_at_rest());
  EXPECT_EQ(worker_.state(), WorkerState::idle);
  EXPECT_FALSE(worker_.ask_whether_at_rest());  // it has not answered
  say(packet(MESSAGE_READY, message_ready{pid_, 0}));
  until(2);
  EXPECT_EQ(owner_.told.back(), "at rest");
  EXPECT_EQ(worker_.state(), WorkerState::idle);
}

TEST_F(WorkerTest, takes_a_request_though_it_was_asked_whether_it_rests) {
  become_ready();
  ASSERT_TRUE(worker_.ask_whether_at_rest());
  assign(1);
  say(packet(MESSAGE_READY, message_ready{pid_, 0}));
  say(done(1, 1));
  until(4);
  EXPECT_EQ(owner_.told, (Words{"ready", "at rest", "done, stays", "ended 0"}));
}

TEST_F(WorkerTest, that_says_ready_unasked_is_ended) {
  become_ready();
  assign(1);
  say(done(1, 1));
  say(packet(MESSAGE_READY, message_ready{pid_, 0}));
  until(5);
  EXPECT_EQ(owner_.told[3], "retired 10: a ready that was not asked for");
  EXPECT_EQ(owner_.told[4], "gone");
}

TEST_F(WorkerTest, that_says_done_of_another_request_is_ended_and_the_request_hears_of_its_death) {
  become_ready();
  assign(2);
  read_request();
  say(done(1, 1));
  until(3);
  EXPECT_EQ(owner_.told, (Words{"ready", "ended 143", "gone"}));
}

TEST_F(WorkerTest, that_retires_while_idle_is_ending) {
  become_ready();
  assign(1);
  read_request();
  say(done(1, 1));
  say(retired(RETIRED_THREADS, "2 threads"));
  until(4);
  EXPECT_EQ(owner_.told.back(), "retired 1: 2 threads");
  EXPECT_EQ(worker_.state(), WorkerState::ending);
  die();
  until(5);
  EXPECT_EQ(owner_.told.back(), "gone");
}

TEST_F(WorkerTest, that_retires_with_a_request_on_its_way_gives_it_back) {
  become_ready();
  assign(1);
  read_request();
  say(done(1, 1));
  until(3);
  assign(2);
  say(retired(RETIRED_MAPPINGS, "no room"));
  until(5);
  die();
  until(6);
  EXPECT_EQ(owner_.told,
            (Words{"ready", "done, stays", "ended 0", "retired 7: no room", "unbegun", "gone"}));
}

TEST_F(WorkerTest, that_retires_in_its_first_request_breaks_the_rules) {
  become_ready();
  assign(1);
  say(retired(RETIRED_THREADS, ""));
  until(3);
  EXPECT_EQ(owner_.told, (Words{"ready", "ended 143", "gone"}));
}

TEST_F(WorkerTest, that_dies_with_its_request_unread_gives_it_back) {
  become_ready();
  assign(1);
  die();
  until(4);
  EXPECT_EQ(owner_.told,
            (Words{"ready", "unbegun", "retired 10: killed by signal 9 (Killed)", "gone"}));
}

TEST_F(WorkerTest, that_dies_with_its_request_read_ends_it) {
  become_ready();
  assign(1);
  read_request();
  die();
  until(5);
  EXPECT_EQ(owner_.told,
            (Words{"ready", "silent",
                   "retired " + std::to_string(kRetiredLeft) + ": killed by signal 9 (Killed)",
                   "ended 137", "gone"}));
}

TEST_F(WorkerTest, that_dies_at_once_behind_its_done_has_the_exit_code_that_it_said) {
  become_ready();
  assign(1);
  read_request();
  say(done(1, 0, 7));
  die();
  until(4);
  EXPECT_EQ(owner_.told, (Words{"ready", "done", "ended 7", "gone"}));
}

TEST_F(WorkerTest, that_dies_while_it_rests_says_so) {
  become_ready();
  assign(1);
  read_request();
  say(done(1, 1));
  until(3);
  die();
  until(5);
  EXPECT_EQ(owner_.told[3], "retired 10: killed by signal 9 (Killed)");
  EXPECT_EQ(owner_.told[4], "gone");
}

TEST_F(WorkerTest, that_is_terminated_with_its_request_unread_ends_it) {
  become_ready();
  assign(1);
  read_request();
  say(done(1, 1));
  until(3);
  assign(2);
  worker_.terminate();
  program_.reset();
  until(5);
  EXPECT_EQ(owner_.told[3], "ended 143");
  EXPECT_EQ(owner_.told[4], "gone");
}

TEST_F(WorkerTest, that_is_terminated_stays_for_nobody) {
  become_ready();
  assign(1);
  read_request();
  ::kill(pid_, SIGSTOP);
  worker_.terminate();
  say(done(1, 1));
  until(3);
  EXPECT_EQ(owner_.told, (Words{"ready", "done, stays", "ended 0"}));
  EXPECT_EQ(worker_.state(), WorkerState::ending);
  until(4);
}

TEST_F(WorkerTest, that_is_retired_sees_the_end_of_its_channel) {
  become_ready();
  worker_.retire();
  char byte;
  EXPECT_EQ(::recv(program_.get(), &byte, 1, 0), 0);
  die();
  until(2);
  EXPECT_EQ(owner_.told, (Words{"ready", "gone"}));
}

TEST_F(WorkerTest, that_executes_a_file_is_not_taken_for_one_that_has_not_begun) {
  become_ready();
  assign(7);
  read_request();
  say(fakes::execute_packet(7, "/x"));
  until(2);
  worker_.answer_execute({});
  program_.reset();  // with an answer that nobody has read
  until(3);
  EXPECT_EQ(owner_.told, (Words{"ready", "execute /x", "silent"}));
  EXPECT_EQ(worker_.state(), WorkerState::busy);
}

}  // namespace
}  // namespace worker
