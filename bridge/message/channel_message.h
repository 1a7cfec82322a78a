// The messages of wire.h as values: encoded into packets for a channel, decoded from them.
// Pure: descriptors travel beside a packet and are worker/channel's affair.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "message/wire.h"

namespace message {

// What a worker is told of one request. All views are borrowed for the call that encodes them.
struct RequestStrings {
  base::ByteView cwd;
  const std::vector<std::string>& argv;
  base::ByteView environment;  // "K=V\0K=V\0..."
  std::uint32_t environment_count;
};

// A request ready for a channel. memfd_content is empty unless the strings are too long for a
// packet (MESSAGE_BYTES_MAX); then it must travel as a memfd, the fourth descriptor.
struct EncodedRequest {
  base::ByteString packet;
  base::ByteString memfd_content;
};

EncodedRequest encode_request(std::uint64_t request_id, const RequestStrings& strings);
base::ByteString encode_fork(std::uint64_t worker_id);

// What a zygote or a worker said. Only the members that belong to type are set.
struct Received {
  message_type type;
  std::uint32_t level = 0;      // MESSAGE_CHECKPOINT
  std::uint32_t threads = 0;    // MESSAGE_CHECKPOINT
  std::int32_t pid = 0;         // MESSAGE_READY
  std::uint64_t id = 0;         // MESSAGE_DONE: the request; MESSAGE_FORK_FAILED: the worker
  std::int32_t exit_code = 0;   // MESSAGE_DONE
  std::uint32_t note_kind = 0;  // MESSAGE_NOTE
  std::string text{};           // MESSAGE_NOTE, MESSAGE_FORK_FAILED
};

// Takes one packet apart. A worker has run a program: nothing it sends is trusted, and whatever
// does not fit the table to the byte is an error.
base::Result<Received> decode(base::ByteView packet);

}  // namespace message
