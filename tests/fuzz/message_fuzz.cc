// Any packet from a zygote or a worker, which has run somebody's program: it is refused, or it
// matches the table to the byte. Nothing can be left out or added without the packet being refused
// or read as different text, and the message that is read stays within the table.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/assert.h"
#include "message/channel_message.h"

namespace {

// The lengths in a packet separate its type's fields from its text. A fuzzer would seldom get them
// right, so in every other input they are corrected.
void mend(std::string& packet) {
  message_header header{};
  if (packet.size() < sizeof header) return;
  std::memcpy(&header, packet.data(), sizeof header);
  header.magic = MESSAGE_MAGIC;
  header.version = MESSAGE_VERSION;
  header.body_bytes = static_cast<std::uint32_t>(packet.size() - sizeof header);
  std::memcpy(packet.data(), &header, sizeof header);
}

bool text_may_be_any_length(std::uint16_t type) {
  return type == MESSAGE_VERIFIED || type == MESSAGE_FORK_FAILED;
}

void demand_of_the_table(const message::Received& received) {
  BRIDGE_ASSERT(received.type != MESSAGE_READY || (received.pid > 1 && received.text.empty()));
  if (received.type == MESSAGE_CHECKPOINT) {
    BRIDGE_ASSERT(received.level >= LEVEL_LINKED && received.level <= LEVEL_COMPILED);
    BRIDGE_ASSERT(received.reset >= RESET_FORK && received.reset <= RESET_NONE);
  }
  BRIDGE_ASSERT(received.retirement < RETIREMENTS && received.tracking <= TRACKING_SOFT_DIRTY);
  BRIDGE_ASSERT(!received.stays || received.retirement == RETIRED_NOT);
  BRIDGE_ASSERT(received.exit_code >= 0 && received.exit_code <= 255);
  if (received.type != MESSAGE_EXECUTE) return;
  const auto execution = message::execution_of(received);
  if (!execution) return;
  std::size_t bytes = execution->folder.size() + execution->file.size() + 2;
  for (const std::string_view word : execution->words) bytes += word.size() + 1;
  BRIDGE_ASSERT(execution->words.size() == received.argc && received.argc > 0);
  BRIDGE_ASSERT(bytes + execution->environment.size() == received.text.size());
  BRIDGE_ASSERT(execution->folder.front() == '/' && !execution->file.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  std::string packet(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((data[0] & 1) != 0) mend(packet);
  packet.shrink_to_fit();
  const auto received = message::decode(packet);
  if (!received) {
    BRIDGE_ASSERT(!received.error().message.empty());
    return 0;
  }
  demand_of_the_table(received.value());
  BRIDGE_ASSERT(packet.ends_with(received.value().text));

  // The header counts every byte, so no packet is the beginning of another.
  for (std::size_t bytes = 0; bytes < packet.size(); ++bytes) {
    BRIDGE_ASSERT(!message::decode(packet.substr(0, bytes)).ok());
  }
  std::string longer = packet + "x";
  BRIDGE_ASSERT(!message::decode(longer).ok());
  mend(longer);
  message_header header{};
  std::memcpy(&header, packet.data(), sizeof header);
  BRIDGE_ASSERT(message::decode(longer).ok() == text_may_be_any_length(header.type));
  return 0;
}
