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

std::string packet(std::uint16_t type, const std::string& body) {
  return bytes_of(message_header{MESSAGE_MAGIC, MESSAGE_VERSION, type,
                                 static_cast<std::uint32_t>(body.size())}) +
         body;
}

TEST(EncodeRequest, puts_cwd_argv_and_environment_behind_one_another) {
  const std::vector<std::string> argv = {"perl", "x.pl"};
  const EncodedRequest encoded = encode_request(7, SayReady::no, Streams::sent,
                                                {.cwd = "/srv",
                                                 .argv = argv,
                                                 .query_words = {"word"},
                                                 .environment = "A=1\0B=2\0"s,
                                                 .environment_count = 2});
  EXPECT_TRUE(encoded.memfd_content.empty());
  message_request fields;
  ASSERT_GE(encoded.packet.size(), sizeof(message_header) + sizeof fields);
  std::memcpy(&fields, encoded.packet.data() + sizeof(message_header), sizeof fields);
  EXPECT_EQ(fields.request_id, 7u);
  EXPECT_EQ(fields.argc, 3u);
  EXPECT_EQ(fields.envc, 2u);
  EXPECT_EQ(fields.flags, 0u);
  const std::string strings = encoded.packet.substr(sizeof(message_header) + sizeof fields);
  EXPECT_EQ(strings, "/srv\0perl\0x.pl\0word\0A=1\0B=2\0"s);
  EXPECT_EQ(fields.strings_bytes, strings.size());
}

TEST(EncodeRequest, says_whether_the_worker_is_to_say_ready_and_uses_what_it_kept) {
  const std::vector<std::string> none;
  const EncodedRequest encoded = encode_request(
      1, SayReady::yes, Streams::kept,
      {.cwd = "/", .argv = none, .query_words = none, .environment = {}, .environment_count = 0});
  message_request fields;
  std::memcpy(&fields, encoded.packet.data() + sizeof(message_header), sizeof fields);
  EXPECT_EQ(fields.flags, REQUEST_SAY_READY | REQUEST_KEPT);
}

TEST(EncodeRequest, says_whether_another_worker_has_its_descriptors) {
  const std::vector<std::string> none;
  const EncodedRequest encoded = encode_request(
      1, SayReady::no, Streams::by_peer,
      {.cwd = "/", .argv = none, .query_words = none, .environment = {}, .environment_count = 0});
  message_request fields;
  std::memcpy(&fields, encoded.packet.data() + sizeof(message_header), sizeof fields);
  EXPECT_EQ(fields.flags, REQUEST_BY_PEER);
}

TEST(EncodeRequest, sends_strings_too_long_for_a_packet_by_memfd) {
  const std::vector<std::string> argv = {"x"};
  const std::string environment = "A=" + std::string(MESSAGE_BYTES_MAX, 'a') + "\0"s;
  const EncodedRequest encoded = encode_request(1, SayReady::no, Streams::sent,
                                                {.cwd = "/",
                                                 .argv = argv,
                                                 .query_words = {},
                                                 .environment = environment,
                                                 .environment_count = 1});
  EXPECT_EQ(encoded.packet.size(), sizeof(message_header) + sizeof(message_request));
  message_request fields;
  std::memcpy(&fields, encoded.packet.data() + sizeof(message_header), sizeof fields);
  EXPECT_EQ(fields.flags, REQUEST_IN_MEMFD);
  EXPECT_EQ(encoded.memfd_content, "/\0x\0"s + environment);
}

TEST(EncodeVerify, names_the_worker) {
  const base::ByteString encoded = encode_verify(5, 42);
  EXPECT_EQ(encoded, packet(MESSAGE_VERIFY, bytes_of(message_verify{5, 42, 0})));
}

