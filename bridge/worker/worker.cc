#include "worker/worker.h"

#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "worker/worker_state.h"

namespace worker {
namespace {
// Of one request; an adapter names at most 1000 modules.
constexpr unsigned kNotesMax = 2048;
}  // namespace

std::string_view to_string(WorkerState state) {
  switch (state) {
    case WorkerState::starting:
      return "starting";
    case WorkerState::idle:
      return "idle";
    case WorkerState::busy:
      return "busy";
    case WorkerState::resetting:
      return "resetting";
    case WorkerState::checking:
      return "checking";
    case WorkerState::ending:
      return "ending";
    case WorkerState::gone:
      return "gone";
  }
  return "?";
}

Worker::Worker(loop::Loop& loop, Processes& processes, std::uint64_t id, const std::string& label,
               base::Duration kill_grace, WorkerOwner& owner)
    : loop_(loop),
      processes_(processes),
      id_(id),
      label_(label),
      owner_(owner),
      child_(loop, processes, kill_grace, *this) {}

// ---- what the pool does with it ----

void Worker::await_fork(base::UniqueFd channel_fd) {
  BRIDGE_ASSERT(state_ == WorkerState::starting);
  ChannelOwner& self = *this;
  channel_ = std::make_unique<Channel>(
      loop_, std::move(channel_fd), self,
      processes_.senders() == Senders::named ? Introduction::by_kernel : Introduction::none);
}

void Worker::adopt(pid_t pid) {
  BRIDGE_ASSERT(state_ == WorkerState::starting);
  own_pid(pid);
  end_is_awaited_ = true;
  enter(WorkerState::busy);
}

base::Status Worker::assign(std::uint64_t request_id, message::SayReady say_ready,
                            const message::EncodedRequest& request, std::span<const int> fds) {
  BRIDGE_ASSERT(state_ == WorkerState::idle);
  auto sent = channel_->send_request(request, fds);
  if (!sent) {
    terminate();
    return sent;
  }
  request_id_ = request_id;
  say_ready_ = say_ready;
  notes_ = executes_ = 0;
  end_is_awaited_ = true;
  enter(WorkerState::busy);
  return sent;
}

base::Status Worker::ask_whether_at_rest() {
  BRIDGE_ASSERT(state_ == WorkerState::idle);
  if (asked_) return base::Error{"it has not said whether it was at rest"};
  asked_ = true;
  return channel_->send(message::encode_rest(), {});
}

// A worker that cannot be told is about to end, which its channel says.
void Worker::answer_execute(base::UniqueFd peer) {
  if (state_ != WorkerState::busy) return;
  const int fd = peer.get();
  (void)channel_->send(message::encode_executed_by(), {&fd, peer ? 1u : 0u});
}

void Worker::tell_executed() {
  if (state_ == WorkerState::busy) (void)channel_->send(message::encode_executed(), {});
}

void Worker::pass_check() {
  BRIDGE_ASSERT(state_ == WorkerState::checking);
  enter(WorkerState::idle);
}

void Worker::terminate() {
  if (state_ == WorkerState::gone || is_dead() || terminating()) return;
  explained_ = true;
  if (has_no_request()) enter(WorkerState::ending);
  if (!child_.is_owned()) {
    lost_for("it was not ready in time");
    enter(WorkerState::gone);
    return owner_.on_gone(*this);
  }
  child_.terminate();
}

void Worker::retire() {
  BRIDGE_ASSERT(has_no_request());
  explained_ = true;
  enter(WorkerState::ending);
  channel_->hang_up();
}

bool Worker::has_no_request() const {
  return state_ == WorkerState::idle || state_ == WorkerState::resetting ||
         state_ == WorkerState::checking;
}

// ---- what it says ----

void Worker::on_message(const message::Received& received) {
  if (state_ == WorkerState::gone) return;
  // Messages still on their way from a worker that serves nobody any more change nothing.
  if (state_ == WorkerState::ending && received.type != MESSAGE_NOTE) return;
  switch (received.type) {
    case MESSAGE_READY:
      return on_ready_message(received.pid);
    case MESSAGE_DONE:
      return on_done(received);
    case MESSAGE_RETIRED:
      return on_retired_message(received);
    case MESSAGE_NOTE:
      if (++notes_ == kNotesMax) return on_broken(ChannelEnd::fault, "it says more than any does");
      return notes_ < kNotesMax ? owner_.on_note(*this, received) : void();
    case MESSAGE_EXECUTE:
      return on_execute_message(received);
    default:
      return on_broken(ChannelEnd::fault, "a message that no worker sends");
  }
}

void Worker::on_execute_message(const message::Received& received) {
  const auto execution = message::execution_of(received);
  if (!execution || state_ != WorkerState::busy || received.id != request_id_ ||
      ++executes_ > MESSAGE_EXECUTES_MAX) {
    return on_broken(ChannelEnd::fault, "an execute that no worker sends");
  }
  if (!terminating()) owner_.on_execute(*this, *execution);
}

void Worker::on_ready_message(pid_t pid) {
  if (asked_ && pid == child_.pid()) {
    asked_ = false;
    return owner_.on_at_rest(*this);
  }
  if (state_ == WorkerState::resetting && pid == child_.pid()) {
    enter(WorkerState::checking);
    return owner_.on_reset_over(*this);
  }
  if (state_ != WorkerState::starting) {
    return on_broken(ChannelEnd::fault, "a ready that was not asked for");
  }
  // What it says about itself is believed only if the process is our child.
  if (!processes_.is_living_child(pid)) {
    return on_broken(ChannelEnd::closed, "it died as soon as it was forked");
  }
  // A program that poses as a zygote may answer for itself, and twice.
  if (processes_.expects(pid))
    return on_broken(ChannelEnd::fault, "it is another worker or a zygote");
  own_pid(pid);
  become_ready();
}

void Worker::become_ready() {
  idle_since_ = loop_.now();
  enter(WorkerState::idle);
  owner_.on_ready(*this);
}

void Worker::begin_request() {
  BRIDGE_ASSERT(state_ == WorkerState::idle);
  end_is_awaited_ = true;
  enter(WorkerState::busy);
}

void Worker::end_request_and_stay(WorkerState next, const Ending& ending) {
  BRIDGE_ASSERT(state_ == WorkerState::busy);
  served_ += 1;
  idle_since_ = loop_.now();
  enter(next);
  message::Received done{.type = MESSAGE_DONE};
  done.stays = true;
  owner_.on_done(*this, done);
  end_request(ending);
}

void Worker::on_done(const message::Received& done) {
  if (state_ != WorkerState::busy || done.id != request_id_) {
    return on_broken(ChannelEnd::fault, "done without its request");
  }
  served_ += 1;
  if (done.stays && !terminating()) {
    idle_since_ = loop_.now();
    enter(say_ready_ == message::SayReady::yes ? WorkerState::resetting : WorkerState::idle);
  } else {
    explained_ = true;
    enter(WorkerState::ending);
  }
  owner_.on_done(*this, done);
  end_request({static_cast<std::uint32_t>(done.exit_code),
               {},
               std::chrono::microseconds(done.cpu_microseconds),
               done.peak_kib,
               false,
               done.keeps_streams && !terminating()});
}

void Worker::on_retired_message(const message::Received& received) {
  const bool busy = state_ == WorkerState::busy;
  if (served_ == 0 || (!busy && !has_no_request())) {
    return on_broken(ChannelEnd::fault, "retired without having stayed");
  }
  explained_ = true;
  enter(WorkerState::ending);
  owner_.on_retired(*this, received.retirement, received.text);
  if (busy) give_request_back();
}

void Worker::give_request_back() {
  // If it was terminated anyway, its request is told about the worker's death instead.
  if (terminating() || !std::exchange(end_is_awaited_, false)) return;
  owner_.on_unbegun(*this);
}

void Worker::on_broken(ChannelEnd end, const std::string& why) {
  if (state_ == WorkerState::starting) {
    enter(WorkerState::gone);
    lost_for(why);
    base::log_info("{} worker={} lost before it was ready: {}", label_, id_, why);
    return owner_.on_gone(*this);
  }
  if (end == ChannelEnd::fault && state_ != WorkerState::gone) {
    base::log_warn("{} worker={} pid={}: {}; the worker is ended", label_, id_, pid(), why);
    const bool alone = has_no_request();
    terminate();
    if (alone) owner_.on_retired(*this, RETIRED_FAULT, why);
    return;
  }
  // A running program may close its channel (it may close every descriptor, or exec): only its
  // death tells the end of the request.
  if (has_no_request()) enter(WorkerState::ending);
  // What it did not read may be an answer about a file that it executed.
  const bool has_begun = end == ChannelEnd::closed || executes_ > 0;
  if (has_begun && state_ == WorkerState::busy) owner_.on_silent(*this);
  if (end == ChannelEnd::unread && !has_begun && state_ == WorkerState::busy && !terminating()) {
    enter(WorkerState::ending);
    give_request_back();
  }
}

// ---- its end ----

void Worker::end_request(const Ending& ending) {
  if (std::exchange(end_is_awaited_, false)) owner_.on_ended(*this, ending);
}

void Worker::on_death(const Death& death) {
  // Its last messages count for more than how it died.
  if (channel_ != nullptr) channel_->drain();
  explain_death(death.wait_status);
  // Otherwise its group is still to be killed; after that it is gone.
  if (child_.is_over()) enter(WorkerState::gone);
  end_request(ending_of(death));
  if (state_ == WorkerState::gone) owner_.on_gone(*this);
}

void Worker::on_over() {
  enter(WorkerState::gone);
  owner_.on_gone(*this);
}

void Worker::on_overdue() {
  base::log_warn("{} worker={} pid={}: has not exited within {} s: it is killed", label_, id_,
                 pid(), Child::kExitPatience.count());
}

Ending Worker::ending_of(const Death& death) const {
  // For a process that has served other requests, nobody knows what this request used.
  const auto cpu = served_ == 0 ? death.cpu : std::chrono::microseconds(0);
  return {app_status_of(death.wait_status),
          WIFSIGNALED(death.wait_status) ? describe_end(death.wait_status) : std::string(), cpu,
          death.peak_kib};
}

void Worker::explain_death(int wait_status) {
  if (explained_) return;
  explained_ = true;
  const bool in_a_request = state_ == WorkerState::busy;
  owner_.on_retired(*this, in_a_request ? kRetiredLeft : std::uint32_t{RETIRED_FAULT},
                    describe_end(wait_status));
}

void Worker::enter(WorkerState next) {
  BRIDGE_ASSERT(may_follow(state_, next));
  base::log_debug("{} worker={} pid={} {}→{}", label_, id_, pid(), to_string(state_),
                  to_string(next));
  state_ = next;
  state_since_ = loop_.now();
  child_.expect_no_exit();
  if (state_ == WorkerState::ending && child_.is_owned() && !terminating()) child_.expect_exit();
}

}  // namespace worker
