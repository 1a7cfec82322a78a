#include "fastcgi/record_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "unit/fastcgi/transcript.h"

namespace fastcgi {
namespace {

using namespace std::string_literals;
using test::Lines;
using test::read_records;

TEST(RecordWriter, pads_content_of_every_length_to_eight) {
  for (std::size_t size = 1; size <= 64; ++size) {
    std::string out;
    append_stream(out, RecordType::std_out, 7, std::string(size, 'x'));
    EXPECT_EQ(out.size() % 8, 0u) << size;
    EXPECT_LT(out.size(), kHeaderSize + size + 8) << size;
    EXPECT_EQ(read_records({out}), Lines{"STDOUT 7 " + std::string(size, 'x')});
  }
}

// HAProxy 2.6 aborts itself at one without padding.
TEST(RecordWriter, always_pads_standard_error) {
  for (const std::size_t size :
       {1UL, 7UL, 8UL, 9UL, 16UL, kRecordContentMax, kRecordContentMax + 8}) {
    std::string out;
    append_stream(out, RecordType::std_err, 7, std::string(size, 'x'));
    std::size_t content = 0;
    for (std::size_t at = 0; at < out.size();) {
      const auto byte_at = [&](std::size_t of) { return static_cast<unsigned char>(out[at + of]); };
      const std::size_t length = byte_at(4) * 256U + byte_at(5);
      EXPECT_GT(byte_at(6), 0) << size;
      content += length;
      at += kHeaderSize + length + byte_at(6);
    }
    EXPECT_EQ(content, size);
  }
}

TEST(RecordWriter, pads_with_zeros) {
  EXPECT_EQ(padding_after(3), std::string(5, '\0'));
  EXPECT_EQ(padding_after(8), "");
  EXPECT_EQ(padding_after(0), "");
}

TEST(RecordWriter, gives_the_same_stream_without_a_copy) {
  const std::string content(70'001, 'x');
  std::string copied;
  append_stream(copied, RecordType::std_out, 9, content);
  std::string gathered;
  for (ByteView rest = content; !rest.empty();) {
    const ByteView part = take_record_content(rest);
    const HeaderBytes header = stream_header(RecordType::std_out, 9, part.size());
    gathered.append(header.data(), header.size()).append(part).append(padding_after(part.size()));
  }
  EXPECT_EQ(gathered, copied);
}

TEST(RecordWriter, splits_content_into_records_that_need_no_padding) {
  std::string content(2 * kRecordContentMax + 1, 'x');
  ByteView rest = content;
  EXPECT_EQ(take_record_content(rest).size(), 65'528u);
  EXPECT_EQ(take_record_content(rest).size(), 65'528u);
  EXPECT_EQ(take_record_content(rest).size(), 1u);
  EXPECT_TRUE(rest.empty());
}

TEST(RecordWriter, writes_no_record_for_empty_content) {
  std::string out;
  append_stream(out, RecordType::std_out, 1, "");
  EXPECT_EQ(out, "");
}

TEST(RecordWriter, ends_a_stream_with_an_empty_record) {
  std::string out;
  append_stream_end(out, RecordType::std_out, 0x102);
  EXPECT_EQ(out, "\x01\x06\x01\x02\x00\x00\x00\x00"s);
}

TEST(RecordWriter, writes_the_exit_code_of_an_ended_request_with_the_highest_byte_first) {
  std::string out;
  append_end_request(out, 0x102, 0xfedcba98, ProtocolStatus::overloaded);
  EXPECT_EQ(out, "\x01\x03\x01\x02\x00\x08\x00\x00\xfe\xdc\xba\x98\x02\x00\x00\x00"s);
}

TEST(RecordWriter, says_which_type_is_unknown) {
  std::string out;
  append_unknown_type(out, static_cast<RecordType>(200));
  EXPECT_EQ(out, "\x01\x0b\x00\x00\x00\x08\x00\x00\xc8\x00\x00\x00\x00\x00\x00\x00"s);
}

TEST(RecordWriter, writes_values_as_one_record_of_pairs) {
  std::string out;
  append_get_values_result(out, std::array<NameValue, 2>{{{"A", "b"}, {"C", ""}}});
  EXPECT_EQ(out,
            "\x01\x0a\x00\x00\x00\x07\x01\x00\x01\x01"
            "Ab\x01\x00"
            "C\x00"s);
}

TEST(RecordWriter, writes_a_record_without_values_when_none_is_known) {
  std::string out;
  append_get_values_result(out, {});
  EXPECT_EQ(out, "\x01\x0a\x00\x00\x00\x00\x00\x00"s);
}

TEST(RecordWriter, writes_the_records_of_a_client) {
  std::string out;
  append_begin_request(out, 1, Role::responder, KeepConnection::yes);
  append_abort_request(out, 1);
  append_get_values(out, std::array<std::string_view, 1>{"A"});
  EXPECT_EQ(read_records({out}), (Lines{"BEGIN_REQUEST 1 \\x00\\x01\\x01\\x00\\x00\\x00\\x00\\x00",
                                        "ABORT_REQUEST 1 ", "GET_VALUES 0 \\x01\\x00A"}));
}

}  // namespace
}  // namespace fastcgi
