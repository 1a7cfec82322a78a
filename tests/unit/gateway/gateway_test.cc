// Requests from their params to their END_REQUEST, connections and the gateway, in time that is
// moved by hand.
#include "gateway/gateway.h"

#include <gtest/gtest.h>

#include "fakes/site.h"

namespace gateway {
namespace {

using fakes::Kind;
using fakes::Peer;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class GatewayTest : public testing::Test {
 protected:
  GatewayTest() {
    site_.program().mode = config::Mode::classic;
    site_.program().timeouts.kill_grace = seconds(3);
    site_.changed();
  }
  ~GatewayTest() override {
    for (const std::string& fault : site_.processes().faults()) ADD_FAILURE() << fault;
  }
  void pass(base::TimePoint::duration time) { ASSERT_TRUE(site_.advance(time)); }
  Peer& request() { return site_.request(program_); }
  static bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }
  fakes::Process& only_program() { return *processes_.living(Kind::program).at(0); }

  fakes::Site site_;
  fakes::Processes& processes_ = site_.processes();
  const std::string program_ = site_.world().add_program();
};

TEST_F(GatewayTest, answers_what_the_program_printed) {
  Peer& peer = request();
  pass(milliseconds(20));
  EXPECT_TRUE(peer.ended());
  EXPECT_EQ(peer.app_status(), 0);
  EXPECT_TRUE(has(peer.output, "\r\n\r\nhello\n")) << peer.output;
}

TEST_F(GatewayTest, tells_the_exit_code) {
  processes_.nature.exit_code = 7;
  Peer& peer = request();
  pass(milliseconds(20));
  EXPECT_EQ(peer.app_status(), 7);
}

TEST_F(GatewayTest, lets_no_visitor_forge_a_line_in_the_web_servers_log) {
  const std::string forged = site_.world().folder() + "/no\n[alert] forged\r\x1b[31m\xc2\x9b\x9b";
  Peer& no_program = site_.request(forged);
  Peer& no_length = site_.connect();
  no_length.begin(fakes::Site::params(program_) + "CONTENT_LENGTH=1\n[alert] forged\x1b" + '\0');
  no_length.end_body();
  pass(milliseconds(20));
  for (const Peer* peer : {&no_program, &no_length}) {
    EXPECT_TRUE(peer->errors.starts_with("cgibridge: ")) << peer->errors;
    EXPECT_TRUE(has(peer->errors, "\\n[alert] forged")) << peer->errors;
    EXPECT_EQ(peer->errors.find('\n'), peer->errors.size() - 1) << peer->errors;
    for (const char* control : {"\r", "\x1b", "\x9b"}) EXPECT_FALSE(has(peer->errors, control));
  }
}

// ---- time is up ----

TEST_F(GatewayTest, ends_a_program_at_timeouts_request_and_kills_it_after_kill_grace) {
  site_.program().timeouts.request = seconds(30);
  site_.changed();
  processes_.nature.to_answer = processes_.nature.to_term = fakes::never;
  Peer& peer = request();
  pass(seconds(30) - milliseconds(1));
  EXPECT_FALSE(peer.ended());
  pass(milliseconds(1));
  EXPECT_TRUE(peer.ended());
  EXPECT_TRUE(has(peer.output, "Status: 504")) << peer.output;
  EXPECT_TRUE(has(peer.errors, "timeouts.request")) << peer.errors;
  pass(seconds(3) - milliseconds(1));
  EXPECT_EQ(processes_.count_living(), 1u);
  pass(milliseconds(1));
  EXPECT_EQ(processes_.count_living(), 0u);
}

TEST_F(GatewayTest, ends_a_program_that_is_silent_for_timeouts_output) {
  site_.program().timeouts.output = seconds(10);
  site_.changed();
  processes_.nature.to_answer = fakes::never;
  Peer& peer = request();
  for (int i = 0; i < 3; ++i) {
    pass(seconds(9));
    only_program().print(i == 0 ? "Content-Type: text/plain\r\n\r\n" : "more\n");
  }
  pass(seconds(9));
  EXPECT_FALSE(peer.ended());
  pass(seconds(2));
  EXPECT_TRUE(peer.is_closed()) << "its head was sent: it must not look whole";
  EXPECT_EQ(processes_.count_living(), 0u);
}

TEST_F(GatewayTest, lets_a_program_that_closed_its_output_go_on_for_timeouts_background) {
  site_.program().timeouts.background = minutes(10);
  site_.program().timeouts.request = seconds(30);
  site_.changed();
  processes_.nature.to_answer = fakes::never;
  Peer& peer = request();
  pass(milliseconds(10));
  only_program().print("Content-Type: text/plain\r\n\r\nwhole\n");
  only_program().close_streams();
  pass(seconds(2));
  EXPECT_TRUE(peer.ended());
  EXPECT_TRUE(has(peer.output, "whole\n"));
  pass(minutes(9));
  EXPECT_EQ(processes_.count_living(), 1u);
  EXPECT_EQ(site_.gateway().counts().background.now, 1u);
  pass(minutes(1) + seconds(1));
  EXPECT_EQ(processes_.count_living(), 0u);
  EXPECT_EQ(site_.gateway().counts().background.ended, 1u);
}

TEST_F(GatewayTest, tells_when_to_come_again_if_no_worker_was_free_in_time) {
  site_.program().workers.max = 1;
  site_.program().queue.timeout = milliseconds(4200);
  site_.program().timeouts.request = minutes(5);
  site_.changed();
  processes_.nature.to_answer = fakes::never;
  request();
  pass(milliseconds(1));
  Peer& waits = request();
  pass(milliseconds(4199));
  EXPECT_FALSE(waits.ended());
  pass(milliseconds(2));
  EXPECT_TRUE(has(waits.output, "Status: 503")) << waits.output;
  EXPECT_TRUE(has(waits.output, "Retry-After: 5")) << waits.output;
}

// ---- its client ----

TEST_F(GatewayTest, ends_the_program_of_a_client_that_leaves) {
  processes_.nature.to_answer = fakes::never;
  Peer& peer = request();
  pass(seconds(1));
  peer.leave();
  pass(seconds(1));
  EXPECT_EQ(processes_.count_living(), 0u);
  EXPECT_EQ(site_.gateway().connections(), 0u);
}

// Whatever comes first: that it has left, or what its program still complains about.
TEST_F(GatewayTest, lets_a_program_go_on_whose_client_leaves_with_its_whole_answer) {
  site_.program().timeouts.request = seconds(30);
  site_.changed();
  processes_.nature.to_answer = fakes::never;
  for (const int complains : {0, 1, 2}) {
    Peer& peer = request();
    pass(milliseconds(10));
    fakes::Process& program = only_program();
    program.print("Content-Type: text/plain\r\nContent-Length: 6\r\n\r\nwhole\n");
    pass(milliseconds(10));
    EXPECT_TRUE(has(peer.output, "whole\n"));
    if (complains == 1) program.complain("a word\n");
    peer.leave();
    if (complains == 2) program.complain("a word\n");
    pass(seconds(29));
    EXPECT_EQ(processes_.count_living(), 1u) << complains;
    EXPECT_EQ(site_.gateway().connections(), 0u);
    pass(seconds(1));
    EXPECT_EQ(processes_.count_living(), 0u);
  }
}

TEST_F(GatewayTest, answers_an_abort_with_its_end_and_keeps_the_connection) {
  processes_.nature.to_answer = fakes::never;
  Peer& peer = request();
  pass(seconds(1));
  peer.abort();
  pass(milliseconds(10));
  EXPECT_TRUE(peer.ended());
  EXPECT_FALSE(peer.is_closed());
  EXPECT_EQ(processes_.count_living(), 0u);
  processes_.nature.to_answer = milliseconds(5);
  peer.begin(fakes::Site::params(program_));
  peer.end_body();
  pass(milliseconds(20));
  EXPECT_TRUE(has(peer.output, "hello"));
}

TEST_F(GatewayTest, holds_an_answer_back_until_the_body_has_come_or_its_client_pauses) {
  processes_.nature.to_answer = fakes::never;
  Peer& peer = site_.connect();
  peer.begin(fakes::Site::params(program_, 10));
  peer.body("12345");
  pass(milliseconds(10));
  only_program().print("Content-Type: text/plain\r\n\r\nearly\n");
  pass(milliseconds(50));
  EXPECT_EQ(peer.output, "");
  pass(milliseconds(300));
  EXPECT_TRUE(has(peer.output, "early\n"));
}

TEST_F(GatewayTest, closes_a_connection_whose_params_are_not_whole_in_time) {
  site_.bridge().params_timeout = seconds(20);
  site_.changed();
  Peer& peer = site_.connect();
  peer.send(std::string("\x01\x01\x00\x01\x00\x08\x00\x00\x00\x01\x01\x00\x00\x00\x00\x00", 16));
  pass(milliseconds(19'900));
  EXPECT_FALSE(peer.is_closed());
  pass(seconds(1));
  EXPECT_TRUE(peer.is_closed());
  EXPECT_EQ(site_.gateway().counts().closed_unfinished, 1u);
}

TEST_F(GatewayTest, keeps_an_idle_connection_for_days) {
  Peer& peer = request();
  pass(seconds(1));
  pass(std::chrono::hours(72));
  peer.begin(fakes::Site::params(program_));
  peer.end_body();
  pass(milliseconds(20));
  EXPECT_TRUE(peer.ended());
}

// ---- all of them ----

TEST_F(GatewayTest, drains_when_the_last_answer_is_whole) {
  processes_.nature.to_answer = seconds(40);
  site_.program().timeouts.request = minutes(5);
  site_.changed();
  Peer& open = request();
  pass(seconds(1));
  bool idle = false;
  site_.gateway().drain([&idle] { idle = true; });
  pass(seconds(38));
  EXPECT_FALSE(idle);
  pass(seconds(2));
  EXPECT_TRUE(idle);
  EXPECT_TRUE(open.ended());
  EXPECT_TRUE(has(open.output, "hello"));
}

TEST_F(GatewayTest, answers_warm_once_the_program_is) {
  site_.program().mode = config::Mode::persistent;
  site_.changed();
  request();
  pass(seconds(1));
  Peer& peer = request();
  pass(milliseconds(20));
  EXPECT_TRUE(has(peer.output, "hello"));
  EXPECT_EQ(processes_.count(Kind::zygote), 1u);
  EXPECT_EQ(site_.world().status(program_).persistent, 1u);
}

// ---- pipes that a worker keeps ----

// One warm worker, which has answered once and rests.
class KeptPipesTest : public GatewayTest {
 protected:
  void warm(bool lies = false) {
    site_.program().mode = config::Mode::persistent;
    site_.program().workers.max = site_.program().workers.spare = 1;
    site_.changed();
    processes_.nature.keeps = !lies;
    processes_.nature.lies = lies;
    request();
    pass(seconds(1));
    worker_ = processes_.living(Kind::worker).at(0);
    answered();
  }
  void answered() {
    Peer& peer = request();
    pass(milliseconds(20));
    EXPECT_TRUE(has(peer.output, "hello")) << peer.output;
    EXPECT_EQ(peer.app_status(), 0);
  }

  fakes::Process* worker_ = nullptr;
};

TEST_F(KeptPipesTest, are_used_for_the_next_request) {
  warm();
  EXPECT_EQ(worker_->requests_by_kept(), 0u);
  answered();
  answered();
  EXPECT_EQ(worker_->requests_by_kept(), 2u);
}

TEST_F(KeptPipesTest, are_not_used_for_one_with_a_body) {
  warm();
  Peer& peer = site_.connect();
  peer.begin(fakes::Site::params(program_, 3));
  peer.body("abc");
  peer.end_body();
  pass(milliseconds(20));
  EXPECT_TRUE(has(peer.output, "hello")) << peer.output;
  EXPECT_EQ(worker_->requests_by_kept(), 0u);
}

TEST_F(KeptPipesTest, are_not_used_if_the_worker_has_closed_them) {
  warm(true);
  answered();
  answered();
  EXPECT_EQ(worker_->requests_by_kept(), 0u);
  EXPECT_EQ(worker_->requests(), 3u);
}

TEST_F(KeptPipesTest, are_not_missed_by_a_request_that_their_worker_never_began) {
  warm();
  worker_->nature.to_answer = fakes::never;
  Peer& peer = request();
  pass(milliseconds(10));
  EXPECT_EQ(worker_->requests_by_kept(), 1u);
  worker_->retire(RETIRED_MAPPINGS, "a mapping is lost");
  pass(seconds(1));
  EXPECT_TRUE(has(peer.output, "hello")) << peer.output;
  EXPECT_EQ(peer.app_status(), 0);
}

TEST_F(GatewayTest, breaks_off_an_answer_whose_warm_program_was_killed_in_the_middle) {
  site_.program().mode = config::Mode::persistent;
  site_.changed();
  request();
  pass(seconds(1));
  for (auto* worker : processes_.living(Kind::worker)) worker->nature.to_answer = fakes::never;
  Peer& peer = request();
  pass(milliseconds(10));
  for (auto* worker : processes_.living(Kind::worker)) {
    if (!worker->in_request()) continue;
    worker->die(SIGSEGV);
  }
  pass(milliseconds(10));
  EXPECT_TRUE(has(peer.output, "Status: 502")) << peer.output;
  EXPECT_EQ(peer.app_status(), 128 + SIGSEGV);
}

}  // namespace
}  // namespace gateway
