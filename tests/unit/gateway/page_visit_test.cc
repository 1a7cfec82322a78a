#include "gateway/page_visit.h"

#include <gtest/gtest.h>

namespace gateway {
namespace {

cgi::Variables request_for(std::string_view uri) {
  return {{"REQUEST_METHOD", "GET"}, {"REQUEST_URI", uri}, {"REMOTE_ADDR", "127.0.0.1"}};
}

std::string below(std::string_view uri) {
  const auto visit = PageVisit::of("/cgibridge", request_for(uri));
  if (!visit) return "not meant";
  std::string found;
  (void)visit->answer([&found](const PageRequest& request) {
    found = std::string(request.below);
    return PageAnswer{};
  });
  return found;
}

TEST(PageVisit, is_for_the_page_and_what_is_below_it) {
  EXPECT_EQ(below("/cgibridge"), "");
  EXPECT_EQ(below("/cgibridge/"), "");
  EXPECT_EQ(below("/cgibridge/data.json?brief"), "/data.json");
  EXPECT_EQ(below("/cgibridge2"), "not meant");
  EXPECT_EQ(below("/cgi-bin/cgibridge"), "not meant");
}

TEST(PageVisit, is_not_for_a_program_that_the_server_answers_with_instead) {
  const auto is_for_page = [](std::string_view name, std::string_view info) {
    return PageVisit::of(
               "/page",
               {{"REQUEST_URI", "/page/data.json"}, {"SCRIPT_NAME", name}, {"PATH_INFO", info}})
        .has_value();
  };
  EXPECT_TRUE(is_for_page("/page/data.json", ""));
  EXPECT_TRUE(is_for_page("/page", "/data.json"));
  EXPECT_TRUE(is_for_page("", "/page/data.json"));
  EXPECT_FALSE(is_for_page("/cgi-bin/sorry", ""));
  EXPECT_FALSE(is_for_page("/cgi-bin/sorry", "/page/data.json"));
  EXPECT_FALSE(is_for_page("/pages", "/data.json"));
}

TEST(PageVisit, is_nobodys_without_a_path) {
  EXPECT_FALSE(PageVisit::of("", request_for("/cgibridge")).has_value());
}

TEST(PageVisit, takes_a_body_up_to_its_limit) {
  auto visit = PageVisit::of("/p", request_for("/p"));
  ASSERT_TRUE(visit.has_value());
  EXPECT_TRUE(visit->add_body(std::string(kPageBodyMax, 'x')));
  EXPECT_FALSE(visit->add_body("y"));
}

TEST(PageVisit, answers_as_a_program_would) {
  const auto visit = PageVisit::of("/p", request_for("/p"));
  EXPECT_EQ(
      visit->answer([](const PageRequest&) {
        return PageAnswer{
            .status = 404, .content_type = "text/plain", .headers = {{"X-A", "1"}}, .body = "no"};
      }),
      "Status: 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nX-A: 1\r\n\r\nno");
}

}  // namespace
}  // namespace gateway
