#include "fastcgi/server_connection.h"

#include <array>
#include <utility>

#include "base/assert.h"
#include "fastcgi/record_writer.h"

namespace fastcgi {

namespace {

std::string of_request(RequestId id) {
  return " of request " + std::to_string(id);
}

}  // namespace

void ServerConnection::feed(ByteView bytes) {
  if (!over_) reader_.feed(bytes);
}

EventStep ServerConnection::next(Event& out) {
  out = Event{};
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

ConnectionFate ServerConnection::finish(RequestId id) {
  const auto request = requests_.find(id);
  BRIDGE_ASSERT(request != requests_.end());
  const KeepConnection keep = request->second.keep;
  requests_.erase(request);
  return fate_after(keep);
}

ServerConnection::Outcome ServerConnection::on_fragment(const Fragment& fragment, Event& out) {
  const RequestId id = fragment.header.id;
  if (fragment.header.type == RecordType::begin_request) return on_begin(fragment, out);
  if (id == kManagementId) return on_management(fragment, out);
  const auto active = requests_.find(id);
  // §3.3: records of an inactive id are ignored.
  if (active == requests_.end()) return Outcome::nothing;
  Request& request = active->second;
  switch (fragment.header.type) {
    case RecordType::params:
      return on_params(request, fragment, out);
    case RecordType::std_in:
      return on_stdin(request, fragment, out);
    case RecordType::abort_request:
      return on_abort(request, fragment, out);
    default:
      // FCGI_DATA belongs to Filters (§6.4); END_REQUEST, STDOUT and STDERR go the other way
      // (§5.3, §5.5); GET_VALUES has the null id (§4.1). §4.2 answers unknown types only in
      // management records. None of these concerns a Responder.
      return Outcome::nothing;
  }
}

// Where a record's content does not matter, a split record is handled at its first fragment.
ServerConnection::Outcome ServerConnection::on_management(const Fragment& fragment, Event& out) {
  if (fragment.header.type == RecordType::get_values) {
    if (fragment.header.content_length > kGetValuesBytesMax) {
      return bad_record("a FCGI_GET_VALUES record has " +
                            std::to_string(fragment.header.content_length) + " bytes, at most " +
                            std::to_string(kGetValuesBytesMax) + " are taken",
                        out);
    }
    ByteView content;
    return assemble(fragment, content) ? on_get_values(content, out) : Outcome::nothing;
  }
  // §4.2: a management record of a type that is not understood; with the null id (§3.3) that is
  // every type except one.
  if (!fragment.is_first()) return Outcome::nothing;
  out.type = EventType::reply;
  append_unknown_type(out.reply, fragment.header.type);
  return Outcome::event;
}

// §4.1: answers those requested names that are known, each once; the others are left out.
ServerConnection::Outcome ServerConnection::on_get_values(ByteView content, Event& out) {
  const std::string max_conns = std::to_string(limits_.max_conns);
  const std::string max_reqs = std::to_string(limits_.max_reqs);
  const std::array<NameValue, 3> known = {NameValue{FCGI_MAX_CONNS, max_conns},
                                          NameValue{FCGI_MAX_REQS, max_reqs},
                                          NameValue{FCGI_MPXS_CONNS, "1"}};
  std::array<bool, known.size()> asked{};
  NameValueDecoder decoder(content);
  NameValue pair;
  PairStep step;
  while ((step = decoder.next(pair)) == PairStep::pair) {
    for (std::size_t i = 0; i < known.size(); ++i) asked[i] |= pair.name == known[i].name;
  }
  if (step == PairStep::bad) {
    return bad_record("a name-value pair is cut off by the end of FCGI_GET_VALUES", out);
  }
  std::vector<NameValue> answers;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (asked[i]) answers.push_back(known[i]);
  }
  out.type = EventType::reply;
  append_get_values_result(out.reply, answers);
  return Outcome::event;
}

ServerConnection::Outcome ServerConnection::on_begin(const Fragment& fragment, Event& out) {
  const RequestId id = fragment.header.id;
  // §3.3: application records have an id that is not 0.
  if (id == kManagementId) return bad_record("FCGI_BEGIN_REQUEST with request id 0", out);
  // §5.1: the body has one fixed size.
  if (fragment.header.content_length != kBeginBodySize) {
    return bad_record("FCGI_BEGIN_REQUEST" + of_request(id) + " has " +
                          std::to_string(fragment.header.content_length) + " bytes instead of " +
                          std::to_string(kBeginBodySize),
                      out);
  }
  // §3.3: an id is free again once the application has sent its FCGI_END_REQUEST.
  if (requests_.contains(id)) {
    return bad_record("FCGI_BEGIN_REQUEST" + of_request(id) + ", which is active", out);
  }
  ByteView body;
  return assemble(fragment, body) ? start_request(id, decode_begin(body), out) : Outcome::nothing;
}

ServerConnection::Outcome ServerConnection::start_request(RequestId id, const BeginBody& begin,
                                                          Event& out) {
  // §5.5: Authorizers and Filters get their END_REQUEST at once; so do requests above the limit.
  if (begin.role != Role::responder) {
    return refuse_request(id, begin, ProtocolStatus::unknown_role, out);
  }
  if (requests_.size() >= limits_.requests_max) {
    return refuse_request(id, begin, ProtocolStatus::overloaded, out);
  }
  Request request;
  request.role = begin.role;
  request.keep = begin.keep;
  requests_.emplace(id, std::move(request));
  return Outcome::nothing;
}

ServerConnection::Outcome ServerConnection::refuse_request(RequestId id, const BeginBody& begin,
                                                           ProtocolStatus status, Event& out) {
  out.type = EventType::reply;
  out.id = id;
  out.why = status == ProtocolStatus::overloaded
                ? "FCGI_OVERLOADED: it has " + std::to_string(limits_.requests_max) + " already"
                : "FCGI_UNKNOWN_ROLE: role " + std::to_string(static_cast<unsigned>(begin.role));
  append_end_request(out.reply, id, 0, status);
  out.fate = fate_after(begin.keep);
  return Outcome::event;
}

ServerConnection::Outcome ServerConnection::on_params(Request& request, const Fragment& fragment,
                                                      Event& out) {
  const RequestId id = fragment.header.id;
  if (request.phase == Phase::refused || request.phase == Phase::aborted) return Outcome::nothing;
  const bool ends_stream = fragment.header.content_length == 0;  // §3.3
  if (request.phase != Phase::params) {
    // A second end does no harm; content after the end breaks the stream.
    if (ends_stream) return Outcome::nothing;
    return bad_record("FCGI_PARAMS" + of_request(id) + " after their end", out);
  }
  if (ends_stream) return end_params(request, id, out);
  if (fragment.content.size() > limits_.params_bytes_max - request.params.size()) {
    request.phase = Phase::refused;
    std::vector<char>().swap(request.params);
    out.type = EventType::params_too_large;
    out.id = id;
    out.keep = request.keep;
    return Outcome::event;
  }
  request.params.insert(request.params.end(), fragment.content.begin(), fragment.content.end());
  return Outcome::nothing;
}

ServerConnection::Outcome ServerConnection::end_params(Request& request, RequestId id, Event& out) {
  auto params = Params::decode(std::exchange(request.params, {}));
  if (!params)
    return bad_record("FCGI_PARAMS" + of_request(id) + ": " + params.error().message, out);
  request.phase = Phase::body;
  out.type = EventType::request_ready;
  out.id = id;
  out.role = request.role;
  out.keep = request.keep;
  out.params = params.take();
  return Outcome::event;
}

ServerConnection::Outcome ServerConnection::on_stdin(Request& request, const Fragment& fragment,
                                                     Event& out) {
  const RequestId id = fragment.header.id;
  const bool ends_stream = fragment.header.content_length == 0;  // §3.3
  switch (request.phase) {
    case Phase::params:
      // §6.1: inputs are not interleaved, and PARAMS comes first.
      return bad_record("FCGI_STDIN" + of_request(id) + " before the end of its FCGI_PARAMS", out);
    case Phase::complete:
      if (ends_stream) return Outcome::nothing;
      return bad_record("FCGI_STDIN" + of_request(id) + " after its end", out);
    case Phase::refused:
    case Phase::aborted:
      return Outcome::nothing;
    case Phase::body:
      break;
  }
  if (ends_stream) request.phase = Phase::complete;
  out.type = ends_stream ? EventType::stdin_end : EventType::stdin_bytes;
  out.id = id;
  out.bytes = fragment.content;
  return Outcome::event;
}

// §5.4: the gateway answers with FCGI_END_REQUEST as soon as it can.
ServerConnection::Outcome ServerConnection::on_abort(Request& request, const Fragment& fragment,
                                                     Event& out) {
  if (request.phase == Phase::aborted) return Outcome::nothing;
  request.phase = Phase::aborted;
  std::vector<char>().swap(request.params);
  out.type = EventType::aborted;
  out.id = fragment.header.id;
  return Outcome::event;
}

ServerConnection::Outcome ServerConnection::bad_record(std::string why, Event& out) {
  over_ = true;
  out.type = EventType::bad_record;
  out.why = std::move(why);
  return Outcome::event;
}

// Returns true once whole is the record's content: a view into the fragment or, if the record was
// split across feeds, into assembled_. Records do not interleave, so one buffer is enough for all
// discrete records (§3.3).
bool ServerConnection::assemble(const Fragment& fragment, ByteView& whole) {
  whole = fragment.content;
  if (fragment.is_first() && fragment.is_last()) return true;
  if (fragment.is_first()) assembled_.clear();
  assembled_.append(fragment.content);
  whole = assembled_;
  return fragment.is_last();
}

// §5.1: without FCGI_KEEP_CONN the application closes the connection after the answer, but first
// answers other requests that are still active.
ConnectionFate ServerConnection::fate_after(KeepConnection keep) {
  if (keep == KeepConnection::no) no_keep_ = true;
  if (no_keep_ && requests_.empty()) over_ = true;
  return over_ ? ConnectionFate::closes : ConnectionFate::stays;
}

}  // namespace fastcgi
