#include "gateway/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "fastcgi/record_writer.h"
#include "gateway/gateway.h"
#include "gateway/listen_socket.h"
#include "gateway/page_exchange.h"

namespace gateway {
namespace {

constexpr std::size_t kReadBytes = 64 * base::kKiB;
constexpr std::chrono::milliseconds kLingerMax{2000};
// How long a new connection stays unwatched if its request has arrived completely.
constexpr std::chrono::milliseconds kUnwatched{2};

// Whether the other end of fd, which sends no more, still reads. A TCP client that is gone looks
// like one that has only finished sending, so it counts as gone.
bool still_reads(int fd) {
  int domain = AF_UNSPEC;
  socklen_t size = sizeof domain;
  if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_UNIX) {
    return false;
  }
  pollfd state{.fd = fd, .events = 0, .revents = 0};
  return ::poll(&state, 1, 0) == 0;
}

std::array<char, kReadBytes>& read_bytes() {
  static std::array<char, kReadBytes> bytes;  // one loop; used only within a turn
  return bytes;
}

}  // namespace

Connection::Connection(Gateway& gateway, base::UniqueFd fd)
    : gateway_(gateway),
      fd_(std::move(fd)),
      bound_(program_bound_to(fd_, gateway.settings()->bridge.bound)),
      codec_(gateway.server_limits()),
      watch_(gateway.loop(), fd_.get(), [this](unsigned readiness) { on_ready(readiness); }),
      flush_(gateway.loop(), [this] { end_of_turn(); }),
      unwatched_timer_(gateway.loop(), [this] { watch(); }) {}

Connection::~Connection() = default;

void Connection::begin() {
  unwatched_timer_.start(kUnwatched);
  read();
  flush_.schedule();
}

// ---- what the client sends ----

void Connection::on_ready(unsigned readiness) {
  if (gone_) return;
  if ((readiness & loop::kWritable) != 0) flush_.schedule();
  if ((readiness & loop::kReadable) != 0) return read();
  if ((readiness & (loop::kPeerGone | loop::kHungUp)) == 0) return;
  half_closed_ = still_reads(fd_.get());
  if (!half_closed_) return client_gone("closed its connection");
  flush_.schedule();
}

void Connection::read() {
  const ssize_t got = ::recv(fd_.get(), read_bytes().data(), kReadBytes, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got < 0) return client_gone("reset its connection");
  if (got == 0) return client_sends_no_more();
  if (phase_ != Phase::open) return;  // lingering: dropped
  codec_.feed(base::ByteView(read_bytes().data(), static_cast<std::size_t>(got)));
  fastcgi::Event event;
  while (!gone_ && phase_ == Phase::open && codec_.next(event) == fastcgi::EventStep::event) {
    handle(event);
  }
  if (!gone_) flush_.schedule();
}

void Connection::handle(fastcgi::Event& event) {
  const auto found = requests_.find(event.id);
  Exchange* request = found == requests_.end() ? nullptr : found->second.get();
  switch (event.type) {
    case fastcgi::EventType::request_ready:
      return begin_exchange(event.id, event.params);
    case fastcgi::EventType::params_too_large:
      return add_request(event.id).fail(
          431, {},
          fmt::format("params of more than {} bytes (bridge.params_max)",
                      gateway_.server_limits().params_bytes_max));
    case fastcgi::EventType::stdin_bytes:
      if (request != nullptr) request->body_bytes(event.bytes);
      return;
    case fastcgi::EventType::stdin_end:
      if (request != nullptr) request->body_end();
      return;
    case fastcgi::EventType::aborted:
      // FastCGI 1.0 §5.4: the answer to an abort is END_REQUEST; the program is ended.
      return finish(event.id, 0);
    case fastcgi::EventType::reply:
      if (!event.why.empty()) tell_refused(event);
      out_.append(event.reply);
      flush_.schedule();
      if (event.fate == fastcgi::ConnectionFate::closes) phase_ = Phase::closing;
      return;
    case fastcgi::EventType::bad_record:
      base::log_warn("connection: {}: it is closed", event.why);
      return close();
  }
}

// Logged once per connection; the metric counts all.
void Connection::tell_refused(const fastcgi::Event& event) {
  ++gateway_.counts().requests_refused;
  if (std::exchange(refusal_told_, true)) return;
  base::log_warn("connection: request {} is refused with {}; more of the kind are not told here",
                 event.id, event.why);
}

void Connection::begin_exchange(fastcgi::RequestId id, const fastcgi::Params& params) {
  cgi::Variables variables;
  variables.reserve(params.size());
  for (const auto& pair : params) variables.emplace_back(pair.name, pair.value);
  auto settings = gateway_.settings();
  if (settings->bridge.first_param_counts) cgi::keep_first(variables);
  const OwnAnswers& own = gateway_.own_answers();
  const PageHandler* handler = &own.health;
  auto visit = PageVisit::exactly(settings->bridge.health, variables);
  if (!visit) {
    handler = &own.page;
    visit = PageVisit::of(settings->bridge.page.path, variables);
  }
  if (!visit) return add_request(id).start(std::move(settings), variables, bound_);
  requests_[id] =
      std::make_unique<PageExchange>(*this, id, std::move(*visit), *handler, gateway_.counts());
}

Request& Connection::add_request(fastcgi::RequestId id) {
  auto request = std::make_unique<Request>(gateway_, *this, id);
  Request& added = *request;
  requests_[id] = std::move(request);
  return added;
}

// Requests that are whole are answered; the connection then closes.
void Connection::client_sends_no_more() {
  const bool whole = std::ranges::all_of(
      requests_, [](const auto& entry) { return entry.second->body_complete(); });
  half_closed_ = whole && phase_ != Phase::lingering && still_reads(fd_.get());
  if (!half_closed_) return client_gone("closed its connection");
  all_read_ = true;
  if (requests_.empty()) phase_ = Phase::closing;
  flush_.schedule();
}

