#include "base/address_block.h"

#include <gtest/gtest.h>

namespace base {
namespace {

bool contains(std::string_view block, std::string_view address) {
  auto parsed = AddressBlock::parse(block);
  if (!parsed) {
    ADD_FAILURE() << parsed.error().message;
    return false;
  }
  return parsed.value().contains(address);
}

TEST(AddressBlock, holds_the_one_address_that_it_names) {
  EXPECT_TRUE(contains("127.0.0.1", "127.0.0.1"));
  EXPECT_FALSE(contains("127.0.0.1", "127.0.0.2"));
  EXPECT_TRUE(contains("::1", "::1"));
  EXPECT_TRUE(contains("::1", "0:0:0:0:0:0:0:1"));
  EXPECT_FALSE(contains("::1", "::2"));
}

TEST(AddressBlock, holds_the_addresses_with_its_prefix) {
  EXPECT_TRUE(contains("10.0.0.0/8", "10.255.1.2"));
  EXPECT_FALSE(contains("10.0.0.0/8", "11.0.0.0"));
  EXPECT_TRUE(contains("192.168.128.0/17", "192.168.200.1"));
  EXPECT_FALSE(contains("192.168.128.0/17", "192.168.127.255"));
  EXPECT_TRUE(contains("fd00::/8", "fdff:1::2"));
  EXPECT_FALSE(contains("fd00::/8", "fe00::"));
  EXPECT_TRUE(contains("2001:db8::/33", "2001:db8:7fff::"));
  EXPECT_FALSE(contains("2001:db8::/33", "2001:db8:8000::"));
}

// Goal: each prefix covers exactly the bits that it states.
TEST(AddressBlock, counts_its_prefix_by_bits) {
  for (unsigned bits = 1; bits <= 32; ++bits) {
    std::uint32_t network = 0xffffffffu << (32 - bits);
    auto dotted = [](std::uint32_t n) {
      return std::to_string(n >> 24) + '.' + std::to_string(n >> 16 & 255) + '.' +
             std::to_string(n >> 8 & 255) + '.' + std::to_string(n & 255);
    };
    std::string block = dotted(network) + '/' + std::to_string(bits);
    EXPECT_TRUE(contains(block, "255.255.255.255")) << block;
    EXPECT_TRUE(contains(block, dotted(network))) << block;
    EXPECT_FALSE(contains(block, dotted(network - 1))) << block;
  }
}

TEST(AddressBlock, of_no_bits_holds_its_whole_family) {
  EXPECT_TRUE(contains("0.0.0.0/0", "203.0.113.9"));
  EXPECT_TRUE(contains("::/0", "2001:db8::1"));
  EXPECT_FALSE(contains("0.0.0.0/0", "2001:db8::1"));
  EXPECT_FALSE(contains("::/0", "203.0.113.9"));
}

TEST(AddressBlock, takes_an_address_mapped_into_ipv6_for_the_ipv4_address) {
  EXPECT_TRUE(contains("10.0.0.0/8", "::ffff:10.1.2.3"));
  EXPECT_TRUE(contains("::ffff:10.0.0.0/104", "10.1.2.3"));
  EXPECT_FALSE(contains("::/0", "::ffff:10.1.2.3"));
}

TEST(AddressBlock, looks_past_the_zone_of_a_link_local_address) {
  EXPECT_TRUE(contains("fe80::/10", "fe80::1%eth0"));
}

TEST(AddressBlock, unix_holds_peers_without_an_address_alone) {
  EXPECT_TRUE(contains("unix", ""));
  EXPECT_TRUE(contains("unix", "unix:"));
  EXPECT_FALSE(contains("unix", "127.0.0.1"));
  EXPECT_FALSE(contains("unix", "::"));
  EXPECT_FALSE(contains("0.0.0.0/0", ""));
  EXPECT_FALSE(contains("::/0", "unix:"));
}

TEST(AddressBlock, holds_nothing_that_is_no_address) {
  for (const char* text : {"localhost", "1.2.3", "10.0.0.1:80", "10.0.0.1 ", "[::1]", "%", ":"}) {
    EXPECT_FALSE(contains("0.0.0.0/0", text)) << text;
    EXPECT_FALSE(contains("::/0", text)) << text;
  }
  EXPECT_FALSE(contains("0.0.0.0/0", std::string_view("1.2.3.4\0", 8)));
}

TEST(AddressBlock, is_refused_with_what_is_wrong) {
  for (const char* text : {"", "localhost", "10.0.0/8", "unix:", "/8", "10.0.0.0/8/8"}) {
    EXPECT_FALSE(AddressBlock::parse(text).ok()) << text;
  }
  EXPECT_EQ(AddressBlock::parse("10.0.0.0/").error().message,
            "\"10.0.0.0/\" has no prefix from 0 to 32 after the /");
  for (const char* text : {"10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "::/129", "::/8x"}) {
    EXPECT_FALSE(AddressBlock::parse(text).ok()) << text;
  }
  EXPECT_EQ(AddressBlock::parse("10.0.0.1/8").error().message,
            "\"10.0.0.1/8\" has bits of its address beyond the prefix");
}

TEST(AnyContains, asks_each_block_and_no_bad_one) {
  EXPECT_TRUE(any_contains({"::1", "10.0.0.0/8"}, "10.0.0.1"));
  EXPECT_FALSE(any_contains({"::1", "10.0.0.0/8"}, "127.0.0.1"));
  EXPECT_FALSE(any_contains({"10.0.0.0/99", "anybody"}, "10.0.0.1"));
  EXPECT_FALSE(any_contains({}, ""));
}

}  // namespace
}  // namespace base
