// Writes records, for the application side and the client side. Each append_ function adds whole
// records to the end of out. Content is padded to a multiple of 8 bytes, as §3.3 advises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "fastcgi/name_value.h"
#include "fastcgi/wire.h"

namespace fastcgi {

// --- Streams without a copy: send the header, the borrowed content, padding_after(its size). ---

// The header of a stream record that carries content_length bytes, 1 to kRecordContentMax. Other
// lengths are a programmer error: a stream record without content would end the stream.
HeaderBytes stream_header(RecordType type, RequestId id, std::size_t content_length);

// The zero bytes that follow content of that length. Static memory: always valid.
ByteView padding_after(std::size_t content_length);

// Takes what fits into one record off the front of rest: at most kRecordContentMax bytes.
ByteView take_record_content(ByteView& rest);

// --- Streams with a copy. ---

// Writes content in as many records as it needs; none if it is empty.
void append_stream(std::string& out, RecordType type, RequestId id, ByteView content);

// The empty record that ends a stream (§3.3).
void append_stream_end(std::string& out, RecordType type, RequestId id);

// --- The application's records. ---

void append_end_request(std::string& out, RequestId id, std::uint32_t app_status,
                        ProtocolStatus protocol_status);

// The answer to a management record of a type that is not understood (§4.2).
void append_unknown_type(std::string& out, RecordType not_understood);

// All pairs together must fit into kRecordContentMax (more is a programmer error).
void append_get_values_result(std::string& out, std::span<const NameValue> pairs);

// --- The client's records; it sends its params and std_in with append_stream. ---

void append_begin_request(std::string& out, RequestId id, Role role, KeepConnection keep);
void append_abort_request(std::string& out, RequestId id);

// Asks for the values of names; all names together must fit into kRecordContentMax.
void append_get_values(std::string& out, std::span<const std::string_view> names);

}  // namespace fastcgi
