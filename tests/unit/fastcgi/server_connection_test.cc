// The events of ServerConnection for whole byte streams: a table of streams, each also cut at every
// byte. Behaviour that needs a caller in between is in server_connection_finish_test.cc.
#include "fastcgi/server_connection.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "fastcgi/record_writer.h"
#include "unit/fastcgi/client_bytes.h"
#include "unit/fastcgi/transcript.h"

namespace fastcgi {
namespace {

using namespace std::string_literals;
using namespace test;

const ServerLimits kLimits = {
    .params_bytes_max = 40, .requests_max = 2, .max_conns = 17, .max_reqs = 34};

struct Case {
  std::string name;
  std::string bytes;
  Lines expected;
};

const std::vector<Case>& well_formed() {
  static const std::vector<Case> all = {
      {"nothing", "", {}},
      {"a request without a body",
       begin(1) + params(1, {{"A", "b"}, {"C", ""}}) + params_end(1) + stdin_end(1),
       {"request_ready 1 close A=b C=", "stdin_end 1", "finish 1, closes"}},
      {"a request with a body in two records",
       keep(1) + params(1, {{"A", "b"}}) + params_end(1) + body(1, "abc") + body(1, "def") +
           stdin_end(1),
       {"request_ready 1 keep A=b", "stdin 1 abcdef", "stdin_end 1", "finish 1, stays"}},
      {"params cut over records within a pair",
       keep(1) + raw_record(FCGI_PARAMS, 1, "\x02") + raw_record(FCGI_PARAMS, 1, "\x02"s + "A", 3) +
           raw_record(FCGI_PARAMS, 1, "Bc") + raw_record(FCGI_PARAMS, 1, "d") + params_end(1),
       {"request_ready 1 keep AB=cd"}},
      {"no params at all",
       keep(1) + params_end(1) + stdin_end(1),
       {"request_ready 1 keep", "stdin_end 1", "finish 1, stays"}},
      {"padding on every record",
       raw_record(FCGI_BEGIN_REQUEST, 1, "\0\1\1\0\0\0\0\0"s, 9) +
           raw_record(FCGI_PARAMS, 1, pairs({{"A", "b"}}), 255) +
           raw_record(FCGI_PARAMS, 1, "", 8) + raw_record(FCGI_STDIN, 1, "abc", 5) +
           raw_record(FCGI_STDIN, 1, "", 1),
       {"request_ready 1 keep A=b", "stdin 1 abc", "stdin_end 1", "finish 1, stays"}},
      {"two requests mixed",
       keep(1) + keep(2) + params(2, {{"B", "2"}}) + params(1, {{"A", "1"}}) + params_end(2) +
           body(2, "x") + params_end(1) + body(1, "y") + body(2, "z") + stdin_end(1) + stdin_end(2),
       {"request_ready 2 keep B=2", "stdin 2 x", "request_ready 1 keep A=1", "stdin 1 y",
        "stdin 2 z", "stdin_end 1", "finish 1, stays", "stdin_end 2", "finish 2, stays"}},
      {"an id used again after its request was finished",
       keep(1) + params(1, {{"A", "1"}}) + params_end(1) + stdin_end(1) + keep(1) +
           params(1, {{"A", "2"}}) + params_end(1) + stdin_end(1),
       {"request_ready 1 keep A=1", "stdin_end 1", "finish 1, stays", "request_ready 1 keep A=2",
        "stdin_end 1", "finish 1, stays"}},
      {"the greatest id", keep(65535) + params_end(65535), {"request_ready 65535 keep"}},
      {"PARAMS end sent twice",
       keep(1) + params_end(1) + params_end(1) + params_end(1) + stdin_end(1),
       {"request_ready 1 keep", "stdin_end 1", "finish 1, stays"}},
      {"nothing after the last request of a connection without keep-alive",
       begin(1) + params_end(1) + stdin_end(1) + keep(2) + params_end(2),
       {"request_ready 1 close", "stdin_end 1", "finish 1, closes"}},
      {"close put off until the other request is finished",
       begin(1) + keep(2) + params_end(1) + params_end(2) + stdin_end(1) + stdin_end(2),
       {"request_ready 1 close", "request_ready 2 keep", "stdin_end 1", "finish 1, stays",
        "stdin_end 2", "finish 2, closes"}},
  };
  return all;
}

const std::vector<Case>& aborts_and_limits() {
  static const std::vector<Case> all = {
      {"abort before the first params", keep(1) + abort(1), {"aborted 1", "finish 1, stays"}},
      {"abort amid params, whose rest is ignored",
       keep(1) + params(1, {{"A", "b"}}) + abort(1) + params(1, {{"C", "d"}}) + params_end(1) +
           stdin_end(1),
       {"aborted 1", "finish 1, stays"}},
      {"abort amid the body",
       keep(1) + params_end(1) + body(1, "ab") + abort(1) + body(1, "cd") + stdin_end(1),
       {"request_ready 1 keep", "stdin 1 ab", "aborted 1", "finish 1, stays"}},
      {"abort with content, which means nothing",
       keep(1) + raw_record(FCGI_ABORT_REQUEST, 1, "abc", 5),
       {"aborted 1", "finish 1, stays"}},
      {"abort of a request without keep-alive",
       begin(1) + abort(1),
       {"aborted 1", "finish 1, closes"}},
      {"params of just the limit",
       keep(1) + params(1, {{"A", std::string(37, 'v')}}) + params_end(1),
       {"request_ready 1 keep A=" + std::string(37, 'v')}},
      {"params one byte over the limit",
       keep(1) + params(1, {{"A", std::string(38, 'v')}}) + params_end(1) + stdin_end(1) + keep(2) +
           params_end(2),
       {"params_too_large 1 keep", "finish 1, stays", "request_ready 2 keep"}},
      {"params over the limit in many records",
       begin(1) + params(1, {{"A", std::string(20, 'v')}}) +
           params(1, {{"B", std::string(20, 'v')}}) + params(1, {{"C", "d"}}) + params_end(1) +
           stdin_end(1),
       {"params_too_large 1 close", "finish 1, closes"}},
  };
  return all;
}

const std::vector<Case>& replies() {
  static const std::vector<Case> all = {
      {"values asked for, in one fixed order",
       get_values({FCGI_MPXS_CONNS, FCGI_MAX_REQS, FCGI_MAX_CONNS}),
       {"reply GET_VALUES_RESULT 0 \\x0e\\x02FCGI_MAX_CONNS17\\x0d\\x02FCGI_MAX_REQS34"
        "\\x0f\\x01FCGI_MPXS_CONNS1, stays"}},
      {"only the values asked for, each once, unknown names left out",
       get_values({"FCGI_NEW", FCGI_MPXS_CONNS, FCGI_MPXS_CONNS, ""}),
       {"reply GET_VALUES_RESULT 0 \\x0f\\x01FCGI_MPXS_CONNS1, stays"}},
      {"no value asked for", get_values({}), {"reply GET_VALUES_RESULT 0 , stays"}},
      {"values asked for amid a request's params and body",
       keep(1) + params(1, {{"A", "b"}}) + get_values({}) + params_end(1) + body(1, "a") +
           get_values({}) + stdin_end(1),
       {"reply GET_VALUES_RESULT 0 , stays", "request_ready 1 keep A=b", "stdin 1 a",
        "reply GET_VALUES_RESULT 0 , stays", "stdin_end 1", "finish 1, stays"}},
      {"an unknown management type",
       raw_record(200, 0, "abc", 5),
       {"reply UNKNOWN_TYPE 0 \\xc8\\x00\\x00\\x00\\x00\\x00\\x00\\x00, stays"}},
      {"an unknown management type without content",
       raw_record(0, 0, ""),
       {"reply UNKNOWN_TYPE 0 \\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00, stays"}},
      {"an application's type with the null id",
       raw_record(FCGI_STDOUT, 0, "abc"),
       {"reply UNKNOWN_TYPE 0 \\x06\\x00\\x00\\x00\\x00\\x00\\x00\\x00, stays"}},
      {"a body with the null id",
       raw_record(FCGI_STDIN, 0, "abc"),
       {"reply UNKNOWN_TYPE 0 \\x05\\x00\\x00\\x00\\x00\\x00\\x00\\x00, stays"}},
      {"an Authorizer is wanted",
       begin_as(2, 1, KeepConnection::yes) + params_end(1) + stdin_end(1) + keep(2) + params_end(2),
       {"reply END_REQUEST 1 \\x00\\x00\\x00\\x00\\x03\\x00\\x00\\x00, stays",
        "request_ready 2 keep"}},
      {"a Filter is wanted, without keep-alive",
       begin_as(3, 1, KeepConnection::no) + keep(2) + params_end(2),
       {"reply END_REQUEST 1 \\x00\\x00\\x00\\x00\\x03\\x00\\x00\\x00, closes"}},
      {"a role that nobody knows, without keep-alive, beside an active request",
       keep(1) + begin_as(0x101, 2, KeepConnection::no) + params_end(1) + stdin_end(1),
       {"reply END_REQUEST 2 \\x00\\x00\\x00\\x00\\x03\\x00\\x00\\x00, stays",
        "request_ready 1 keep", "stdin_end 1", "finish 1, closes"}},
      {"one request too many",
       keep(1) + keep(2) + keep(3) + params_end(1) + params_end(3) + stdin_end(3),
       {"reply END_REQUEST 3 \\x00\\x00\\x00\\x00\\x02\\x00\\x00\\x00, stays",
        "request_ready 1 keep"}},
      {"room again once a request is finished",
       keep(1) + keep(2) + abort(1) + keep(3) + params_end(3),
       {"aborted 1", "finish 1, stays", "request_ready 3 keep"}},
  };
  return all;
}

const std::vector<Case>& ignored() {
  static const std::vector<Case> all = {
      {"records of an id that never was active",
       params(9, {{"A", "b"}}) + params_end(9) + body(9, "abc") + stdin_end(9) + abort(9),
       {}},
      {"records of a finished request",
       keep(1) + abort(1) + params(1, {{"A", "b"}}) + body(1, "abc") + stdin_end(1) + abort(1),
       {"aborted 1", "finish 1, stays"}},
      {"FCGI_DATA of a Responder",
       keep(1) + raw_record(FCGI_DATA, 1, "abc") + params_end(1) + raw_record(FCGI_DATA, 1, ""),
       {"request_ready 1 keep"}},
      {"an application's records for an active request",
       keep(1) + raw_record(FCGI_STDOUT, 1, "abc") + raw_record(FCGI_STDERR, 1, "abc") +
           raw_record(FCGI_END_REQUEST, 1, std::string(8, '\0')) + params_end(1),
       {"request_ready 1 keep"}},
      {"management and unknown types for an active request",
       keep(1) + raw_record(FCGI_GET_VALUES, 1, "\x05") + raw_record(FCGI_UNKNOWN_TYPE, 1, "abc") +
           raw_record(200, 1, "abc") + params_end(1),
       {"request_ready 1 keep"}},
      {"an unknown type for an inactive id", raw_record(200, 9, "abc"), {}},
      {"STDIN end sent twice",
       keep(1) + keep(2) + params_end(1) + stdin_end(1) + stdin_end(1),
       {"request_ready 1 keep", "stdin_end 1", "finish 1, stays"}},
  };
  return all;
}

const std::vector<Case>& malformed() {
  static const std::vector<Case> all = {
      {"a wrong version",
       keep(1) + params_end(1) + raw_record(FCGI_STDIN, 1, "", 0, 2) + body(1, "abc"),
       {"request_ready 1 keep", "bad_record: a record's version is not 1"}},
      {"BEGIN with a body of 3 bytes",
       raw_record(FCGI_BEGIN_REQUEST, 1, "\0\1\1"s) + keep(2) + params_end(2),
       {"bad_record: FCGI_BEGIN_REQUEST of request 1 has 3 bytes instead of 8"}},
      {"BEGIN without a body",
       raw_record(FCGI_BEGIN_REQUEST, 1, "", 8),
       {"bad_record: FCGI_BEGIN_REQUEST of request 1 has 0 bytes instead of 8"}},
      {"BEGIN with a body of 9 bytes",
       raw_record(FCGI_BEGIN_REQUEST, 1, "\0\1\1\0\0\0\0\0\0"s),
       {"bad_record: FCGI_BEGIN_REQUEST of request 1 has 9 bytes instead of 8"}},
      {"BEGIN with id 0", keep(0), {"bad_record: FCGI_BEGIN_REQUEST with request id 0"}},
      {"BEGIN for an active id",
       keep(7) + params_end(7) + keep(7),
       {"request_ready 7 keep", "bad_record: FCGI_BEGIN_REQUEST of request 7, which is active"}},
      {"a body before the params",
       keep(1) + body(1, "abc"),
       {"bad_record: FCGI_STDIN of request 1 before the end of its FCGI_PARAMS"}},
      {"the body's end amid the params",
       keep(1) + params(1, {{"A", "b"}}) + stdin_end(1),
       {"bad_record: FCGI_STDIN of request 1 before the end of its FCGI_PARAMS"}},
      {"params after their end",
       keep(1) + params_end(1) + params(1, {{"A", "b"}}),
       {"request_ready 1 keep", "bad_record: FCGI_PARAMS of request 1 after their end"}},
      {"a params pair that is cut off",
       keep(1) +
           raw_record(FCGI_PARAMS, 1,
                      "\x01\x01"
                      "Ab\x01\x02"
                      "C") +
           params_end(1),
       {"bad_record: FCGI_PARAMS of request 1: name-value pair 2 is cut off by the end of its "
        "stream"}},
      {"a params length that is cut off",
       keep(1) + raw_record(FCGI_PARAMS, 1, "\xff\xff\xff") + params_end(1),
       {"bad_record: FCGI_PARAMS of request 1: name-value pair 1 is cut off by the end of its "
        "stream"}},
      {"GET_VALUES with a pair that is cut off",
       raw_record(FCGI_GET_VALUES, 0, "\x0e"),
       {"bad_record: a name-value pair is cut off by the end of FCGI_GET_VALUES"}},
      {"GET_VALUES over its limit",
       raw_record(FCGI_GET_VALUES, 0, std::string(4097, '\0')),
       {"bad_record: a FCGI_GET_VALUES record has 4097 bytes, at most 4096 are taken"}},
  };
  return all;
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto* table :
       {&well_formed(), &aborts_and_limits(), &replies(), &ignored(), &malformed()}) {
    all.insert(all.end(), table->begin(), table->end());
  }
  return all;
}

void expect_in_one_piece(const std::vector<Case>& table) {
  for (const Case& one : table) {
    EXPECT_EQ(run_connection(kLimits, {one.bytes}), one.expected) << one.name;
  }
}

TEST(ServerConnection, tells_of_well_formed_requests) {
  expect_in_one_piece(well_formed());
}

TEST(ServerConnection, tells_of_aborts_and_of_params_over_the_limit) {
  expect_in_one_piece(aborts_and_limits());
}

TEST(ServerConnection, answers_by_itself_what_concerns_no_request) {
  expect_in_one_piece(replies());
}

TEST(ServerConnection, ignores_what_the_protocol_lets_it_ignore) {
  expect_in_one_piece(ignored());
}

TEST(ServerConnection, ends_at_a_malformed_record_and_says_why) {
  expect_in_one_piece(malformed());
}

TEST(ServerConnection, tells_the_same_when_cut_in_two_at_any_byte) {
  for (const Case& one : all_cases()) {
    for (std::size_t at = 0; at <= one.bytes.size(); ++at) {
      EXPECT_EQ(run_connection(kLimits, cut_at(one.bytes, at)), one.expected)
          << one.name << " at " << at;
    }
  }
}

TEST(ServerConnection, tells_the_same_byte_by_byte) {
  for (const Case& one : all_cases()) {
    EXPECT_EQ(run_connection(kLimits, cut_everywhere(one.bytes)), one.expected) << one.name;
  }
}

TEST(ServerConnection, takes_get_values_of_just_its_limit) {
  const std::string record =
      raw_record(FCGI_GET_VALUES, 0, std::string(ServerConnection::kGetValuesBytesMax, '\0'));
  EXPECT_EQ(run_connection(kLimits, {record}), Lines{"reply GET_VALUES_RESULT 0 , stays"});
  EXPECT_EQ(run_connection(kLimits, cut_everywhere(record)),
            Lines{"reply GET_VALUES_RESULT 0 , stays"});
}

}  // namespace
}  // namespace fastcgi
