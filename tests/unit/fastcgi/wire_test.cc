#include "fastcgi/wire.h"

#include <gtest/gtest.h>

#include <string>

namespace fastcgi {
namespace {

TEST(Wire, writes_each_header_field_in_its_place) {
  const HeaderBytes bytes = encode_header({.type = RecordType::std_out,
                                           .id = 0x1234,
                                           .content_length = 0xfedc,
                                           .padding_length = 0xab});
  EXPECT_EQ(std::string(bytes.data(), bytes.size()),
            std::string("\x01\x06\x12\x34\xfe\xdc\xab\x00", 8));
}

TEST(Wire, reads_back_every_header_that_it_writes) {
  for (unsigned value = 0; value <= 0xffff; value += 257) {
    const RecordHeader header = {.type = static_cast<RecordType>(value & 0xff),
                                 .id = static_cast<RequestId>(value),
                                 .content_length = static_cast<std::uint16_t>(0xffff - value),
                                 .padding_length = static_cast<std::uint8_t>(value >> 8)};
    const HeaderBytes bytes = encode_header(header);
    EXPECT_EQ(decode_header({bytes.data(), bytes.size()}), header);
  }
}

TEST(Wire, ignores_the_reserved_byte_of_a_header) {
  EXPECT_TRUE(decode_header(std::string_view("\x01\x05\x00\x01\x00\x00\x00\xff", 8)));
}

TEST(Wire, refuses_a_header_of_any_other_version) {
  for (unsigned version = 0; version <= 0xff; ++version) {
    std::string bytes("\x01\x05\x00\x01\x00\x00\x00\x00", 8);
    bytes[0] = static_cast<char>(version);
    EXPECT_EQ(decode_header(bytes).has_value(), version == 1) << version;
  }
}

TEST(Wire, reads_role_and_keep_flag_of_a_begin_body) {
  const BeginBody body = decode_begin(std::string_view("\x01\x03\x01\xff\xff\xff\xff\xff", 8));
  EXPECT_EQ(static_cast<unsigned>(body.role), 0x103u);
  EXPECT_EQ(body.keep, KeepConnection::yes);
}

TEST(Wire, ignores_flags_that_the_protocol_does_not_name) {
  const BeginBody body = decode_begin(std::string_view("\x00\x01\xfe\x00\x00\x00\x00\x00", 8));
  EXPECT_EQ(body.role, Role::responder);
  EXPECT_EQ(body.keep, KeepConnection::no);
}

TEST(Wire, reads_back_the_begin_body_that_it_writes) {
  const BeginBytes bytes = encode_begin({.role = Role::filter, .keep = KeepConnection::yes});
  const BeginBody body = decode_begin({bytes.data(), bytes.size()});
  EXPECT_EQ(body.role, Role::filter);
  EXPECT_EQ(body.keep, KeepConnection::yes);
}

}  // namespace
}  // namespace fastcgi
