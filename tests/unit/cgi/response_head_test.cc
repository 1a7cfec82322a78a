#include "cgi/response_head.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using namespace std::literals;
using cgi::HeadFault;
using cgi::HeadForm;
using cgi::HeadStep;
using cgi::ResponseKind;

struct GoodCase {
  std::string_view sent;       // with its blank line
  std::string_view forwarded;  // "" = as sent
  int status = 200;
  ResponseKind kind = ResponseKind::document;
  std::string_view location = "";
  std::size_t dropped_lines = 0;
  HeadForm form = HeadForm::parsed;
};

const GoodCase kGood[] = {
    {"Content-Type: text/html\n\n", ""},
    {"Content-Type: text/html\r\n\r\n", ""},
    {"Content-Type: text/html\r\nX: y\n\r\n", "Content-Type: text/html\nX: y\n\n"},
    {"content-type:text/html\n\r\n", "content-type:text/html\n\n"},
    {"A: b\r\nC: d\r\n\n", "A: b\nC: d\n\n"},
    {"X-Only: this\n\n", ""},
    {"X-Empty:\n\n", ""},
    {"Status: 404 Not Found\r\nContent-Type: text/plain\r\n\r\n", "", 404},
    {"Status: 204\n\n", "", 204},
    {"STATUS:\t 500\tOops \n\n", "", 500},
    {"Location: /here?q\n\n", "", 302, ResponseKind::local_redirect, "/here?q"},
    {"Location: http://a/b\n\n", "Location: http://a/b\nStatus: 302 Found\n\n", 302,
     ResponseKind::client_redirect, "http://a/b"},
    {"Location: http://a/\r\nContent-Type: text/html\r\n\r\n",
     "Location: http://a/\r\nContent-Type: text/html\r\nStatus: 302 Found\r\n\r\n", 302,
     ResponseKind::client_redirect_document, "http://a/"},
    {"Location: /list\nStatus: 303 See Other\n\n", "", 303, ResponseKind::client_redirect, "/list"},
    {"Status: 303 See Other\nLocation: /list\n\n", "Location: /list\nStatus: 303 See Other\n\n",
     303, ResponseKind::client_redirect, "/list"},
    {"Status: 201\nLocation: /new\nContent-Type: text/html\n\n",
     "Location: /new\nContent-Type: text/html\nStatus: 201\n\n", 201, ResponseKind::document,
     "/new"},
    {"Status-X: 1\r\nstatus:301\r\nLocation: http://a/\r\n\r\n",
     "Status-X: 1\r\nLocation: http://a/\r\nstatus:301\r\n\r\n", 301, ResponseKind::client_redirect,
     "http://a/"},
    {"Content-Type: a/b\nSet-Cookie: a=1\nSet-Cookie: b=2\n\n", ""},
    // Not byte for byte:
    {"<!--: spam\nContent-Type: text/html\n\n", "Content-Type: text/html\n\n", 200,
     ResponseKind::document, "", 1},
    {"Content-Type: a/b\nwarning, something odd happened\nX: y\n\n", "Content-Type: a/b\nX: y\n\n",
     200, ResponseKind::document, "", 1},
    {"Bad Name: x\nX : y\n: z\nX: y\r\n\r\n", "X: y\n\n", 200, ResponseKind::document, "", 3},
    {"X: y\n folded\n\tfolded again\nZ: z\n\n", "X: y\nZ: z\n\n", 200, ResponseKind::document, "",
     2},
    {"Content-Type: a/b\nContent-Type: c/d\n\n", "Content-Type: c/d\n\n", 200,
     ResponseKind::document, "", 1},
    {"Content-Type: a/b\r\nContent-Type:\r\nX: y\r\n\r\n", "Content-Type:\r\nX: y\r\n\r\n", 200,
     ResponseKind::document, "", 1},
    {"Status: 404\nStatus: 200\n\n", "Status: 200\n\n", 200, ResponseKind::document, "", 1},
    {"Status: 404\nX: y\nSTATUS: 403\nStatus: 401\n\n", "X: y\nStatus: 401\n\n", 401,
     ResponseKind::document, "", 2},
    {"Status: 404\nStatus: bad\n\n", "Status: 404\n\n", 404, ResponseKind::document, "", 1},
    {"Status: bad\nStatus: 404\n\n", "Status: 404\n\n", 404, ResponseKind::document, "", 1},
    {"Location: /a\nLocation: /b\n\n", "Location: /b\n\n", 302, ResponseKind::local_redirect, "/b",
     1},
    {"Location: http://a/\nLocation: /b\nLocation:\n\n", "Location: /b\n\n", 302,
     ResponseKind::local_redirect, "/b", 2},
    {"Location: /a\nStatus: 201\nLocation: http://b/\nStatus: 301\n\n",
     "Location: http://b/\nStatus: 301\n\n", 301, ResponseKind::client_redirect, "http://b/", 2},
    {"Location:\nX: y\n\n", "X: y\n\n", 200, ResponseKind::document, "", 1},
    {"Content-Length: 3\nContent-Length: 4\n\n", "Content-Length: 4\n\n", 200,
     ResponseKind::document, "", 1},
    {"Content-Length: 3\nContent-Length: x\n\n", "Content-Length: 3\n\n", 200,
     ResponseKind::document, "", 1},
    {"Content-Length: -1\nX: y\n\n", "X: y\n\n", 200, ResponseKind::document, "", 1},
    {"Connection: close\nKEEP-ALIVE: 5\nTransfer-Encoding: chunked\nX: y\n\n", "X: y\n\n", 200,
     ResponseKind::document, "", 3},
    {"Upgrade: h2c\nTE: trailers\nTrailer: X\nX: y\n\n", "X: y\n\n", 200, ResponseKind::document,
     "", 3},
    {"Proxy-Authenticate: Basic\nproxy-connection: close\nProxyX: y\n\n", "ProxyX: y\n\n", 200,
     ResponseKind::document, "", 2},
    {"Content-Length: 9223372036854775807\n\n", "Content-Length: 9223372036854775807\n\n", 200,
     ResponseKind::document, "", 0},
    {"Content-Length: 9223372036854775808\nX: y\n\n", "X: y\n\n", 200, ResponseKind::document, "",
     1},
    {"Content-Length: 99999999999999999999\nContent-Length: 3\n\n", "Content-Length: 3\n\n", 200,
     ResponseKind::document, "", 1},
    {"Content-Length: 3, 3\nContent-Length: +3\nX: y\n\n", "X: y\n\n", 200, ResponseKind::document,
     "", 2},
    {"X-Foo: 1\nConnection: close, x-foo\nX-Bar: 2\n\n", "X-Bar: 2\n\n", 200,
     ResponseKind::document, "", 2},
    {"CONNECTION: Status ,\tA\r\nA: 1\r\nStatus: 404\r\nB: 2\r\n\r\n",
     "Status: 404\r\nB: 2\r\n\r\n", 404, ResponseKind::document, "", 2},
    {"Connection-Id: A\nA: 1\n\n", ""},
    // Only a blank line.
    {"\n", "Status: 200 OK\n\n"},
    {"\r\n", "Status: 200 OK\r\n\r\n"},
    {"\r\r\n", "Status: 200 OK\n\n"},
    // A reason that no blank separates.
    {"Status: 404: gone\n\n", "Status: 404 : gone\n\n", 404},
    {"X: y\nStatus: 200OK\r\n\r\n", "X: y\nStatus: 200 OK\n\n"},
    {"Location: /a\nStatus: 301Moved\n\n", "Location: /a\nStatus: 301 Moved\n\n", 301,
     ResponseKind::client_redirect, "/a"},
    {"HTTP/1.1 404Not\n\n", "Status: 404 Not\n\n", 404, ResponseKind::document, "", 0,
     HeadForm::nph},
    // More than one CR before LF.
    {"X: y\r\r\nZ: z\r\n\r\n", "X: y\nZ: z\n\n"},
    {"Status: 404\r\r\r\n\r\r\r\n", "Status: 404\n\n", 404},
    {"X: y\n\r\r\n", "X: y\n\n"},
    // Control bytes.
    {"X: a\x1b[1mb\x01\x7f\tc\xff\n\n", "X: a [1mb  \tc\xff\n\n"},
    {"Status: 404\vNot\x1b Found\n\n", "Status: 404 Not  Found\n\n", 404},
    {"X\x01Y: 1\n\x01Z: 1\nA: 1\n\n", "A: 1\n\n", 200, ResponseKind::document, "", 2},
    {"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\n\r\n", "Status: 200 OK\r\nContent-Type: a/b\r\n\r\n",
     200, ResponseKind::document, "", 0, HeadForm::nph},
    {"HTTP/1.0 404\n\n", "Status: 404\n\n", 404, ResponseKind::document, "", 0, HeadForm::nph},
    {"HTTP/1.0 200\nStatus: 404 Not Found\n\n", "Status: 404 Not Found\n\n", 404,
     ResponseKind::document, "", 0, HeadForm::nph},
    {"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nstatus: 404\r\nStatus: 403\r\n\r\n",
     "Content-Type: a/b\r\nStatus: 403\r\n\r\n", 403, ResponseKind::document, "", 1, HeadForm::nph},
    {"HTTP/1.1 200 OK\nConnection: close\n\n", "Status: 200 OK\n\n", 200, ResponseKind::document,
     "", 1, HeadForm::nph},
    {"HTTP/1.1  301 Moved\nLocation: http://a/\n\n", "Location: http://a/\nStatus: 301 Moved\n\n",
     301, ResponseKind::client_redirect, "http://a/", 0, HeadForm::nph},
    // A late status line is only a stray line.
    {"X: y\nHTTP/1.1 200 OK\n\n", "X: y\n\n", 200, ResponseKind::document, "", 1},
};