TEST(Decode, reads_each_message_of_a_zygote_or_a_worker) {
  const auto checkpoint =
      decode(packet(MESSAGE_CHECKPOINT, bytes_of(message_checkpoint{3, 1, 2, 3}) + "why"));
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_EQ(checkpoint.value().level, unsigned{LEVEL_COMPILED});
  EXPECT_EQ(checkpoint.value().threads, 1u);
  EXPECT_EQ(checkpoint.value().reset, unsigned{RESET_REWIND});
  EXPECT_EQ(checkpoint.value().text, "why");
  const auto ready = decode(packet(MESSAGE_READY, bytes_of(message_ready{42, 0})));
  ASSERT_TRUE(ready.ok());
  EXPECT_EQ(ready.value().pid, 42);
  const auto done =
      decode(packet(MESSAGE_DONE, bytes_of(message_done{9, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})));
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

TEST(Decode, reads_what_a_worker_says_of_its_reset) {
  const auto stays = decode(packet(
      MESSAGE_DONE, bytes_of(message_done{9, 3, 1, 0, TRACKING_SCAN, 130, 35, 0, 0, 0, 0, 0, 0})));
  ASSERT_TRUE(stays.ok());
  EXPECT_TRUE(stays.value().stays);
  EXPECT_EQ(stays.value().tracking, unsigned{TRACKING_SCAN});
  EXPECT_EQ(stays.value().pages, 130u);
  EXPECT_EQ(stays.value().microseconds, 35u);
  const auto exits = decode(packet(
      MESSAGE_DONE,
      bytes_of(message_done{9, 3, 0, RETIRED_THREADS, 0, 0, 0, 9, 0, 0, 0, 0, 0}) + "2 threads"));
  ASSERT_TRUE(exits.ok());
  EXPECT_FALSE(exits.value().stays);
  EXPECT_EQ(exits.value().retirement, unsigned{RETIRED_THREADS});
  EXPECT_EQ(exits.value().text, "2 threads");
  const auto retired =
      decode(packet(MESSAGE_RETIRED, bytes_of(message_retired{RETIRED_MAPPINGS, 3}) + "why"));
  ASSERT_TRUE(retired.ok());
  EXPECT_EQ(retired.value().retirement, unsigned{RETIRED_MAPPINGS});
  EXPECT_EQ(retired.value().text, "why");
}

TEST(Decode, reads_what_a_zygote_found_of_a_worker) {
  const auto verified =
      decode(packet(MESSAGE_VERIFIED, bytes_of(message_verify{5, 42, 400}) + "page 3"));
  ASSERT_TRUE(verified.ok());
  EXPECT_EQ(verified.value().id, 5u);
  EXPECT_EQ(verified.value().pid, 42);
  EXPECT_EQ(verified.value().pages, 400u);
  EXPECT_EQ(verified.value().text, "page 3");
}

TEST(Decode, keeps_of_an_exit_code_what_wait_would_keep) {
  const auto done = decode(
      packet(MESSAGE_DONE, bytes_of(message_done{9, 256 + 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})));
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done.value().exit_code, 3);
}

