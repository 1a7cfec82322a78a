#include "cgi/error_response.h"

#include <gtest/gtest.h>

#include "cgi/response_head.h"

namespace {

TEST(ErrorResponse, is_a_good_cgi_response) {
  for (const int status : {400, 403, 404, 408, 413, 414, 431, 500, 502, 503, 504}) {
    const std::string response = cgi::error_response(status, "The program gave no answer.");
    cgi::ResponseHeadReader reader;
    ASSERT_EQ(reader.feed(response), cgi::HeadStep::complete);
    EXPECT_EQ(reader.head().status, status);
    EXPECT_EQ(reader.head().dropped_lines, 0u);
    EXPECT_NE(reader.body().find(cgi::status_phrase(status)), std::string_view::npos);
    const std::string length = "Content-Length: " + std::to_string(reader.body().size()) + "\r\n";
    EXPECT_NE(reader.head().bytes.find(length), std::string_view::npos);
  }
}

TEST(ErrorResponse, shows_its_reason_as_text) {
  const std::string response = cgi::error_response(404, "<b>&\"");
  EXPECT_NE(response.find("<p>&lt;b&gt;&amp;&quot;</p>"), std::string::npos);
  EXPECT_EQ(cgi::error_response(404, "").find("<p>"), std::string::npos);
}

TEST(ErrorResponse, says_when_to_ask_again_if_it_is_known) {
  EXPECT_NE(cgi::error_response(503, "", std::chrono::seconds(5)).find("\r\nRetry-After: 5\r\n"),
            std::string::npos);
  EXPECT_EQ(cgi::error_response(503, "").find("Retry-After"), std::string::npos);
}

TEST(ErrorResponse, has_a_phrase_for_any_status) {
  for (const int status : {400, 403, 404, 405, 408, 413, 414, 422, 431, 500, 502, 503, 504}) {
    EXPECT_NE(cgi::status_phrase(status), "Error") << status;
  }
  EXPECT_EQ(cgi::status_phrase(599), "Error");
}

}  // namespace
