#include "fastcgi/client_connection.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "fastcgi/record_writer.h"

namespace fastcgi {
namespace {

// The client chooses the id (§3.3); one request at a time needs only one.
constexpr RequestId kOnlyId = 1;

std::string number(RecordType type) {
  return std::to_string(static_cast<unsigned>(type));
}

}  // namespace

void ClientConnection::begin(std::string& out, ByteView environment) {
  BRIDGE_ASSERT(!open_);
  open_ = true;
  body_ended_ = false;
  append_begin_request(out, kOnlyId, Role::responder, KeepConnection::yes);
  std::string params;
  params.reserve(environment.size() + environment.size() / 8);
  while (!environment.empty()) {
    const ByteView entry = environment.substr(0, environment.find('\0'));
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
    const ByteView name = entry.substr(0, entry.find('='));
    if (name.size() == entry.size()) continue;  // no '=': not a variable
    append_name_value(params, name, entry.substr(name.size() + 1));
  }
  append_stream(out, RecordType::params, kOnlyId, params);
  append_stream_end(out, RecordType::params, kOnlyId);
}

void ClientConnection::append_body(std::string& out, ByteView piece) {
  BRIDGE_ASSERT(open_ && !body_ended_);
  append_stream(out, RecordType::std_in, kOnlyId, piece);
}

void ClientConnection::end_body(std::string& out) {
  BRIDGE_ASSERT(open_ && !body_ended_);
  body_ended_ = true;
  append_stream_end(out, RecordType::std_in, kOnlyId);
}

void ClientConnection::abort(std::string& out) {
  BRIDGE_ASSERT(open_);
  append_abort_request(out, kOnlyId);
}

void ClientConnection::append_question(std::string& out) {
  constexpr std::array<std::string_view, 1> kAsked = {FCGI_MPXS_CONNS};
  append_get_values(out, kAsked);
}

void ClientConnection::feed(ByteView bytes) {
  if (!over_) reader_.feed(bytes);
}

EventStep ClientConnection::next(ClientEvent& out) {
  out = ClientEvent{};
  Fragment fragment;
  while (!over_) {
    switch (reader_.next(fragment)) {
      case Step::need_more:
        return EventStep::need_more;
      case Step::bad_record:
        bad_record("a record's version is not 1", out);
        return EventStep::event;
      case Step::fragment:
        if (on_fragment(fragment, out) == Outcome::event) return EventStep::event;
    }
  }
  return EventStep::need_more;
}

ClientConnection::Outcome ClientConnection::on_fragment(const Fragment& fragment,
                                                        ClientEvent& out) {
  const auto [type, id, length, padding] = fragment.header;
  if (id == kManagementId) {
    // §4.1, §4.2: the answers to GET_VALUES from applications that know it and that do not.
    if (type != RecordType::get_values_result && type != RecordType::unknown_type) {
      return bad_record("a management record of type " + number(type), out);
    }
    if (!fragment.is_last()) return Outcome::nothing;
    out.type = ClientEventType::management;
    return Outcome::event;
  }
  if (id != kOnlyId || !open_) {
    return bad_record("a record of type " + number(type) + " for request " + std::to_string(id) +
                          ", which is not open",
                      out);
  }
  switch (type) {
    case RecordType::std_out:
    case RecordType::std_err:
      // The end of a stream (§3.3) says nothing that END_REQUEST does not.
      if (fragment.content.empty()) return Outcome::nothing;
      out.type = type == RecordType::std_out ? ClientEventType::output : ClientEventType::errors;
      out.bytes = fragment.content;
      return Outcome::event;
    case RecordType::end_request:
      return on_end(fragment, out);
    default:
      return bad_record("a record of type " + number(type) + ", which no application sends", out);
  }
}

// §5.5: app status B3 to B0, protocol status, reserved[3].
ClientConnection::Outcome ClientConnection::on_end(const Fragment& fragment, ClientEvent& out) {
  if (fragment.header.content_length != sizeof(FCGI_EndRequestBody)) {
    return bad_record(
        "a FCGI_END_REQUEST of " + std::to_string(fragment.header.content_length) + " bytes", out);
  }
  if (fragment.is_first()) cut_end_.clear();
  cut_end_ += fragment.content;
  if (!fragment.is_last()) return Outcome::nothing;
  const auto byte_at = [this](std::size_t at) { return static_cast<std::uint8_t>(cut_end_[at]); };
  out.type = ClientEventType::end;
  for (std::size_t at = 0; at < 4; ++at) out.app_status = out.app_status << 8 | byte_at(at);
  out.protocol_status = static_cast<ProtocolStatus>(byte_at(4));
  open_ = false;
  return Outcome::event;
}

ClientConnection::Outcome ClientConnection::bad_record(std::string why, ClientEvent& out) {
  over_ = true;
  out.type = ClientEventType::bad_record;
  out.why = std::move(why);
  return Outcome::event;
}

}  // namespace fastcgi
