#include "gateway/page_exchange.h"

#include <gtest/gtest.h>

#include "fastcgi/record_reader.h"
#include "gateway/gateway.h"

namespace gateway {
namespace {

class PageExchangeTest : public testing::Test, public Answer {
 protected:
  std::unique_ptr<PageExchange> ask(std::string_view method) {
    const cgi::Variables variables{{"REQUEST_METHOD", method}, {"REQUEST_URI", "/page"}};
    return std::make_unique<PageExchange>(*this, 7, PageVisit::of("/page", variables).value(),
                                          page_, counts_);
  }

  // The first line of what was answered; empty: nothing was.
  std::string first_line() {
    fastcgi::RecordReader reader;
    reader.feed(out_.bytes());
    fastcgi::Fragment fragment;
    if (reader.next(fragment) != fastcgi::Step::fragment) return "";
    const std::string text(fragment.content);
    return text.substr(0, text.find('\r'));
  }

  PageHandler page_ = [](const PageRequest& request) {
    return PageAnswer{.status = 200, .body = std::string(request.body)};
  };
  Counts counts_;
  base::OutBuffer out_;
  int finished_ = 0;

 private:
  // Answer
  base::OutBuffer& out() override { return out_; }
  bool has_room() const override { return true; }
  void wrote() override {}
  void body_room_changed() override {}
  void finish(fastcgi::RequestId id, std::uint32_t app_status) override {
    EXPECT_EQ(id, 7);
    EXPECT_EQ(app_status, 0u);
    ++finished_;
  }
  void break_off(fastcgi::RequestId, std::uint32_t) override { ADD_FAILURE(); }
};

TEST_F(PageExchangeTest, answers_when_its_body_is_complete) {
  const auto exchange = ask("POST");
  EXPECT_EQ(counts_.requests_active, 1u);
  exchange->body_bytes("some");
  EXPECT_EQ(finished_, 0);
  exchange->body_end();
  EXPECT_EQ(first_line(), "Status: 200 OK");
  EXPECT_EQ(finished_, 1);
}

TEST_F(PageExchangeTest, refuses_a_body_that_is_too_large_once) {
  const auto exchange = ask("POST");
  for (int i = 0; i < 3; ++i) exchange->body_bytes(std::string(kPageBodyMax, 'x'));
  exchange->body_end();
  EXPECT_EQ(first_line(), "Status: 413 Content Too Large");
  EXPECT_EQ(finished_, 1);
  EXPECT_EQ(counts_.errors, 1u);
}

TEST_F(PageExchangeTest, is_not_found_where_nobody_made_a_page) {
  page_ = nullptr;
  ask("GET")->body_end();
  EXPECT_EQ(first_line(), "Status: 404 Not Found");
}

TEST_F(PageExchangeTest, answers_nothing_when_nobody_waits_for_it_any_more) {
  const auto exchange = ask("GET");
  exchange->cancel();
  exchange->body_end();
  EXPECT_EQ(first_line(), "");
  EXPECT_EQ(finished_, 0);
}

TEST_F(PageExchangeTest, is_active_as_long_as_it_is_there) {
  ask("GET");
  EXPECT_EQ(counts_.requests_active, 0u);
  EXPECT_EQ(counts_.requests_total, 1u);
}

}  // namespace
}  // namespace gateway
