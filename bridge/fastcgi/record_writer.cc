#include "fastcgi/record_writer.h"

#include <array>

#include "base/assert.h"

namespace fastcgi {

namespace {

constexpr std::size_t kAlignment = 8;  // bytes; §3.3
constexpr std::array<char, kAlignment> kZeros{};

// The header of a record whose content may be empty.
HeaderBytes padded_header(RecordType type, RequestId id, std::size_t content_length) {
  BRIDGE_ASSERT(content_length <= kRecordContentMax);
  return encode_header(
      {.type = type,
       .id = id,
       .content_length = static_cast<std::uint16_t>(content_length),
       .padding_length = static_cast<std::uint8_t>(padding_after(content_length).size())});
}

void append_record(std::string& out, RecordType type, RequestId id, ByteView content) {
  const HeaderBytes header = padded_header(type, id, content.size());
  out.append(header.data(), header.size());
  out.append(content);
  out.append(padding_after(content.size()));
}

}  // namespace

HeaderBytes stream_header(RecordType type, RequestId id, std::size_t content_length) {
  BRIDGE_ASSERT(content_length > 0);
  return padded_header(type, id, content_length);
}

ByteView padding_after(std::size_t content_length) {
  return {kZeros.data(), (kAlignment - content_length % kAlignment) % kAlignment};
}

ByteView take_record_content(ByteView& rest) {
  const ByteView content = rest.substr(0, kRecordContentMax);
  rest.remove_prefix(content.size());
  return content;
}

void append_stream(std::string& out, RecordType type, RequestId id, ByteView content) {
  while (!content.empty()) {
    ByteView piece = content.substr(0, kRecordContentMax);
    // HAProxy 2.6 aborts itself at a record of standard error without padding.
    if (type == RecordType::std_err && padding_after(piece.size()).empty()) piece.remove_suffix(1);
    append_record(out, type, id, piece);
    content.remove_prefix(piece.size());
  }
}

void append_stream_end(std::string& out, RecordType type, RequestId id) {
  append_record(out, type, id, {});
}

// §5.5: app status B3 to B0, protocol status, reserved[3].
void append_end_request(std::string& out, RequestId id, std::uint32_t app_status,
                        ProtocolStatus protocol_status) {
  const std::array<char, sizeof(FCGI_EndRequestBody)> body = {
      static_cast<char>(app_status >> 24), static_cast<char>(app_status >> 16 & 0xff),
      static_cast<char>(app_status >> 8 & 0xff), static_cast<char>(app_status & 0xff),
      static_cast<char>(protocol_status)};
  append_record(out, RecordType::end_request, id, {body.data(), body.size()});
}

// §4.2: type, reserved[7].
void append_unknown_type(std::string& out, RecordType not_understood) {
  const std::array<char, sizeof(FCGI_UnknownTypeBody)> body = {static_cast<char>(not_understood)};
  append_record(out, RecordType::unknown_type, kManagementId, {body.data(), body.size()});
}

void append_get_values_result(std::string& out, std::span<const NameValue> pairs) {
  std::string content;
  for (const NameValue& pair : pairs) append_name_value(content, pair.name, pair.value);
  append_record(out, RecordType::get_values_result, kManagementId, content);
}

void append_begin_request(std::string& out, RequestId id, Role role, KeepConnection keep) {
  const BeginBytes body = encode_begin({.role = role, .keep = keep});
  append_record(out, RecordType::begin_request, id, {body.data(), body.size()});
}

void append_abort_request(std::string& out, RequestId id) {
  append_record(out, RecordType::abort_request, id, {});
}

// §4.1: the names are sent with empty values.
void append_get_values(std::string& out, std::span<const std::string_view> names) {
  std::string content;
  for (std::string_view name : names) append_name_value(content, name, {});
  append_record(out, RecordType::get_values, kManagementId, content);
}

}  // namespace fastcgi
