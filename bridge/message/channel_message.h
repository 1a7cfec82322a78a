// The messages of wire.h as values: encoded into a channel's packets and decoded from them.
// Pure: descriptors travel beside a packet, and worker/channel handles them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "message/wire.h"

namespace message {

// What a worker gets of one request. All of it is borrowed for the call that encodes it.
struct RequestStrings {
  base::ByteView cwd;
  const std::vector<std::string>& argv;         // the program's own words
  const std::vector<std::string>& query_words;  // after argv
  base::ByteView environment;                   // "K=V\0K=V\0..."
  std::uint32_t environment_count;
};

// Whether a worker sends READY when the reset after a request is done.
enum class SayReady { no, yes };

// Whether a request's descriptors 0, 1 and 2 come with it, are those that its worker has kept, or
// come from another worker, by the one descriptor that comes with it.
enum class Streams { sent, kept, by_peer };

// A request ready for a channel. memfd_content is empty unless the strings are too long for a
// packet (MESSAGE_BYTES_MAX); then it must travel as a memfd, the last descriptor.
struct EncodedRequest {
  base::ByteString packet;
  base::ByteString memfd_content;
};

EncodedRequest encode_request(std::uint64_t request_id, SayReady say_ready, Streams streams,
                              const RequestStrings& strings);
base::ByteString encode_fork(std::uint64_t worker_id);
base::ByteString encode_verify(std::uint64_t look_id, std::int32_t pid);
base::ByteString encode_rest();
base::ByteString encode_executed_by();
base::ByteString encode_executed();

// A message from a zygote or a worker. Only the members that belong to type are set.
struct Received {
  message_type type;
  std::uint64_t id = 0;       // DONE, EXECUTE: the request; FORK_FAILED: the worker; VERIFIED: look
  std::int32_t pid = 0;       // READY, VERIFIED
  std::uint32_t level = 0;    // CHECKPOINT: enum checkpoint_level
  std::uint32_t threads = 0;  // CHECKPOINT
  std::uint32_t reset = 0;    // CHECKPOINT: enum checkpoint_reset
  std::int32_t exit_code = 0;           // DONE
  bool stays = false;                   // DONE
  std::uint32_t retirement = 0;         // DONE, RETIRED: enum retirement
  std::uint32_t tracking = 0;           // DONE: enum page_tracking
  std::uint32_t pages = 0;              // DONE: restored; VERIFIED: compared
  std::uint32_t microseconds = 0;       // DONE
  std::uint32_t cpu_microseconds = 0;   // DONE
  std::uint32_t peak_kib = 0;           // DONE
  std::uint32_t unusual = 0;            // DONE: DONE_ bits
  bool keeps_streams = false;           // DONE
  std::uint32_t note_kind = 0;          // NOTE: enum note_kind
  std::uint32_t argc = 0, envc = 0;     // EXECUTE: of the strings in text, after the first two
  std::uint64_t device = 0, inode = 0;  // EXECUTE: of the file
  std::uint32_t ignored = 0;            // EXECUTE: signals; bit 0 is signal 1
  std::string text{};                   // all but READY
};

// Decodes one packet. A worker has run a program, so nothing that it sends is trusted: whatever
// does not match the table to the byte is an error.
base::Result<Received> decode(base::ByteView packet);

// What an EXECUTE says, as views of Received::text. words: argv, of which there is at least one.
struct Execution {
  std::string_view folder, file;
  std::uint64_t device = 0, inode = 0;  // of the file, as the worker finds it
  std::vector<std::string_view> words;
  base::ByteView environment;  // "K=V\0..."
  std::uint32_t environment_count = 0;
  std::uint32_t ignored = 0;  // signals; bit 0 is signal 1
};
// None if the strings are not what the message promises, if the folder's path is not absolute, or
// if the file's is empty.
std::optional<Execution> execution_of(const Received& execute);

}  // namespace message
