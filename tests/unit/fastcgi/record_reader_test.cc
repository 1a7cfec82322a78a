#include "fastcgi/record_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/fastcgi/transcript.h"

namespace fastcgi {
namespace {

using test::cut_at;
using test::cut_everywhere;
using test::Lines;
using test::raw_record;
using test::read_records;

struct Case {
  std::string name;
  std::string bytes;
  Lines expected;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"nothing", "", {}},
      {"a record", raw_record(FCGI_STDIN, 1, "abc"), {"STDIN 1 abc"}},
      {"an empty record", raw_record(FCGI_STDIN, 1, ""), {"STDIN 1 "}},
      {"padding after content", raw_record(FCGI_PARAMS, 2, "abc", 5), {"PARAMS 2 abc"}},
      {"an empty record with padding", raw_record(FCGI_STDIN, 3, "", 8), {"STDIN 3 "}},
      {"the longest padding", raw_record(FCGI_STDIN, 3, "a", 255), {"STDIN 3 a"}},
      {"records after each other",
       raw_record(FCGI_STDIN, 1, "a", 7) + raw_record(FCGI_STDIN, 1, "", 3) +
           raw_record(FCGI_ABORT_REQUEST, 0xffff, "") + raw_record(FCGI_STDIN, 1, "b"),
       {"STDIN 1 a", "STDIN 1 ", "ABORT_REQUEST 65535 ", "STDIN 1 b"}},
      {"an unknown type", raw_record(200, 1, "abc"), {"type 200 1 abc"}},
      {"content that looks like a header",
       raw_record(FCGI_STDIN, 1, raw_record(FCGI_STDIN, 2, "x")),
       {"STDIN 1 \\x01\\x05\\x00\\x02\\x00\\x01\\x00\\x00x"}},
      {"padding that looks like a bad header", raw_record(FCGI_STDIN, 1, "a", 16), {"STDIN 1 a"}},
      {"a header that ends early", raw_record(FCGI_STDIN, 1, "abc").substr(0, 7), {}},
      {"content that ends early",
       raw_record(FCGI_STDIN, 1, "abc").substr(0, 10),
       {"STDIN 1 ab..."}},
      {"padding that ends early",
       raw_record(FCGI_STDIN, 1, "abc", 5).substr(0, 13),
       {"STDIN 1 abc"}},
      {"version 0", raw_record(FCGI_STDIN, 1, "abc", 0, 0), {"bad_record"}},
      {"version 2", raw_record(FCGI_STDIN, 1, "abc", 0, 2), {"bad_record"}},
      {"another protocol", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", {"bad_record"}},
      {"a bad version after a good record",
       raw_record(FCGI_STDIN, 1, "abc", 5) + raw_record(FCGI_STDIN, 1, "", 0, 255),
       {"STDIN 1 abc", "bad_record"}},
  };
  return all;
}

TEST(RecordReader, reads_each_case_in_one_piece) {
  for (const Case& one : cases()) EXPECT_EQ(read_records({one.bytes}), one.expected) << one.name;
}

TEST(RecordReader, reads_each_case_cut_in_two_at_every_byte) {
  for (const Case& one : cases()) {
    for (std::size_t at = 0; at <= one.bytes.size(); ++at) {
      EXPECT_EQ(read_records(cut_at(one.bytes, at)), one.expected) << one.name << " at " << at;
    }
  }
}

TEST(RecordReader, reads_each_case_byte_by_byte) {
  for (const Case& one : cases()) {
    EXPECT_EQ(read_records(cut_everywhere(one.bytes)), one.expected) << one.name;
  }
}

TEST(RecordReader, reads_a_record_of_the_greatest_length) {
  const std::string content(FCGI_MAX_LENGTH, 'x');
  EXPECT_EQ(read_records({raw_record(FCGI_STDIN, 1, content, 255)}), Lines{"STDIN 1 " + content});
}

TEST(RecordReader, gives_content_as_a_view_into_the_bytes_fed) {
  const std::string bytes = raw_record(FCGI_STDIN, 1, "abc", 5);
  RecordReader reader;
  reader.feed(bytes);
  Fragment fragment;
  ASSERT_EQ(reader.next(fragment), Step::fragment);
  EXPECT_EQ(fragment.content.data(), bytes.data() + kHeaderSize);
  EXPECT_EQ(reader.next(fragment), Step::need_more);
}

TEST(RecordReader, says_where_a_fragment_lies_in_its_record) {
  const std::string bytes = raw_record(FCGI_STDIN, 1, "abcdef");
  RecordReader reader;
  Fragment fragment;
  reader.feed(std::string_view(bytes).substr(0, 10));
  ASSERT_EQ(reader.next(fragment), Step::fragment);
  EXPECT_EQ(fragment.content, "ab");
  EXPECT_TRUE(fragment.is_first());
  EXPECT_FALSE(fragment.is_last());
  ASSERT_EQ(reader.next(fragment), Step::need_more);
  reader.feed(std::string_view(bytes).substr(10));
  ASSERT_EQ(reader.next(fragment), Step::fragment);
  EXPECT_EQ(fragment.content, "cdef");
  EXPECT_EQ(fragment.offset, 2);
  EXPECT_FALSE(fragment.is_first());
  EXPECT_TRUE(fragment.is_last());
}

TEST(RecordReader, stays_broken_whatever_is_fed_next) {
  const std::string bad = raw_record(FCGI_STDIN, 1, "", 0, 9);
  const std::string good = raw_record(FCGI_STDIN, 1, "abc");
  RecordReader reader;
  Fragment fragment;
  reader.feed(bad);
  EXPECT_EQ(reader.next(fragment), Step::bad_record);
  reader.feed(good);
  EXPECT_EQ(reader.next(fragment), Step::bad_record);
}

}  // namespace
}  // namespace fastcgi
