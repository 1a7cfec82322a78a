#include "config/listen_address.h"

#include <gtest/gtest.h>

namespace config {
namespace {

TEST(ListenAddress, names_a_unix_socket) {
  auto address = parse_listen_address("unix:/run/cgibridge/fastcgi.sock");
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(address.value().kind, ListenAddress::Kind::unix_socket);
  EXPECT_EQ(address.value().path, "/run/cgibridge/fastcgi.sock");
}

TEST(ListenAddress, names_a_numeric_address_and_a_port) {
  auto address = parse_listen_address("127.0.0.1:9000");
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(address.value().kind, ListenAddress::Kind::tcp);
  EXPECT_EQ(address.value().host, "127.0.0.1");
  EXPECT_EQ(address.value().port, 9000);
}

TEST(ListenAddress, keeps_brackets_out_of_an_ipv6_host) {
  auto address = parse_listen_address("[::1]:65535");
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(address.value().host, "::1");
  EXPECT_EQ(address.value().port, 65535);
}

TEST(ListenAddress, reads_localhost_as_ipv4_loopback) {
  EXPECT_EQ(parse_listen_address("localhost:9000").value(),
            parse_listen_address("127.0.0.1:9000").value());
}

TEST(ListenAddress, refuses_what_cannot_be_listened_on) {
  for (const char* text : {"",
                           "unix:",
                           "unix:run/x.sock",
                           "/run/x.sock",
                           "9000",
                           ":9000",
                           "*:9000",
                           "127.0.0.1",
                           "127.0.0.1:",
                           "127.0.0.1:0",
                           "127.0.0.1:65536",
                           "127.0.0.1:-1",
                           "127.0.0.1:90x",
                           "127.0.0.1: 9000",
                           "256.0.0.1:9000",
                           "127.1:9000",
                           "::1:9000",
                           "[::1]",
                           "[]:9000",
                           "[127.0.0.1]:9000",
                           "[localhost]:9000",
                           "[::1:9000",
                           "example.org:9000",
                           "[fe80::1%lo]:9"}) {
    EXPECT_FALSE(parse_listen_address(text).ok()) << text;
  }
}

TEST(ListenAddress, refuses_a_path_longer_than_a_socket_address) {
  EXPECT_TRUE(parse_listen_address("unix:/" + std::string(106, 'a')).ok());
  EXPECT_FALSE(parse_listen_address("unix:/" + std::string(107, 'a')).ok());
}

TEST(ListenAddress, prints_as_it_was_written) {
  for (const char* text : {"unix:/run/x.sock", "127.0.0.1:9000", "[::1]:9000", "[::]:80"}) {
    EXPECT_EQ(to_string(parse_listen_address(text).value()), text);
  }
}

}  // namespace
}  // namespace config
