#include "fastcgi/wire.h"

#include "base/assert.h"

namespace fastcgi {

namespace {

std::uint8_t byte_at(ByteView bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

std::uint16_t u16_at(ByteView bytes, std::size_t at) {
  return static_cast<std::uint16_t>(byte_at(bytes, at) << 8 | byte_at(bytes, at + 1));
}

}  // namespace

// §3.3: version, type, request id B1 B0, content length B1 B0, padding length, reserved.
HeaderBytes encode_header(const RecordHeader& header) {
  return {static_cast<char>(FCGI_VERSION_1),
          static_cast<char>(header.type),
          static_cast<char>(header.id >> 8),
          static_cast<char>(header.id & 0xff),
          static_cast<char>(header.content_length >> 8),
          static_cast<char>(header.content_length & 0xff),
          static_cast<char>(header.padding_length),
          0};
}

std::optional<RecordHeader> decode_header(ByteView bytes) {
  BRIDGE_ASSERT(bytes.size() >= kHeaderSize);
  if (byte_at(bytes, 0) != FCGI_VERSION_1) return std::nullopt;
  return RecordHeader{.type = static_cast<RecordType>(byte_at(bytes, 1)),
                      .id = u16_at(bytes, 2),
                      .content_length = u16_at(bytes, 4),
                      .padding_length = byte_at(bytes, 6)};
}

// §5.1: role B1 B0, flags, reserved[5].
BeginBytes encode_begin(const BeginBody& body) {
  const auto role = static_cast<std::uint16_t>(body.role);
  const int flags = body.keep == KeepConnection::yes ? FCGI_KEEP_CONN : 0;
  return {static_cast<char>(role >> 8), static_cast<char>(role & 0xff), static_cast<char>(flags)};
}

BeginBody decode_begin(ByteView bytes) {
  BRIDGE_ASSERT(bytes.size() >= kBeginBodySize);
  const bool keep = (byte_at(bytes, 2) & FCGI_KEEP_CONN) != 0;
  return {.role = static_cast<Role>(u16_at(bytes, 0)),
          .keep = keep ? KeepConnection::yes : KeepConnection::no};
}

}  // namespace fastcgi
