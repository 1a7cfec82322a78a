#include "config/header_name.h"

#include <gtest/gtest.h>

namespace config {
namespace {

TEST(AddedHeader, may_have_a_name_of_its_own) {
  for (const char* name : {"", "X-CGI-Arm", "X-Request-ID", "Request-Id", "X-Amzn-Trace-Id", "Arm",
                           "X-Status", "Statuses", "X-Server", "Server-Timing", "traceparent"}) {
    EXPECT_TRUE(check_added_header(name)) << name;
  }
}

TEST(AddedHeader, is_none_that_web_servers_or_browsers_act_on) {
  for (const char* name : {"Status",
                           "STATUS",
                           "Location",
                           "Content-Type",
                           "content-length",
                           "Content-Encoding",
                           "Transfer-Encoding",
                           "Connection",
                           "Keep-Alive",
                           "Trailer",
                           "TE",
                           "Upgrade",
                           "Set-Cookie",
                           "Proxy-Authenticate",
                           "WWW-Authenticate",
                           "X-Accel-Redirect",
                           "X-Sendfile",
                           "X-LIGHTTPD-send-file",
                           "Date",
                           "Server",
                           "ETag",
                           "Vary",
                           "Refresh",
                           "Cache-Control",
                           "Access-Control-Allow-Origin",
                           "Content-Security-Policy"}) {
    EXPECT_FALSE(check_added_header(name)) << name;
    EXPECT_TRUE(check_header(name)) << name;
  }
}

TEST(AddedHeader, is_a_token_of_at_most_64_bytes) {
  for (const std::string& name : {std::string("X-A:"), std::string("X A"), std::string("X\r\nA"),
                                  std::string("\xc3\xa4"), std::string(65, 'a')}) {
    EXPECT_FALSE(check_added_header(name)) << name;
    EXPECT_FALSE(check_header(name)) << name;
  }
  EXPECT_TRUE(check_added_header(std::string(64, 'a')));
}

}  // namespace
}  // namespace config