struct BadCase {
  std::string_view sent;
  HeadFault fault;
};

const BadCase kBad[] = {
    {"", HeadFault::empty},
    {"Content-Type: text/html\n", HeadFault::cut},
    {"Content-Type: text/html", HeadFault::cut},
    {"\r", HeadFault::cut},
    {"X: y\n\r", HeadFault::cut},
    {"Hello, world\n\n", HeadFault::no_field},
    {" X: y\n\n", HeadFault::no_field},
    {"Connection: close\n\n", HeadFault::no_field},
    {"X: a\0b\n\n"sv, HeadFault::nul_byte},
    {"X: y\rZ: z\n\n", HeadFault::bare_cr},
    {"X: y\r\rZ: z\r\r\n\n", HeadFault::bare_cr},
    {"Status: 404x\n\rX: y\n\n", HeadFault::bare_cr},
    {"Status: abc\n\n", HeadFault::bad_status},
    {"Status:\n\n", HeadFault::bad_status},
    {"Status: 20\n\n", HeadFault::bad_status},
    {"Status: 2000\n\n", HeadFault::bad_status},
    {"Status: 100 Continue\n\n", HeadFault::bad_status},
    {"HTTP/1.1 OK\n\n", HeadFault::bad_status},
    {"HTTP/1.1 200 OK\nStatus: abc\n\n", HeadFault::bad_status},
};

