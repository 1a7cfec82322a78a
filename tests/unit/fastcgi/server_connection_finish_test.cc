// ServerConnection with a slow caller: ids stay active until finish().
#include <gtest/gtest.h>

#include <string>

#include "fastcgi/server_connection.h"
#include "unit/fastcgi/client_bytes.h"
#include "unit/fastcgi/transcript.h"

namespace fastcgi {
namespace {

using namespace test;

// Feeds a whole buffer and drops the events.
void feed(ServerConnection& connection, const std::string& bytes) {
  connection.feed(bytes);
  Event event;
  while (connection.next(event) == EventStep::event) {
  }
}

TEST(ServerConnection, keeps_an_id_active_until_its_request_is_finished) {
  EXPECT_EQ(
      run_connection({}, {keep(1) + params_end(1) + stdin_end(1) + keep(1)}, Finishing::never),
      (Lines{"request_ready 1 keep", "stdin_end 1",
             "bad_record: FCGI_BEGIN_REQUEST of request 1, which is active"}));
}

TEST(ServerConnection, tells_of_an_abort_once) {
  EXPECT_EQ(run_connection({}, {keep(1) + abort(1) + abort(1) + params_end(1) + stdin_end(1)},
                           Finishing::never),
            Lines{"aborted 1"});
}

TEST(ServerConnection, tells_of_an_abort_after_the_whole_body) {
  EXPECT_EQ(
      run_connection({}, {keep(1) + params_end(1) + stdin_end(1) + abort(1)}, Finishing::never),
      (Lines{"request_ready 1 keep", "stdin_end 1", "aborted 1"}));
}

TEST(ServerConnection, tells_nothing_but_abort_of_a_request_with_too_large_params) {
  const std::string too_large = params(1, {{"A", std::string(100, 'v')}});
  EXPECT_EQ(run_connection({.params_bytes_max = 50},
                           {keep(1) + too_large + too_large + params_end(1) + body(1, "abc") +
                            stdin_end(1) + abort(1)},
                           Finishing::never),
            (Lines{"params_too_large 1 keep", "aborted 1"}));
}

TEST(ServerConnection, takes_body_bytes_after_the_body_for_a_bad_record) {
  EXPECT_EQ(
      run_connection({}, {keep(1) + params_end(1) + stdin_end(1) + stdin_end(1) + body(1, "abc")},
                     Finishing::never),
      (Lines{"request_ready 1 keep", "stdin_end 1",
             "bad_record: FCGI_STDIN of request 1 after its end"}));
}

TEST(ServerConnection, refuses_every_request_when_none_is_allowed) {
  EXPECT_EQ(run_connection({.requests_max = 0}, {begin(1) + keep(2)}),
            Lines{"reply END_REQUEST 1 \\x00\\x00\\x00\\x00\\x02\\x00\\x00\\x00, closes"});
}

TEST(ServerConnection, ignores_the_rest_of_a_body_that_the_program_did_not_read) {
  ServerConnection connection({});
  feed(connection, keep(1) + params_end(1) + body(1, "abc"));
  EXPECT_EQ(connection.finish(1), ConnectionFate::stays);
  Event event;
  const std::string rest = body(1, "def") + stdin_end(1);
  connection.feed(rest);
  EXPECT_EQ(connection.next(event), EventStep::need_more);
}

TEST(ServerConnection, lets_a_request_be_finished_amid_a_record_of_its_body) {
  ServerConnection connection({});
  const std::string bytes = body(1, "abcdef") + keep(1) + params_end(1);
  feed(connection, keep(1) + params_end(1) + bytes.substr(0, kHeaderSize + 3));
  EXPECT_EQ(connection.finish(1), ConnectionFate::stays);
  Event event;
  const std::string rest = bytes.substr(kHeaderSize + 3);
  connection.feed(rest);
  ASSERT_EQ(connection.next(event), EventStep::event);
  EXPECT_EQ(event.type, EventType::request_ready);
  EXPECT_EQ(connection.next(event), EventStep::need_more);
}

TEST(ServerConnection, gives_the_body_as_views_into_the_bytes_fed) {
  ServerConnection connection({});
  feed(connection, keep(1) + params_end(1));
  const std::string bytes = body(1, "abc");
  connection.feed(bytes);
  Event event;
  ASSERT_EQ(connection.next(event), EventStep::event);
  EXPECT_EQ(event.bytes.data(), bytes.data() + kHeaderSize);
}

TEST(ServerConnection, hands_over_params_that_outlive_the_bytes_fed) {
  ServerConnection connection({});
  Event event;
  {
    const std::string bytes = keep(1) + params(1, {{"A", "b"}}) + params_end(1);
    connection.feed(bytes);
    ASSERT_EQ(connection.next(event), EventStep::event);
  }
  const Params params = std::move(event.params);
  EXPECT_EQ(params.find("A"), "b");
}

TEST(ServerConnection, counts_its_active_requests) {
  ServerConnection connection({});
  feed(connection, keep(1) + keep(2));
  EXPECT_EQ(connection.active_requests(), 2u);
  connection.finish(1);
  EXPECT_EQ(connection.active_requests(), 1u);
}

TEST(ServerConnection, tells_nothing_more_after_a_bad_record) {
  ServerConnection connection({});
  feed(connection, keep(1) + params_end(1) + keep(0));
  EXPECT_EQ(connection.finish(1), ConnectionFate::closes);
  const std::string bytes = keep(2) + params_end(2);
  Event event;
  connection.feed(bytes);
  EXPECT_EQ(connection.next(event), EventStep::need_more);
  connection.feed(bytes);
  EXPECT_EQ(connection.next(event), EventStep::need_more);
}

}  // namespace
}  // namespace fastcgi
