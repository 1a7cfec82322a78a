#include "base/out_buffer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace base {
namespace {

TEST(OutBuffer, gives_bytes_back_in_the_order_they_were_written) {
  OutBuffer buffer;
  buffer.append("one ");
  buffer.append("two");
  EXPECT_EQ(buffer.bytes(), "one two");
  buffer.consume(4);
  EXPECT_EQ(buffer.bytes(), "two");
}

TEST(OutBuffer, is_empty_again_after_all_was_consumed) {
  OutBuffer buffer;
  buffer.append("x");
  buffer.consume(1);
  EXPECT_TRUE(buffer.empty());
  buffer.append("y");
  EXPECT_EQ(buffer.bytes(), "y");
}

TEST(OutBuffer, takes_what_was_written_into_its_room) {
  OutBuffer buffer;
  char* room = buffer.room(100);
  room[0] = 'a';
  room[1] = 'b';
  buffer.commit(2);
  EXPECT_EQ(buffer.bytes(), "ab");
}

TEST(OutBuffer, knows_what_of_it_is_needed) {
  OutBuffer buffer;
  EXPECT_EQ(buffer.needed(), 0u);
  buffer.append("answer");
  buffer.append("complaint");
  buffer.need_only(6);
  buffer.consume(4);
  EXPECT_EQ(buffer.needed(), 2u);
  buffer.consume(3);
  EXPECT_EQ(buffer.needed(), 0u);
  EXPECT_EQ(buffer.size(), 8u);
  buffer.append("end");
  EXPECT_EQ(buffer.needed(), 11u) << "what comes after it needs it, too";
}

// Goal: no growth, move or release of memory loses or repeats a byte. Method: random appends and
// consumes, compared with a std::string that does the same.
TEST(OutBuffer, agrees_with_a_string_under_random_use) {
  std::mt19937 random(7);
  OutBuffer buffer;
  std::string expected;
  char next = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string piece(random() % 40000, next++);
    if (random() % 2 == 0) {
      buffer.append(piece);
      expected += piece;
    } else {
      const std::size_t count = random() % (expected.size() + 1);
      buffer.consume(count);
      expected.erase(0, count);
    }
    ASSERT_EQ(buffer.size(), expected.size());
  }
  EXPECT_EQ(buffer.bytes(), expected);
}

}  // namespace
}  // namespace base
