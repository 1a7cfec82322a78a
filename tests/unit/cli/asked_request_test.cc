#include "cli/asked_request.h"

#include <gtest/gtest.h>

#include "fastcgi/record_reader.h"

namespace cli {
namespace {

AskedRequest parsed(std::string_view line) {
  auto request = parse_request_line(line);
  EXPECT_TRUE(request) << line;
  return request ? request.take() : AskedRequest{};
}

// What a bridge would receive: the value of one param; "-" if it was not sent.
std::string param(const std::string& records, std::string_view name) {
  fastcgi::RecordReader reader;
  reader.feed(records);
  std::string pairs;
  fastcgi::Fragment fragment;
  while (reader.next(fragment) == fastcgi::Step::fragment) {
    if (fragment.header.type == fastcgi::RecordType::params) pairs.append(fragment.content);
  }
  std::string found = "-";
  for (std::size_t i = 0; i + 2 <= pairs.size();) {
    const auto name_size = static_cast<unsigned char>(pairs[i]);
    const auto value_size = static_cast<unsigned char>(pairs[i + 1]);
    if (pairs.substr(i + 2, name_size) == name) found = pairs.substr(i + 2 + name_size, value_size);
    i += 2u + name_size + value_size;
  }
  return found;
}

TEST(RequestLine, is_a_method_and_a_target) {
  EXPECT_EQ(parsed("GET /path/info?a=b&c"),
            (AskedRequest{.path = "/path/info", .query = "a=b&c", .body_file = {}}));
  EXPECT_EQ(parsed(" HEAD   /? \r"),
            (AskedRequest{.method = "HEAD", .path = {}, .query = {}, .body_file = {}}));
  EXPECT_EQ(parsed("POST /?a=b @form.txt"),
            (AskedRequest{.method = "POST", .path = {}, .query = "a=b", .body_file = "form.txt"}));
  EXPECT_EQ(parsed("GET /?a?b").query, "a?b");
}

TEST(RequestLine, that_is_none_is_refused_with_a_reason) {
  for (const char* line : {"", "GET", "get /", "GET path", "GET / HTTP/1.1", "GET / @",
                           "GET / @a b", "GET /%zz", "GET /%00"}) {
    const auto request = parse_request_line(line);
    ASSERT_FALSE(request) << line;
    EXPECT_NE(request.error().message.find("GET /path?query"), std::string::npos);
  }
}

TEST(RequestLine, is_what_to_string_gives) {
  for (const char* line : {"GET /", "GET /x%20y?a=b", "POST /?a @body"}) {
    EXPECT_EQ(to_string(parsed(line)), line);
  }
}

TEST(RequestLines, may_hold_comments_and_empty_lines) {
  auto requests = parse_request_lines("# a comment\n\nGET /a\r\n  \nHEAD /b");
  ASSERT_TRUE(requests);
  ASSERT_EQ(requests.value().size(), 2u);
  EXPECT_EQ(requests.value()[1].path, "/b");
}

TEST(RequestLines, that_are_wrong_are_named_by_their_number) {
  const auto requests = parse_request_lines("GET /a\n\nnonsense\n");
  ASSERT_FALSE(requests);
  EXPECT_EQ(requests.error().message.substr(0, 7), "line 3:");
}

TEST(DefaultRequests, are_safe_unless_posts_are_harmless) {
  for (const AskedRequest& request : default_requests(Posts::left_out)) {
    EXPECT_TRUE(is_safe(request)) << to_string(request);
  }
  const auto more = default_requests(Posts::harmless);
  EXPECT_EQ(more.size(), default_requests(Posts::left_out).size() + 1);
  EXPECT_FALSE(is_safe(more.back()));
  EXPECT_TRUE(more.back().has_body());
}

TEST(RequestRecords, hold_the_variables_of_the_request) {
  const std::string records =
      request_records(parsed("GET /a%20b?x=1"), "/srv/cgi-bin/report", {{"HTTP_COOKIE", "k=v"}});
  EXPECT_EQ(param(records, "SCRIPT_FILENAME"), "/srv/cgi-bin/report");
  EXPECT_EQ(param(records, "SCRIPT_NAME"), "/report");
  EXPECT_EQ(param(records, "PATH_INFO"), "/a b");
  EXPECT_EQ(param(records, "QUERY_STRING"), "x=1");
  EXPECT_EQ(param(records, "REQUEST_URI"), "/report/a%20b?x=1");
  EXPECT_EQ(param(records, "HTTP_COOKIE"), "k=v");
  EXPECT_EQ(param(records, "CONTENT_LENGTH"), "-");
}

TEST(RequestRecords, let_the_operator_win) {
  AskedRequest request = parsed("POST /");
  request.body = "12345";
  const std::string records =
      request_records(request, "/srv/report", {{"CONTENT_TYPE", "text/plain"}});
  EXPECT_EQ(param(records, "CONTENT_LENGTH"), "5");
  EXPECT_EQ(param(records, "CONTENT_TYPE"), "text/plain");
}

TEST(Assignment, is_cut_at_the_first_equals_sign) {
  EXPECT_EQ(parse_assignment("A=b=c"), (Assignment{"A", "b=c"}));
  EXPECT_EQ(parse_assignment("A"), (Assignment{"A", ""}));
}

}  // namespace
}  // namespace cli
