#include "message/channel_message.h"

#include <gtest/gtest.h>

#include <cstring>

namespace message {
namespace {

using namespace std::string_literals;

template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string packet(message_type type, const std::string& body) {
  return bytes_of(message_header{MESSAGE_MAGIC, MESSAGE_VERSION, static_cast<std::uint16_t>(type),
                                 static_cast<std::uint32_t>(body.size())}) +
         body;
}

TEST(EncodeRequest, puts_cwd_argv_and_environment_behind_one_another) {
  const std::vector<std::string> argv = {"perl", "x.pl", "word"};
  const EncodedRequest encoded = encode_request(
      7, {.cwd = "/srv", .argv = argv, .environment = "A=1\0B=2\0"s, .environment_count = 2});
  EXPECT_TRUE(encoded.memfd_content.empty());
  message_request fields;
  ASSERT_GE(encoded.packet.size(), sizeof(message_header) + sizeof fields);
  std::memcpy(&fields, encoded.packet.data() + sizeof(message_header), sizeof fields);
  EXPECT_EQ(fields.request_id, 7u);
  EXPECT_EQ(fields.argc, 3u);
  EXPECT_EQ(fields.envc, 2u);
  EXPECT_EQ(fields.in_memfd, 0u);
  const std::string strings = encoded.packet.substr(sizeof(message_header) + sizeof fields);
  EXPECT_EQ(strings, "/srv\0perl\0x.pl\0word\0A=1\0B=2\0"s);
  EXPECT_EQ(fields.strings_bytes, strings.size());
}

TEST(EncodeRequest, sends_strings_too_long_for_a_packet_by_memfd) {
  const std::vector<std::string> argv = {"x"};
  const std::string environment = "A=" + std::string(MESSAGE_BYTES_MAX, 'a') + "\0"s;
  const EncodedRequest encoded = encode_request(
      1, {.cwd = "/", .argv = argv, .environment = environment, .environment_count = 1});
  EXPECT_EQ(encoded.packet.size(), sizeof(message_header) + sizeof(message_request));
  EXPECT_EQ(encoded.memfd_content, "/\0x\0"s + environment);
}

TEST(Decode, reads_each_message_of_a_zygote_or_a_worker) {
  const auto checkpoint = decode(packet(MESSAGE_CHECKPOINT, bytes_of(message_checkpoint{3, 1})));
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_EQ(checkpoint.value().level, unsigned{LEVEL_COMPILED});
  EXPECT_EQ(checkpoint.value().threads, 1u);
  const auto ready = decode(packet(MESSAGE_READY, bytes_of(message_ready{42, 0})));
  ASSERT_TRUE(ready.ok());
  EXPECT_EQ(ready.value().pid, 42);
  const auto done = decode(packet(MESSAGE_DONE, bytes_of(message_done{9, 3, 0})));
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done.value().id, 9u);
  EXPECT_EQ(done.value().exit_code, 3);
  const auto note = decode(packet(MESSAGE_NOTE, bytes_of(message_note{NOTE_LOADED, 4}) + "json"));
  ASSERT_TRUE(note.ok());
  EXPECT_EQ(note.value().text, "json");
  const auto failed = decode(packet(MESSAGE_FORK_FAILED, bytes_of(message_fork{5}) + "EAGAIN"));
  ASSERT_TRUE(failed.ok());
  EXPECT_EQ(failed.value().id, 5u);
  EXPECT_EQ(failed.value().text, "EAGAIN");
}

TEST(Decode, keeps_of_an_exit_code_what_wait_would_keep) {
  const auto done = decode(packet(MESSAGE_DONE, bytes_of(message_done{9, 256 + 3, 0})));
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done.value().exit_code, 3);
}

// Goal: whatever a hostile worker sends is refused and nothing is read beyond the packet. Method:
// each good packet cut at every byte, and lengthened by one.
TEST(Decode, refuses_every_packet_that_is_cut_or_too_long) {
  const std::vector<std::string> good = {
      packet(MESSAGE_CHECKPOINT, bytes_of(message_checkpoint{1, 1})),
      packet(MESSAGE_READY, bytes_of(message_ready{42, 0})),
      packet(MESSAGE_DONE, bytes_of(message_done{9, 3, 0})),
      packet(MESSAGE_NOTE, bytes_of(message_note{NOTE_LOADED, 4}) + "json"),
  };
  for (const std::string& whole : good) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const std::vector<char> exact(whole.begin(), whole.begin() + static_cast<long>(size));
      EXPECT_FALSE(decode({exact.data(), exact.size()}).ok()) << size;
    }
    EXPECT_FALSE(decode(whole + "x").ok());
    EXPECT_TRUE(decode(whole).ok());
  }
}

TEST(Decode, refuses_what_only_the_bridge_sends_and_what_nobody_sends) {
  EXPECT_FALSE(decode(packet(MESSAGE_FORK, bytes_of(message_fork{1}))).ok());
  EXPECT_FALSE(decode(packet(MESSAGE_REQUEST, bytes_of(message_request{}))).ok());
  EXPECT_FALSE(decode(packet(static_cast<message_type>(99), "")).ok());
}

TEST(Decode, refuses_another_version_and_another_magic) {
  std::string other_version = packet(MESSAGE_READY, bytes_of(message_ready{42, 0}));
  other_version[4] = 2;
  EXPECT_FALSE(decode(other_version).ok());
  std::string other_magic = packet(MESSAGE_READY, bytes_of(message_ready{42, 0}));
  other_magic[0] = 'X';
  EXPECT_FALSE(decode(other_magic).ok());
}

TEST(Decode, refuses_values_that_no_worker_can_mean) {
  EXPECT_FALSE(decode(packet(MESSAGE_READY, bytes_of(message_ready{1, 0}))).ok());
  EXPECT_FALSE(decode(packet(MESSAGE_READY, bytes_of(message_ready{-1, 0}))).ok());
  EXPECT_FALSE(decode(packet(MESSAGE_CHECKPOINT, bytes_of(message_checkpoint{0, 1}))).ok());
  EXPECT_FALSE(decode(packet(MESSAGE_CHECKPOINT, bytes_of(message_checkpoint{4, 1}))).ok());
}

}  // namespace
}  // namespace message
