// The events of ClientConnection for an application's bytes: a table of streams, each also cut at
// every byte; and what it writes, read back by ServerConnection.
#include "fastcgi/client_connection.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fastcgi/record_writer.h"
#include "unit/fastcgi/answer_transcript.h"

namespace fastcgi {
namespace {

using namespace std::string_literals;
using namespace test;

std::string out(std::string_view text) {
  return raw_record(FCGI_STDOUT, 1, std::string(text));
}
std::string err(std::string_view text) {
  return raw_record(FCGI_STDERR, 1, std::string(text));
}
std::string end(char app_status, char protocol_status) {
  return raw_record(FCGI_END_REQUEST, 1,
                    std::string("\0\0\0", 3) + app_status + protocol_status + "\0\0\0"s);
}

struct Case {
  std::string name;
  std::string bytes;
  Lines expected;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"nothing", "", {}},
      {"an answer", out("abc") + out("") + end(0, 0), {"output abc", "end 0 0"}},
      {"no stream is ended", out("abc") + end(7, 0), {"output abc", "end 7 0"}},
      {"both streams, in turn",
       out("a") + err("x") + out("b") + err("") + out("") + end(0, 0),
       {"output a", "errors x", "output b", "end 0 0"}},
      {"nothing but an end", end(0, 0), {"end 0 0"}},
      {"an application that has no room", end(0, FCGI_OVERLOADED), {"end 0 2"}},
      {"padding is nobody's",
       raw_record(FCGI_STDOUT, 1, "abc", 5) +
           raw_record(FCGI_END_REQUEST, 1, "\1\2\3\4\0\0\0\0"s, 8),
       {"output abc", "end 16909060 0"}},
      {"an answer to GET_VALUES",
       raw_record(FCGI_GET_VALUES_RESULT, 0, pairs({{"FCGI_MPXS_CONNS", "0"}})) + out("a"),
       {"management", "output a"}},
      {"an application that knows no GET_VALUES",
       raw_record(FCGI_UNKNOWN_TYPE, 0, "\x09\0\0\0\0\0\0\0"s),
       {"management"}},
      {"output behind the end",
       end(0, 0) + out("a"),
       {"end 0 0", "bad: a record of type 6 for request 1, which is not open"}},
      {"another request's output",
       raw_record(FCGI_STDOUT, 2, "a"),
       {"bad: a record of type 6 for request 2, which is not open"}},
      {"what a client sends",
       raw_record(FCGI_STDIN, 1, "a"),
       {"bad: a record of type 5, which no application sends"}},
      {"a management record that answers nothing",
       raw_record(FCGI_BEGIN_REQUEST, 0, ""),
       {"bad: a management record of type 1"}},
      {"an end without an exit code",
       raw_record(FCGI_END_REQUEST, 1, ""),
       {"bad: a FCGI_END_REQUEST of 0 bytes"}},
      {"another version", "HTTP/1.1 400 Bad Request\r\n", {"bad: a record's version is not 1"}},
      {"nothing is told behind a bad record",
       raw_record(FCGI_STDIN, 1, "") + out("a") + end(0, 0),
       {"bad: a record of type 5, which no application sends"}},
  };
  return all;
}

TEST(ClientConnection, tells_the_same_of_an_answer_wherever_reads_cut_it) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(read_answer({one.bytes}), one.expected);
    for (std::size_t at = 0; at <= one.bytes.size(); ++at) {
      const std::string_view all = one.bytes;
      EXPECT_EQ(read_answer({all.substr(0, at), all.substr(at)}), one.expected) << at;
    }
  }
}

TEST(ClientConnection, writes_a_request_that_an_application_reads) {
  ClientConnection client;
  std::string bytes;
  client.begin(bytes, "A=b\0LONG="s + std::string(300, 'x') + "\0EMPTY=\0X==y\0"s);
  client.append_body(bytes, "abc");
  client.append_body(bytes, std::string(70000, 'z'));
  client.end_body(bytes);
  const Lines told = run_connection({}, {bytes}, Finishing::never);
  const Lines wanted = {"request_ready 1 keep A=b LONG=" + std::string(300, 'x') + " EMPTY= X==y",
                        "stdin 1 abc" + std::string(70000, 'z'), "stdin_end 1"};
  EXPECT_EQ(told, wanted);
}

TEST(ClientConnection, passes_over_what_is_no_variable) {
  ClientConnection client;
  std::string bytes;
  client.begin(bytes, "A=b\0nonsense\0C=d"s);
  EXPECT_EQ(run_connection({}, {bytes}, Finishing::never), Lines{"request_ready 1 keep A=b C=d"});
}

TEST(ClientConnection, takes_one_request_after_another) {
  ClientConnection client;
  std::string bytes;
  for (int i = 0; i < 3; ++i) {
    client.begin(bytes, "A=b\0"s);
    client.end_body(bytes);
    EXPECT_TRUE(client.is_open());
    const std::string answer = out("x") + end(0, 0);
    client.feed(answer);
    ClientEvent event;
    while (client.next(event) == EventStep::event) {
    }
    EXPECT_FALSE(client.is_open());
  }
}

TEST(ClientConnection, aborts_what_is_open) {
  ClientConnection client;
  std::string bytes;
  client.begin(bytes, "A=b\0"s);
  client.abort(bytes);
  EXPECT_EQ(run_connection({}, {bytes}, Finishing::never),
            (Lines{"request_ready 1 keep A=b", "aborted 1"}));
}

TEST(ClientConnection, asks_what_every_application_can_answer) {
  std::string bytes;
  ClientConnection::append_question(bytes);
  const Lines told = run_connection({}, {bytes}, Finishing::never);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].rfind("reply", 0), 0u) << told[0];
}

}  // namespace
}  // namespace fastcgi