// Goal: bad packets from a hostile worker are refused, and nothing is read beyond the packet.
// Method: each good packet is cut at every byte, and lengthened by one.
TEST(Decode, refuses_every_packet_that_is_cut_or_too_long) {
  const std::vector<std::string> good = {
      packet(MESSAGE_CHECKPOINT, bytes_of(message_checkpoint{1, 1, 1, 0})),
      packet(MESSAGE_READY, bytes_of(message_ready{42, 0})),
      packet(MESSAGE_DONE, bytes_of(message_done{9, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})),
      packet(MESSAGE_NOTE, bytes_of(message_note{NOTE_LOADED, 4}) + "json"),
      packet(MESSAGE_DONE,
             bytes_of(message_done{9, 3, 0, RETIRED_CALL, 0, 0, 0, 4, 0, 0, 0, 0, 0}) + "call"),
      packet(MESSAGE_RETIRED, bytes_of(message_retired{RETIRED_FAULT, 3}) + "why"),
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

// The text of these two extends to the packet's end.
TEST(Decode, refuses_answers_about_workers_that_are_cut) {
  for (const auto& [type, size] : {std::pair{MESSAGE_FORK_FAILED, sizeof(message_fork)},
                                   std::pair{MESSAGE_VERIFIED, sizeof(message_verify)}}) {
    for (std::size_t bytes = 0; bytes < size; ++bytes) {
      EXPECT_FALSE(decode(packet(type, std::string(bytes, '\1'))).ok());
    }
    EXPECT_TRUE(decode(packet(type, std::string(size, '\1'))).ok());
  }
}

TEST(Decode, refuses_what_only_the_bridge_sends_and_what_nobody_sends) {
  EXPECT_FALSE(decode(packet(MESSAGE_FORK, bytes_of(message_fork{1}))).ok());
  EXPECT_FALSE(decode(packet(MESSAGE_REQUEST, bytes_of(message_request{}))).ok());
  EXPECT_FALSE(decode(packet(MESSAGE_VERIFY, bytes_of(message_verify{1, 2, 0}))).ok());
  EXPECT_FALSE(decode(packet(99, "")).ok());
}

TEST(Decode, refuses_another_version_and_another_magic) {
  std::string other_version = packet(MESSAGE_READY, bytes_of(message_ready{42, 0}));
  other_version[4] = 1;
  EXPECT_FALSE(decode(other_version).ok());
  std::string other_magic = packet(MESSAGE_READY, bytes_of(message_ready{42, 0}));
  other_magic[0] = 'X';
  EXPECT_FALSE(decode(other_magic).ok());
}

TEST(Decode, says_what_a_request_has_used) {
  const auto done = decode(
      packet(MESSAGE_DONE, bytes_of(message_done{9, 3, 1, 0, 0, 0, 0, 0, 1234, 5678, 0, 0, 0})));
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done.value().cpu_microseconds, 1234u);
  EXPECT_EQ(done.value().peak_kib, 5678u);
}

TEST(Decode, says_whether_the_streams_are_kept) {
  const message_done keeps{9, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0};
  const message_done closes{9, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_TRUE(decode(packet(MESSAGE_DONE, bytes_of(keeps))).value().keeps_streams);
  EXPECT_FALSE(decode(packet(MESSAGE_DONE, bytes_of(closes))).value().keeps_streams);
}

std::string execute(std::uint32_t argc, std::uint32_t envc, const std::string& strings) {
  message_execute body{};
  body.request_id = 5;
  body.argc = argc;
  body.envc = envc;
  body.strings_bytes = static_cast<std::uint32_t>(strings.size());
  return packet(MESSAGE_EXECUTE, bytes_of(body) + strings);
}

TEST(Decode, says_what_a_program_is_about_to_execute) {
  const auto received = decode(execute(2, 2, "/srv\0/usr/bin/perl\0perl\0x y\0A=1\0B=\0"s)).value();
  EXPECT_EQ(received.id, 5u);
  const auto execution = execution_of(received);
  ASSERT_TRUE(execution);
  EXPECT_EQ(execution->folder, "/srv");
  EXPECT_EQ(execution->file, "/usr/bin/perl");
  EXPECT_EQ(execution->words, (std::vector<std::string_view>{"perl", "x y"}));
  EXPECT_EQ(execution->environment, "A=1\0B=\0"s);
  EXPECT_EQ(execution->environment_count, 2u);
}

TEST(Decode, knows_what_nobody_executes) {
  EXPECT_FALSE(decode(execute(0, 0, "/\0/x\0"s)));
  for (const auto& strings : {"/\0/x\0x\0"s, "/\0/x\0x\0A=1\0B=2\0"s, "/\0/x\0x\0A=1"s,
                              "srv\0/x\0x\0A=1\0"s, "/\0\0x\0A=1\0"s, ""s, "/\0/x\0"s}) {
    const auto received = decode(execute(1, 1, strings));
    ASSERT_TRUE(received);
    EXPECT_FALSE(execution_of(received.value())) << strings;
  }
}

TEST(Decode, only_what_is_executed_may_be_long) {
  const std::string text(MESSAGE_NOTE_MAX, 'a');
  const message_note note{NOTE_WARNING, MESSAGE_NOTE_MAX};
  EXPECT_FALSE(decode(packet(MESSAGE_NOTE, bytes_of(note) + text)));
  EXPECT_TRUE(decode(execute(1, 0, "/\0/"s + text + "\0x\0"s)));
}

TEST(Decode, refuses_values_that_no_worker_can_mean) {
  EXPECT_FALSE(decode(packet(MESSAGE_READY, bytes_of(message_ready{1, 0}))).ok());
  EXPECT_FALSE(decode(packet(MESSAGE_READY, bytes_of(message_ready{-1, 0}))).ok());
  EXPECT_FALSE(decode(packet(MESSAGE_CHECKPOINT, bytes_of(message_checkpoint{0, 1, 1, 0}))).ok());
  EXPECT_FALSE(decode(packet(MESSAGE_CHECKPOINT, bytes_of(message_checkpoint{4, 1, 1, 0}))).ok());
  EXPECT_FALSE(decode(packet(MESSAGE_CHECKPOINT, bytes_of(message_checkpoint{1, 1, 0, 0}))).ok());
  EXPECT_FALSE(decode(packet(MESSAGE_CHECKPOINT, bytes_of(message_checkpoint{1, 1, 4, 0}))).ok());
  const message_done impossible[] = {
      {9, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},                        // neither stays nor exits
      {9, 3, 1, RETIRED_THREADS, 0, 0, 0, 0, 0, 0, 0, 0, 0},          // both
      {9, 3, 0, RETIREMENTS, 0, 0, 0, 0, 0, 0, 0, 0, 0},              // for no known reason
      {9, 3, 1, 0, TRACKING_SOFT_DIRTY + 1, 0, 0, 0, 0, 0, 0, 0, 0},  // by no known way
      {9, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0},                        // neither keeps nor closes
      {9, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0},                        // keeps, and exits
  };
  for (const message_done& done : impossible) {
    EXPECT_FALSE(decode(packet(MESSAGE_DONE, bytes_of(done))).ok());
  }
  EXPECT_FALSE(decode(packet(MESSAGE_RETIRED, bytes_of(message_retired{RETIRED_NOT, 0}))).ok());
  EXPECT_FALSE(decode(packet(MESSAGE_RETIRED, bytes_of(message_retired{RETIREMENTS, 0}))).ok());
}

}  // namespace
}  // namespace message