void expect_good(const cgi::ResponseHeadReader& reader, const GoodCase& good) {
  const cgi::ResponseHead& head = reader.head();
  EXPECT_EQ(head.bytes, good.forwarded.empty() ? good.sent : good.forwarded);
  EXPECT_EQ(head.status, good.status);
  EXPECT_EQ(head.kind, good.kind);
  EXPECT_EQ(head.form, good.form);
  EXPECT_EQ(head.location, good.location);
  EXPECT_EQ(head.dropped_lines, good.dropped_lines);
  EXPECT_EQ(reader.fault(), HeadFault::none);
}

// A chunk in its own memory, so that ASan notices a view past its end or its lifetime.
std::vector<char> chunk(std::string_view bytes) {
  return {bytes.begin(), bytes.end()};
}
std::string_view view(const std::vector<char>& bytes) {
  return {bytes.data(), bytes.size()};
}

TEST(ResponseHeadReader, reads_good_heads) {
  for (const GoodCase& good : kGood) {
    SCOPED_TRACE(good.sent);
    const std::vector<char> whole = chunk(std::string(good.sent) + "body\n\n");
    cgi::ResponseHeadReader reader;
    ASSERT_EQ(reader.feed(view(whole)), HeadStep::complete);
    expect_good(reader, good);
    EXPECT_EQ(reader.body(), "body\n\n");
  }
}

