#include "shadow/answer_copy.h"

#include <gtest/gtest.h>

namespace shadow {
namespace {

compare::Answer copy_of(std::string_view output, std::size_t body_max = 1000) {
  cgi::ResponseHeadReader reader;
  AnswerCopy copy(body_max);
  EXPECT_EQ(reader.feed(output), cgi::HeadStep::complete);
  copy.take_head(reader.head());
  copy.add_body(reader.body());
  return copy.finish({.app_status = 3, .description = "killed"});
}

TEST(AnswerCopy, holds_status_fields_body_and_end) {
  const auto answer = copy_of("Status: 404 Gone\r\nX-A: 1\r\nX-B: 2\r\n\r\nthe body");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.head, "X-A: 1\nX-B: 2\n");
  EXPECT_EQ(answer.body, "the body");
  EXPECT_EQ(answer.exit_code, 3u);
  EXPECT_EQ(answer.ended_by, "killed");
}

TEST(AnswerCopy, writes_fields_alike_whatever_their_line_ends) {
  EXPECT_EQ(copy_of("X-A: 1\nX-B: 2\n\n").head, copy_of("X-A: 1\r\nX-B: 2\r\n\r\n").head);
}

TEST(AnswerCopy, keeps_one_byte_more_than_the_limit_of_what_is_too_large) {
  AnswerCopy copy(4);
  copy.add_body("1234");
  EXPECT_FALSE(copy.too_large());
  copy.add_body("567");
  EXPECT_TRUE(copy.too_large());
  EXPECT_EQ(copy.finish({}).body, "12345");
}

}  // namespace
}  // namespace shadow
