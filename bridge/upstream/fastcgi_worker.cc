#include "upstream/fastcgi_worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

#include "base/log.h"
#include "worker/launch.h"

namespace upstream {
namespace {

using worker::WorkerState;

// libfcgi's buffer. It never reads the end of a body that its program did not ask for, and drops
// only the part in its buffer: what is left in the socket would begin the next request.
constexpr std::size_t kReadAtOnce = 8 * base::kKiB;
// Used after its first request: a request sent while a program closes would be lost.
constexpr std::chrono::milliseconds kSettle{20};

}  // namespace

FastcgiWorker::FastcgiWorker(loop::Loop& loop, worker::Processes& processes, std::uint64_t id,
                             const std::string& label, base::Duration kill_grace,
                             worker::WorkerOwner& owner)
    : Worker(loop, processes, id, label, kill_grace, owner),
      loop_(loop),
      start_timer_(loop,
                   [this] {
                     fault(fmt::format("it has not accepted a connection in time (within {} ms)",
                                       start_timeout_.count()));
                   }),
      settle_timer_(loop,
                    [this] {
                      if (state() != WorkerState::resetting) return;
                      knows_keeps_ = true;
                      become_ready();
                    }),
      patience_(loop, [this] { fault("it goes on after FCGI_ABORT_REQUEST"); }) {}

// ---- its start ----

base::Status FastcgiWorker::start(const StartSpec& spec) {
  auto socket = ListeningSocket::make();
  if (!socket) return socket.error();
  socket_ = socket.take();
  if (!open_connection()) return base::Error{"cannot connect to its socket"};
  auto errors = base::make_pipe();
  if (!errors) return errors.error();
  const base::UniqueFd null_out(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const auto pid = processes().launch({.file = spec.file,
                                       .argv = spec.argv,
                                       .environment = spec.environment,
                                       .environment_count = spec.environment_count,
                                       .cwd = spec.cwd,
                                       .stdin_fd = socket_->listening_end(),
                                       .stdout_fd = null_out.get(),
                                       .stderr_fd = errors.value().second.get(),
                                       .terms = spec.terms,
                                       .cgroup = spec.cgroup});
  if (!pid) return pid.error();
  socket_->hand_over();
  own_pid(pid.value());
  errors_ = std::make_unique<worker::LogPipe>(loop_, std::move(errors.value().first), label(),
                                              spec.stderr_max);
  fastcgi::ClientConnection::append_question(out_);
  send();
  start_timeout_ = spec.timeout;
  start_timer_.start(spec.timeout);
  return base::Done{};
}

// It accepts connections. The one with the question may be closing: requests get a new one.
void FastcgiWorker::begin_serving() {
  // If nobody listens, it is about to die.
  if (!open_connection()) return;
  start_timer_.stop();
  was_ready_ = true;
  cpu_since_last();
  marks_ = marks_of(pid());
  become_ready();
}

// ---- a request ----

base::Status FastcgiWorker::assign(base::ByteView environment, base::UniqueFd& body,
                                   AnswerSink& sink) {
  for (int attempt = 0;; ++attempt) {
    codec_.begin(out_, environment);
    if (!body) codec_.end_body(out_);
    const std::size_t whole = out_.size();
    read_at_once_ = !body && whole < kReadAtOnce;
    // It may have closed the connection after its last answer, before any of this request arrived.
    if (write_out() != Sent::nothing_more || out_.size() < whole) break;
    if (attempt == 0 && open_connection()) continue;
    Worker::terminate();
    return base::Error{"it does not take requests any more"};
  }
  unread_ = read_at_once_ && is_used_ ? environment : base::ByteView();
  sink_ = &sink;
  aborting_ = false;
  begin_request();
  take_body(body);
  send();
  return base::Done{};
}

// ---- the answer ----

void FastcgiWorker::take(base::ByteView bytes) {
  // Whatever an event leads to, bytes of an old connection are never read as if they came from a
  // new one.
  const std::uint64_t connection = connections_;
  codec_.feed(bytes);
  fastcgi::ClientEvent event;
  while (connection == connections_ && codec_.next(event) == fastcgi::EventStep::event) {
    handle(event);
  }
}

void FastcgiWorker::handle(const fastcgi::ClientEvent& event) {
  unread_.clear();
  switch (event.type) {
    case fastcgi::ClientEventType::output:
      return sink_ == nullptr ? void() : sink_->on_output(event.bytes);
    case fastcgi::ClientEventType::errors:
      return sink_ == nullptr ? void() : sink_->on_errors(event.bytes);
    case fastcgi::ClientEventType::end:
      return on_request_over(event);
    case fastcgi::ClientEventType::management:
      return state() == WorkerState::starting ? begin_serving() : void();
    case fastcgi::ClientEventType::bad_record:
      return fault("it broke the protocol: " + event.why);
  }
}

void FastcgiWorker::on_request_over(const fastcgi::ClientEvent& event) {
  using fastcgi::ProtocolStatus;
  const bool complete = event.protocol_status == ProtocolStatus::request_complete;
  if (!complete && event.protocol_status != ProtocolStatus::unknown_role) return refuse_request();
  // What is left of a body, or of an abort, must not be taken for part of the next request.
  const bool clean = read_at_once_ && codec_.body_ended() && out_.empty() && !deaf_ && !aborting_;
  drop_body();
  out_.clear();
  patience_.stop();
  is_long_ = false;
  sink_ = nullptr;
  const bool same = is_dead() || marks_of(pid()) == marks_;
  is_used_ = true;
  const bool reachable = !is_dead() && same && ((clean && keeps_) || open_connection());
  const bool is_idle = reachable && (knows_keeps_ || !clean);
  end_request_and_stay(is_idle ? WorkerState::idle : WorkerState::resetting,
                       {.app_status = event.app_status,
                        .description = complete ? "" : "refused by it: FCGI_UNKNOWN_ROLE",
                        .cpu = cpu_since_last()});
  if (!same) {
    const bool limits = marks_of(pid()).priority != marks_.priority;
    owner().on_retired(*this, limits ? RETIRED_LIMITS : RETIRED_SESSION, {});
  }
  if (!reachable && !is_dead()) return Worker::terminate();
  if (!is_idle) settle_timer_.start(kSettle);
}

// §5.5: it was not begun (FCGI_OVERLOADED, FCGI_CANT_MPX_CONN).
void FastcgiWorker::refuse_request() {
  sink_ = nullptr;
  drop_body();
  close_connection();
  patience_.stop();
  base::log_warn("{} worker={} pid={}: it refuses a request; another worker takes it", label(),
                 id(), pid());
  enter(WorkerState::ending);
  give_request_back();
  Worker::terminate();
}

// ---- its connection ----

bool FastcgiWorker::open_connection() {
  close_connection();
  auto connected = socket_->connect();
  if (!connected) {
    base::log_debug("{} worker={} pid={}: {}", label(), id(), pid(), connected.error().message);
    return false;
  }
  fd_ = connected.take();
  is_used_ = false;
  watch_ = std::make_unique<loop::FdWatch>(loop_, fd_.get(),
                                           [this](unsigned readiness) { on_event(readiness); });
  set_asked();
  return true;
}

void FastcgiWorker::close_connection() {
  connections_ += 1;
  watch_.reset();
  reader_.let_go(fd_.get());
  fd_.reset();
  is_long_ = false;
  codec_ = fastcgi::ClientConnection();
  out_.clear();
  deaf_ = false;
}

void FastcgiWorker::on_connection_over(Over how) {
  switch (state()) {
    case WorkerState::starting:
      return begin_serving();
    case WorkerState::busy:
      if (how == Over::reset && send_again()) return;
      return fault(std::string("it has ") + (how == Over::reset ? "reset" : "closed") +
                   " its connection before the request's end");
    case WorkerState::resetting:
      if (!knows_keeps_) keeps_ = false;
      [[fallthrough]];
    case WorkerState::idle:
      // It may be exiting altogether, and its listening socket closes last.
      if (!open_connection()) {
        if (served() == 0) owner().on_retired(*this, RETIRED_FAULT, "it listens no more");
        return Worker::terminate();
      }
      if (state() == WorkerState::idle) enter(WorkerState::resetting);
      return settle_timer_.start(kSettle);
    default:
      return close_connection();
  }
}

// It closed a connection on which it had answered before, with the request in it and none of it
// read: a socket is reset if its peer left something unread.
bool FastcgiWorker::send_again() {
  if (unread_.empty() || aborting_) return false;
  const std::string environment = std::exchange(unread_, {});
  if (!open_connection()) return false;
  codec_.begin(out_, environment);
  codec_.end_body(out_);
  send();
  return true;
}

// ---- its end ----

// The client has left. Telling the program twice does not speed it up.
void FastcgiWorker::terminate() {
  if (state() != WorkerState::busy || !fd_) return Worker::terminate();
  if (std::exchange(aborting_, true)) return;
  drop_body();
  codec_.abort(out_);
  if (!codec_.body_ended()) codec_.end_body(out_);
  send();
  patience_.start(kill_grace());
}

void FastcgiWorker::forget_request() {
  Worker::forget_request();
  sink_ = nullptr;
}

void FastcgiWorker::retire() {
  close_connection();
  Worker::terminate();
}

void FastcgiWorker::fault(const std::string& why) {
  if (!end_reason_.empty()) return;
  end_reason_ = why;
  base::log_warn("{} worker={} pid={}: {}; it is ended", label(), id(), pid(), why);
  start_timer_.stop();
  close_connection();
  drop_body();
  Worker::terminate();
}

void FastcgiWorker::on_death(const worker::Death& death) {
  start_timer_.stop();
  settle_timer_.stop();
  patience_.stop();
  // What it said last counts for more than how it died. At most a socket's content is left.
  read_rest();
  close_connection();
  drop_body();
  errors_->drain();
  const std::string how = worker::describe_end(death.wait_status);
  if (!was_ready_) {
    const std::string& last = errors_->last_line();
    lost_for((end_reason_.empty() ? how : end_reason_ + ", and was ended") +
             (last.empty() ? "" : ": " + base::printable(last, 200)));
    base::log_warn("{} worker={} pid={}: lost before it was ready: {}", label(), id(), pid(),
                   lost_why());
    explain();
  } else if (!end_reason_.empty()) {
    owner().on_retired(*this, worker::kRetiredLeft, how + ": " + end_reason_);
  }
  Worker::on_death(death);
}

// It should have ended the request itself, whatever its exit code.
worker::Ending FastcgiWorker::ending_of(const worker::Death& death) const {
  return {
      .app_status = worker::app_status_of(death.wait_status),
      .description = "gone before the request's end: " + worker::describe_end(death.wait_status) +
                     (end_reason_.empty() ? "" : " (" + end_reason_ + ")"),
      .cpu = {},
      .peak_kib = death.peak_kib,
      .incomplete = true};
}

std::chrono::microseconds FastcgiWorker::cpu_since_last() {
  const auto total = cpu_time_of(pid());
  if (total.count() == 0) return {};
  const auto before = std::exchange(cpu_, total);
  return std::chrono::duration_cast<std::chrono::microseconds>(total - before);
}

}  // namespace upstream