TEST(ResponseHeadReader, reads_good_heads_cut_in_two_anywhere) {
  for (const GoodCase& good : kGood) {
    SCOPED_TRACE(good.sent);
    for (std::size_t cut = 1; cut < good.sent.size(); ++cut) {
      cgi::ResponseHeadReader reader;
      {
        const std::vector<char> gone = chunk(good.sent.substr(0, cut));
        ASSERT_EQ(reader.feed(view(gone)), HeadStep::need_more) << cut;
      }
      const std::vector<char> rest = chunk(std::string(good.sent.substr(cut)) + "body");
      ASSERT_EQ(reader.feed(view(rest)), HeadStep::complete) << cut;
      EXPECT_EQ(reader.body(), "body");
      expect_good(reader, good);
    }
  }
}

TEST(ResponseHeadReader, reads_good_heads_byte_by_byte) {
  for (const GoodCase& good : kGood) {
    SCOPED_TRACE(good.sent);
    cgi::ResponseHeadReader reader;
    for (std::size_t i = 0; i < good.sent.size(); ++i) {
      const bool is_last = i + 1 == good.sent.size();
      ASSERT_EQ(reader.feed(good.sent.substr(i, 1)),
                is_last ? HeadStep::complete : HeadStep::need_more);
      EXPECT_EQ(reader.feed(""), is_last ? HeadStep::complete : HeadStep::need_more);
    }
    expect_good(reader, good);
    EXPECT_EQ(reader.body(), "");
  }
}

TEST(ResponseHeadReader, says_why_a_head_is_bad_however_it_is_cut) {
  for (const BadCase& bad : kBad) {
    SCOPED_TRACE(bad.sent);
    for (std::size_t cut = 0; cut <= bad.sent.size(); ++cut) {
      cgi::ResponseHeadReader reader;
      reader.feed(bad.sent.substr(0, cut));
      reader.feed(bad.sent.substr(cut));
      EXPECT_EQ(reader.end(), HeadStep::bad);
      EXPECT_EQ(reader.fault(), bad.fault) << cgi::describe(reader.fault());
    }
  }
}

TEST(ResponseHeadReader, forwards_an_untouched_head_without_copying_it) {
  const std::string_view sent = "Content-Type: text/html\n\nbody";
  cgi::ResponseHeadReader reader;
  ASSERT_EQ(reader.feed(sent), HeadStep::complete);
  EXPECT_EQ(reader.head().bytes.data(), sent.data());
  EXPECT_EQ(reader.body().data() + reader.body().size(), sent.data() + sent.size());
}

TEST(ResponseHeadReader, shows_the_first_line_that_it_dropped) {
  cgi::ResponseHeadReader reader;
  const std::string sent = "X: y\n" + std::string(300, 'a') + "\nb\n\n";
  reader.feed(sent);
  EXPECT_EQ(reader.head().dropped_lines, 2u);
  EXPECT_EQ(reader.head().first_dropped, std::string(200, 'a'));
}

TEST(ResponseHeadReader, says_which_fields_it_dropped_and_why) {
  cgi::ResponseHeadReader reader;
  reader.feed(
      "Content-Length: 1\nContent-Length: 2\nTransfer-Encoding: chunked\nConnection: X-Foo\n"
      "X-Foo: 1\nStatus: 200\nStatus: 404\nLocation:\nProxy-A: b\n folded\nhello\nX: \x01\n\n");
  EXPECT_EQ(
      reader.head().why_dropped,
      "Content-Length: a later one counts; Transfer-Encoding: the connection is the web server's; "
      "Connection: the connection is the web server's; X-Foo: Connection names it; "
      "Status: a later one counts; Location: it is empty; Proxy-A: a proxy's own; "
      " folded: a folded line; hello: no header field");
  EXPECT_EQ(reader.head().replaced_bytes, 1u);
}

