// The messages that zygotes and workers send on their channels (message/wire.h), as bytes.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "message/wire.h"

namespace fakes {

template <typename Body>
std::string packet(message_type type, const Body& body, std::string_view text = {}) {
  const message_header header{MESSAGE_MAGIC, MESSAGE_VERSION, static_cast<std::uint16_t>(type),
                              static_cast<std::uint32_t>(sizeof body + text.size())};
  std::string bytes(sizeof header + sizeof body, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, &body, sizeof body);
  return bytes.append(text);
}

inline std::string ready_packet(pid_t pid) {
  return packet(MESSAGE_READY, message_ready{pid, 0});
}

inline std::string done_packet(std::uint64_t request_id, bool stays, std::int32_t exit_code = 0,
                               bool keeps_streams = false) {
  message_done body{};
  body.request_id = request_id;
  body.exit_code = exit_code;
  body.stays = stays ? 1 : 0;
  body.keeps_streams = keeps_streams ? 1 : 0;
  return packet(MESSAGE_DONE, body);
}

inline std::string retired_packet(retirement why, std::string_view text) {
  return packet(MESSAGE_RETIRED, message_retired{why, static_cast<std::uint32_t>(text.size())},
                text);
}

inline std::string note_packet(note_kind kind, std::string_view text) {
  return packet(MESSAGE_NOTE, message_note{kind, static_cast<std::uint32_t>(text.size())}, text);
}

}  // namespace fakes