void Connection::client_gone(const char* how) {
  if (out_.needed() == 0) {
    std::vector<fastcgi::RequestId> whole;
    for (const auto& [id, request] : requests_) {
      if (request->answer_is_whole()) whole.push_back(id);
    }
    for (const auto id : whole) let_finish(id);
  }
  if (!requests_.empty()) {
    base::log_info("connection: the client {} with {} request(s) open: their programs are ended",
                   how, requests_.size());
  }
  close();
}

// ---- what goes back ----

void Connection::finish(fastcgi::RequestId id, std::uint32_t app_status) {
  std::string record;
  fastcgi::append_end_request(record, id, app_status, fastcgi::ProtocolStatus::request_complete);
  out_.append(record);
  const auto found = requests_.find(id);
  if (found != requests_.end()) {
    body_cut_ |= !found->second->body_complete();
    if (found->second->answer_is_whole()) {
      let_finish(id);
    } else {
      found->second->cancel();
      finished_.push_back(std::move(found->second));
      requests_.erase(found);
    }
  }
  const bool stays = !all_read_ && (!gateway_.draining() || gateway_.hands_over());
  if (codec_.finish(id) == fastcgi::ConnectionFate::closes || !stays) {
    if (requests_.empty()) phase_ = Phase::closing;
  }
  flush_.schedule();
}

void Connection::let_finish(fastcgi::RequestId id) {
  const auto found = requests_.find(id);
  gateway_.let_finish(std::move(found->second));
  requests_.erase(found);
}

void Connection::break_off(fastcgi::RequestId id, std::uint32_t app_status) {
  // An END_REQUEST would make half an answer look whole; but other requests on this connection need
  // it.
  if (requests_.size() > 1) return finish(id, app_status);
  finished_.push_back(std::move(requests_.at(id)));
  requests_.clear();
  body_cut_ = true;
  phase_ = Phase::closing;
  flush_.schedule();
}

void Connection::end_of_turn() {
  flush();
  finished_.clear();
  if (gateway_.hands_over() && handed_over()) return;
  if (gone_) return;
  note_use();
  set_asked();
}

// An unfinished request does not count as younger because it gets a byte a second.
void Connection::note_use() {
  using Use = policy::ConnectionUse;
  Use use = Use::serving;
  if (idle() && phase_ == Phase::open) {
    use = codec_.between_requests() ? Use::idle : Use::unfinished;
  }
  if (use == Use::unfinished && view_.use == use) return;
  view_ = {use, gateway_.loop().now()};
  if (use == Use::unfinished) gateway_.look_after_connections();
}

void Connection::flush() {
  short_of_room_ |= !has_room();
  send();
  if (gone_) return;
  if (short_of_room_ && out_.size() < kOutHeldMax / 2) {
    short_of_room_ = false;
    // Resuming a request may finish it, which changes the map.
    std::vector<Exchange*> all;
    for (auto& [id, request] : requests_) all.push_back(request.get());
    for (Exchange* request : all) request->resume();
  }
  if (out_.empty() && phase_ == Phase::closing) after_last_byte();
}

void Connection::send() {
  while (!out_.empty()) {
    const ssize_t sent = ::send(fd_.get(), out_.bytes().data(), out_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) return client_gone("reset its connection");
    out_.consume(static_cast<std::size_t>(sent));
  }
}

// Everything is sent. Closing with unread bytes would reset the connection, and the client could
// lose the answer: so we only stop sending, and read and drop what the client still sends.
void Connection::after_last_byte() {
  if (!body_cut_) return close();
  phase_ = Phase::lingering;
  ::shutdown(fd_.get(), SHUT_WR);
  linger_timer_ = std::make_unique<loop::Timer>(gateway_.loop(), [this] { close(); });
  linger_timer_->start(kLingerMax);
}

void Connection::drain() {
  if (gateway_.hands_over()) return flush_.schedule();
  if (phase_ == Phase::open && idle() && codec_.active_requests() == 0) close();
}

// Nothing that arrives for it is lost: what this bridge has not read is read by the other one.
bool Connection::handed_over() {
  if (gone_ || phase_ != Phase::open || !idle() || !codec_.at_rest()) return false;
  watch_.ask(loop::kNothing);  // our loop would get its events as long as anybody has it open
  unwatched_timer_.stop();
  gateway_.pass_on(fd_);
  close();
  return true;
}

void Connection::close() {
  if (gone_) return;
  gone_ = true;
  gateway_.connection_gone();
}

void Connection::watch() {
  watched_ = true;
  set_asked();
}

// Whether nothing can arrive except the client's giving up, which may be noticed a little later.
bool Connection::may_stay_unwatched() const {
  if (watched_ || requests_.empty() || !out_.empty() || phase_ != Phase::open) return false;
  return std::all_of(requests_.begin(), requests_.end(),
                     [](const auto& entry) { return entry.second->body_complete(); });
}

void Connection::set_asked() {
  if (gone_) return;
  if (may_stay_unwatched()) return;
  watched_ = true;
  unwatched_timer_.stop();
  bool may_read = true;
  for (const auto& [id, request] : requests_) may_read &= !request->body_full();
  // If a client does not take its answers, no further requests are read from it.
  may_read &= !all_read_ && out_.size() < 2 * kOutHeldMax;
  const unsigned other = half_closed_ ? loop::kHungUp : loop::kPeerGone;
  watch_.ask((may_read ? loop::kReadable : other) |
             (out_.empty() ? loop::kNothing : loop::kWritable));
}

}  // namespace gateway
