// The FastCGI 1.0 record header and the protocol's numbers. The numbers come from libfcgi's
// <fastcgi.h>; bytes are read and written with shifts, never through its structs.
#pragma once

#include <fastcgi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace fastcgi {

using base::ByteView;

// Identifies a request on its connection; the client chooses it (§3.3). 0: a management record.
using RequestId = std::uint16_t;
constexpr RequestId kManagementId = FCGI_NULL_REQUEST_ID;

// A record's type byte. A peer may send any value, so a RecordType may be none of these.
enum class RecordType : std::uint8_t {
  begin_request = FCGI_BEGIN_REQUEST,
  abort_request = FCGI_ABORT_REQUEST,
  end_request = FCGI_END_REQUEST,
  params = FCGI_PARAMS,
  std_in = FCGI_STDIN,
  std_out = FCGI_STDOUT,
  std_err = FCGI_STDERR,
  data = FCGI_DATA,
  get_values = FCGI_GET_VALUES,
  get_values_result = FCGI_GET_VALUES_RESULT,
  unknown_type = FCGI_UNKNOWN_TYPE,
};

// What a client wants the application to do (§6). A peer may send any value.
enum class Role : std::uint16_t {
  responder = FCGI_RESPONDER,
  authorizer = FCGI_AUTHORIZER,
  filter = FCGI_FILTER,
};

// How a request ended as far as the protocol is concerned (§5.5).
enum class ProtocolStatus : std::uint8_t {
  request_complete = FCGI_REQUEST_COMPLETE,
  cant_mpx_conn = FCGI_CANT_MPX_CONN,
  overloaded = FCGI_OVERLOADED,
  unknown_role = FCGI_UNKNOWN_ROLE,
};

// Whether the client wants to keep the connection after its request (FCGI_KEEP_CONN, §5.1).
enum class KeepConnection { no, yes };

constexpr std::size_t kHeaderSize = FCGI_HEADER_LEN;
constexpr std::size_t kBeginBodySize = sizeof(FCGI_BeginRequestBody);

// The most content bytes that our records carry: the largest multiple of 8 that a header can state,
// so that a full record needs no padding.
constexpr std::size_t kRecordContentMax = FCGI_MAX_LENGTH / 8 * 8;

struct RecordHeader {
  RecordType type{};
  RequestId id = kManagementId;
  std::uint16_t content_length = 0;  // bytes
  std::uint8_t padding_length = 0;   // bytes after the content, without meaning

  bool operator==(const RecordHeader&) const = default;
};

using HeaderBytes = std::array<char, kHeaderSize>;

HeaderBytes encode_header(const RecordHeader& header);

// nullopt if the version byte is not 1: nothing after such a header can be trusted.
// bytes: at least kHeaderSize of them (a shorter view is a programmer error).
std::optional<RecordHeader> decode_header(ByteView bytes);

// The content of a FCGI_BEGIN_REQUEST record (§5.1).
struct BeginBody {
  Role role{};
  KeepConnection keep = KeepConnection::no;
};

using BeginBytes = std::array<char, kBeginBodySize>;

BeginBytes encode_begin(const BeginBody& body);

// bytes: at least kBeginBodySize of them (a shorter view is a programmer error).
BeginBody decode_begin(ByteView bytes);

}  // namespace fastcgi
