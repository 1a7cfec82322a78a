#include "message/channel_message.h"

#include <cstring>

namespace message {
namespace {

template <typename T>
void append_struct(base::ByteString& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Takes a T off the front of bytes; false if there are too few.
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

// The bytes after the fields must be as many as the fields say.
bool is_text(base::ByteView rest, std::uint32_t text_bytes) {
  return rest.size() == text_bytes;
}

base::Result<Received> decode_checkpoint(base::ByteView body) {
  message_checkpoint fields;
  if (!take_struct(body, fields) || !is_text(body, fields.text_bytes)) {
    return malformed("checkpoint");
  }
  if (fields.level < LEVEL_LINKED || fields.level > LEVEL_COMPILED) return malformed("level");
  if (fields.reset < RESET_FORK || fields.reset > RESET_NONE) return malformed("reset");
  return Received{.type = MESSAGE_CHECKPOINT,
                  .level = fields.level,
                  .threads = fields.threads,
                  .reset = fields.reset,
                  .text = std::string(body)};
}

base::Result<Received> decode_ready(base::ByteView body) {
  message_ready fields;
  if (!take_struct(body, fields) || !body.empty()) return malformed("ready");
  if (fields.pid <= 1) return malformed("ready: pid");
  return Received{.type = MESSAGE_READY, .pid = fields.pid};
}

base::Result<Received> decode_done(base::ByteView body) {
  message_done fields;
  if (!take_struct(body, fields) || !is_text(body, fields.text_bytes)) return malformed("done");
  if (fields.stays > 1 || (fields.stays == 1 && fields.retirement != RETIRED_NOT)) {
    return malformed("done: stays");
  }
  if (fields.keeps_streams > fields.stays) return malformed("done: keeps_streams");
  if (fields.retirement >= RETIREMENTS) return malformed("done: retirement");
  if (fields.tracking > TRACKING_SOFT_DIRTY) return malformed("done: tracking");
  return Received{.type = MESSAGE_DONE,
                  .id = fields.request_id,
                  .exit_code = fields.exit_code & 0xff,
                  .stays = fields.stays == 1,
                  .retirement = fields.retirement,
                  .tracking = fields.tracking,
                  .pages = fields.pages,
                  .microseconds = fields.microseconds,
                  .cpu_microseconds = fields.cpu_microseconds,
                  .peak_kib = fields.peak_kib,
                  .unusual = fields.unusual & (DONE_RARE_CALL | DONE_FORKED),
                  .keeps_streams = fields.keeps_streams == 1,
                  .text = std::string(body)};
}

base::Result<Received> decode_retired(base::ByteView body) {
  message_retired fields;
  if (!take_struct(body, fields) || !is_text(body, fields.text_bytes)) return malformed("retired");
  if (fields.retirement == RETIRED_NOT || fields.retirement >= RETIREMENTS) {
    return malformed("retired: why");
  }
  return Received{
      .type = MESSAGE_RETIRED, .retirement = fields.retirement, .text = std::string(body)};
}

base::Result<Received> decode_verified(base::ByteView body) {
  message_verify fields;
  if (!take_struct(body, fields)) return malformed("verified");
  return Received{.type = MESSAGE_VERIFIED,
                  .id = fields.look_id,
                  .pid = fields.pid,
                  .pages = fields.pages,
                  .text = std::string(body)};
}

base::Result<Received> decode_fork_failed(base::ByteView body) {
  message_fork fields;
  if (!take_struct(body, fields)) return malformed("fork failed");
  return Received{.type = MESSAGE_FORK_FAILED, .id = fields.worker_id, .text = std::string(body)};
}

base::Result<Received> decode_note(base::ByteView body) {
  message_note fields;
  if (!take_struct(body, fields) || !is_text(body, fields.text_bytes)) return malformed("note");
  return Received{.type = MESSAGE_NOTE, .note_kind = fields.kind, .text = std::string(body)};
}

base::Result<Received> decode_execute(base::ByteView body) {
  message_execute fields;
  if (!take_struct(body, fields)) return malformed("execute");
  if (!is_text(body, fields.strings_bytes)) return malformed("execute");
  if (fields.argc == 0) return malformed("execute: without a word");
  return Received{.type = MESSAGE_EXECUTE,
                  .id = fields.request_id,
                  .argc = fields.argc,
                  .envc = fields.envc,
                  .device = fields.device,
                  .inode = fields.inode,
                  .ignored = fields.ignored,
                  .text = std::string(body)};
}

// Takes a string off the front of text; none if no NUL follows it.
std::optional<std::string_view> take_string(std::string_view& text) {
  const std::size_t end = text.find('\0');
  if (end == text.npos) return std::nullopt;
  const std::string_view string = text.substr(0, end);
  text.remove_prefix(end + 1);
  return string;
}

base::ByteString encode_bare(message_type type) {
  base::ByteString packet;
  append_struct(packet, header(type, 0));
  return packet;
}

std::size_t bytes_of(const std::vector<std::string>& words) {
  std::size_t bytes = 0;
  for (const std::string& word : words) bytes += word.size() + 1;
  return bytes;
}

void append_strings(base::ByteString& out, const RequestStrings& strings) {
  out.append(strings.cwd).push_back('\0');
  for (const std::string& word : strings.argv) out.append(word.c_str(), word.size() + 1);
  for (const std::string& word : strings.query_words) out.append(word.c_str(), word.size() + 1);
  out.append(strings.environment);
}

}  // namespace

EncodedRequest encode_request(std::uint64_t request_id, SayReady say_ready, Streams streams,
                              const RequestStrings& strings) {
  message_request fields{};
  fields.request_id = request_id;
  fields.argc = static_cast<std::uint32_t>(strings.argv.size() + strings.query_words.size());
  fields.envc = strings.environment_count;
  const std::size_t strings_bytes = strings.cwd.size() + 1 + bytes_of(strings.argv) +
                                    bytes_of(strings.query_words) + strings.environment.size();
  fields.strings_bytes = static_cast<std::uint32_t>(strings_bytes);
  const std::size_t inline_bytes = sizeof(message_header) + sizeof fields + strings_bytes;
  const bool in_memfd = inline_bytes > MESSAGE_BYTES_MAX;
  fields.flags = (in_memfd ? REQUEST_IN_MEMFD : 0) |
                 (say_ready == SayReady::yes ? REQUEST_SAY_READY : 0) |
                 (streams == Streams::kept ? REQUEST_KEPT : 0) |
                 (streams == Streams::by_peer ? REQUEST_BY_PEER : 0);

  EncodedRequest encoded;
  const std::size_t body_bytes = sizeof fields + (in_memfd ? 0 : strings_bytes);
  encoded.packet.reserve(sizeof(message_header) + body_bytes);
  append_struct(encoded.packet, header(MESSAGE_REQUEST, body_bytes));
  append_struct(encoded.packet, fields);
  base::ByteString& text = in_memfd ? encoded.memfd_content : encoded.packet;
  if (in_memfd) text.reserve(strings_bytes);
  append_strings(text, strings);
  return encoded;
}

base::ByteString encode_fork(std::uint64_t worker_id) {
  base::ByteString packet;
  append_struct(packet, header(MESSAGE_FORK, sizeof(message_fork)));
  append_struct(packet, message_fork{worker_id});
  return packet;
}

base::ByteString encode_rest() {
  return encode_bare(MESSAGE_REST);
}

base::ByteString encode_executed_by() {
  return encode_bare(MESSAGE_EXECUTED_BY);
}

base::ByteString encode_executed() {
  return encode_bare(MESSAGE_EXECUTED);
}

base::ByteString encode_verify(std::uint64_t look_id, std::int32_t pid) {
  base::ByteString packet;
  append_struct(packet, header(MESSAGE_VERIFY, sizeof(message_verify)));
  append_struct(packet, message_verify{look_id, pid, 0});
  return packet;
}

std::optional<Execution> execution_of(const Received& execute) {
  std::string_view text = execute.text;
  Execution execution;
  const auto folder = take_string(text), file = take_string(text);
  if (!folder || !file || !folder->starts_with('/') || file->empty()) return {};
  execution.folder = *folder;
  execution.file = *file;
  execution.device = execute.device;
  execution.inode = execute.inode;
  execution.ignored = execute.ignored;
  for (std::uint32_t i = 0; i < execute.argc; ++i) {
    const auto word = take_string(text);
    if (!word) return {};
    execution.words.push_back(*word);
  }
  execution.environment = text;
  execution.environment_count = execute.envc;
  for (std::uint32_t i = 0; i < execute.envc; ++i) {
    if (!take_string(text)) return {};
  }
  if (!text.empty()) return {};
  return execution;
}

base::Result<Received> decode(base::ByteView packet) {
  message_header head;
  if (!take_struct(packet, head)) return malformed("shorter than a header");
  if (head.magic != MESSAGE_MAGIC) return malformed("wrong magic");
  if (head.version != MESSAGE_VERSION) return malformed("wrong version");
  if (head.body_bytes != packet.size()) return malformed("wrong length");
  if (head.type != MESSAGE_EXECUTE && sizeof head + packet.size() > MESSAGE_NOTE_MAX) {
    return malformed("too long");
  }
  switch (head.type) {
    case MESSAGE_CHECKPOINT:
      return decode_checkpoint(packet);
    case MESSAGE_FORK_FAILED:
      return decode_fork_failed(packet);
    case MESSAGE_READY:
      return decode_ready(packet);
    case MESSAGE_DONE:
      return decode_done(packet);
    case MESSAGE_RETIRED:
      return decode_retired(packet);
    case MESSAGE_VERIFIED:
      return decode_verified(packet);
    case MESSAGE_NOTE:
      return decode_note(packet);
    case MESSAGE_EXECUTE:
      return decode_execute(packet);
    default:
      return malformed("a type that only the bridge sends, or none at all");
  }
}

}  // namespace message
