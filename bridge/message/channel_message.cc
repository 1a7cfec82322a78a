#include "message/channel_message.h"

#include <cstring>

namespace message {
namespace {

template <typename T>
void append_struct(base::ByteString& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Takes a T off the front of bytes; false if they are too few.
template <typename T>
bool take_struct(base::ByteView& bytes, T& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return true;
}

message_header header(message_type type, std::size_t body_bytes) {
  return {MESSAGE_MAGIC, MESSAGE_VERSION, static_cast<std::uint16_t>(type),
          static_cast<std::uint32_t>(body_bytes)};
}

base::Error malformed(const char* what) {
  return base::Error{std::string("malformed message: ") + what};
}

base::Result<Received> decode_checkpoint(base::ByteView body) {
  message_checkpoint fields;
  if (!take_struct(body, fields) || !body.empty()) return malformed("checkpoint");
  if (fields.level < LEVEL_LINKED || fields.level > LEVEL_COMPILED) return malformed("level");
  return Received{.type = MESSAGE_CHECKPOINT, .level = fields.level, .threads = fields.threads};
}

base::Result<Received> decode_ready(base::ByteView body) {
  message_ready fields;
  if (!take_struct(body, fields) || !body.empty()) return malformed("ready");
  if (fields.pid <= 1) return malformed("ready: pid");
  return Received{.type = MESSAGE_READY, .pid = fields.pid};
}

base::Result<Received> decode_done(base::ByteView body) {
  message_done fields;
  if (!take_struct(body, fields) || !body.empty()) return malformed("done");
  return Received{
      .type = MESSAGE_DONE, .id = fields.request_id, .exit_code = fields.exit_code & 0xff};
}

base::Result<Received> decode_fork_failed(base::ByteView body) {
  message_fork fields;
  if (!take_struct(body, fields)) return malformed("fork failed");
  return Received{.type = MESSAGE_FORK_FAILED, .id = fields.worker_id, .text = std::string(body)};
}

base::Result<Received> decode_note(base::ByteView body) {
  message_note fields;
  if (!take_struct(body, fields) || body.size() != fields.text_bytes) return malformed("note");
  return Received{.type = MESSAGE_NOTE, .note_kind = fields.kind, .text = std::string(body)};
}

}  // namespace

EncodedRequest encode_request(std::uint64_t request_id, const RequestStrings& strings) {
  base::ByteString text(strings.cwd);
  text.push_back('\0');
  for (const std::string& word : strings.argv) text.append(word.c_str(), word.size() + 1);
  text.append(strings.environment);

  message_request fields{};
  fields.request_id = request_id;
  fields.argc = static_cast<std::uint32_t>(strings.argv.size());
  fields.envc = strings.environment_count;
  fields.strings_bytes = static_cast<std::uint32_t>(text.size());
  const std::size_t inline_bytes = sizeof(message_header) + sizeof fields + text.size();
  fields.in_memfd = inline_bytes > MESSAGE_BYTES_MAX ? 1 : 0;

  EncodedRequest encoded;
  const std::size_t body_bytes = sizeof fields + (fields.in_memfd ? 0 : text.size());
  encoded.packet.reserve(sizeof(message_header) + body_bytes);
  append_struct(encoded.packet, header(MESSAGE_REQUEST, body_bytes));
  append_struct(encoded.packet, fields);
  if (fields.in_memfd) {
    encoded.memfd_content = std::move(text);
  } else {
    encoded.packet += text;
  }
  return encoded;
}

base::ByteString encode_fork(std::uint64_t worker_id) {
  base::ByteString packet;
  append_struct(packet, header(MESSAGE_FORK, sizeof(message_fork)));
  append_struct(packet, message_fork{worker_id});
  return packet;
}

base::Result<Received> decode(base::ByteView packet) {
  message_header head;
  if (!take_struct(packet, head)) return malformed("shorter than a header");
  if (head.magic != MESSAGE_MAGIC) return malformed("wrong magic");
  if (head.version != MESSAGE_VERSION) return malformed("wrong version");
  if (head.body_bytes != packet.size()) return malformed("wrong length");
  switch (head.type) {
    case MESSAGE_CHECKPOINT:
      return decode_checkpoint(packet);
    case MESSAGE_FORK_FAILED:
      return decode_fork_failed(packet);
    case MESSAGE_READY:
      return decode_ready(packet);
    case MESSAGE_DONE:
      return decode_done(packet);
    case MESSAGE_NOTE:
      return decode_note(packet);
    default:
      return malformed("a type that only the bridge sends, or none at all");
  }
}

}  // namespace message