// With the product of both numbers it would not end in our time.
TEST(ResponseHeadReader, compares_many_fields_with_many_names_of_connection) {
  std::string sent = "Connection: x-b";
  for (int i = 0; i < 300'000; ++i) sent += ",A" + std::to_string(i);
  sent += "\n";
  for (int i = 0; i < 300'000; ++i) sent += "B" + std::to_string(i) + ":\n";
  cgi::ResponseHeadReader reader(sent.size() + 100);
  reader.feed(sent + "X-B: 1\na7: 2\nX: y\n\n");
  EXPECT_EQ(reader.head().dropped_lines, 3u);
  EXPECT_TRUE(reader.head().bytes.ends_with(":\nX: y\n\n"));
}

TEST(ResponseHeadReader, makes_a_302_of_a_local_redirect_that_the_server_does_not_follow) {
  cgi::ResponseHeadReader reader;
  reader.set_server_redirects(false);
  reader.feed("Location: /here?q\r\n\r\n");
  EXPECT_EQ(reader.head().bytes, "Location: /here?q\r\nStatus: 302 Found\r\n\r\n");
  EXPECT_EQ(reader.head().status, 302);
  EXPECT_EQ(reader.head().kind, ResponseKind::client_redirect);
}

// mod_cgi does so itself.
TEST(ResponseHeadReader, makes_a_302_of_a_200_with_a_location_that_the_server_does_not_redirect) {
  for (const bool redirects : {false, true}) {
    cgi::ResponseHeadReader reader;
    reader.set_server_redirects(redirects);
    reader.feed("Status: 200 OK\nLocation: http://a/\nX: y\n\n");
    EXPECT_EQ(reader.head().bytes, redirects ? "Location: http://a/\nX: y\nStatus: 200 OK\n\n"
                                             : "Location: http://a/\nX: y\nStatus: 302 Found\n\n");
    EXPECT_EQ(reader.head().status, redirects ? 200 : 302);
  }
}

TEST(ResponseHeadReader, drops_a_field_whose_name_is_reserved) {
  cgi::ResponseHeadReader reader;
  reader.reserve_name("X-CGI-Arm");
  reader.feed("x-cgi-arm: rewind\nX: y\n\n");
  EXPECT_EQ(reader.head().bytes, "X: y\n\n");
  EXPECT_EQ(reader.head().why_dropped, "x-cgi-arm: the bridge's own (arm_header)");
}

TEST(ResponseHeadReader, takes_a_head_of_exactly_the_limit_and_no_longer_one) {
  const std::string_view sent = "X: 123\n\n";
  for (std::size_t cut = 0; cut <= sent.size(); ++cut) {
    cgi::ResponseHeadReader enough(sent.size()), short_by_one(sent.size() - 1);
    enough.feed(sent.substr(0, cut));
    enough.feed(sent.substr(cut));
    EXPECT_EQ(enough.end(), HeadStep::complete);
    short_by_one.feed(sent.substr(0, cut));
    short_by_one.feed(sent.substr(cut));
    EXPECT_EQ(short_by_one.end(), HeadStep::bad);
    EXPECT_EQ(short_by_one.fault(), HeadFault::too_long);
  }
}

TEST(ResponseHeadReader, gives_up_on_an_endless_head_at_the_limit) {
  cgi::ResponseHeadReader reader(1000);
  std::size_t fed = 0;
  while (reader.feed("0123456789") == HeadStep::need_more) fed += 10;
  EXPECT_EQ(fed, 990u);
  EXPECT_EQ(reader.fault(), HeadFault::too_long);
}

TEST(ResponseHeadReader, keeps_its_answer) {
  cgi::ResponseHeadReader good, bad;
  good.feed("X: y\n\n");
  EXPECT_EQ(good.feed("more"), HeadStep::complete);
  EXPECT_EQ(good.end(), HeadStep::complete);
  bad.end();
  EXPECT_EQ(bad.feed("X: y\n\n"), HeadStep::bad);
  EXPECT_EQ(bad.fault(), HeadFault::empty);
}

TEST(ResponseHeadReader, shows_what_it_saw_of_a_bad_head) {
  cgi::ResponseHeadReader reader;
  reader.feed("Traceback (most ");
  reader.feed("recent call last)");
  reader.end();
  EXPECT_EQ(reader.seen(), "Traceback (most recent call last)");
}

}  // namespace
