#include "worker/worker.h"

#include <signal.h>

#include "base/assert.h"
#include "base/log.h"
#include "worker/wait_status.h"

namespace worker {

std::string_view to_string(WorkerState state) {
  switch (state) {
    case WorkerState::starting:
      return "starting";
    case WorkerState::idle:
      return "idle";
    case WorkerState::busy:
      return "busy";
    case WorkerState::ending:
      return "ending";
    case WorkerState::gone:
      return "gone";
  }
  return "?";
}

Worker::Worker(loop::Loop& loop, ChildReaper& reaper, std::uint64_t id, std::string label,
               base::Duration kill_grace, Events events)
    : loop_(loop),
      reaper_(reaper),
      id_(id),
      label_(std::move(label)),
      kill_grace_(kill_grace),
      events_(std::move(events)) {}

Worker::~Worker() {
  if (pid_ <= 0 || state_ == WorkerState::gone) return;
  reaper_.forget(pid_);
  // Only the daemon's own end comes here with a process alive: it gets no grace.
  ::kill(-pid_, SIGKILL);
  reaper_.release(pid_);
}

void Worker::await_fork(base::UniqueFd channel_fd) {
  BRIDGE_ASSERT(state_ == WorkerState::starting);
  channel_ = std::make_unique<Channel>(
      loop_, std::move(channel_fd),
      Channel::Events{[this](const message::Received& received) { on_message(received); },
                      [this](const std::string& why) { on_broken(why); }});
}

void Worker::adopt(pid_t pid, OnEnded on_ended) {
  BRIDGE_ASSERT(state_ == WorkerState::starting);
  pid_ = pid;
  on_ended_ = std::move(on_ended);
  reaper_.expect(pid_, [this](int wait_status) { on_death(wait_status); });
  enter(WorkerState::busy);
}

base::Status Worker::assign(const message::EncodedRequest& request, std::span<const int> fds,
                            OnEnded on_ended) {
  BRIDGE_ASSERT(state_ == WorkerState::idle);
  auto sent = channel_->send_request(request, fds);
  if (!sent) {
    terminate();
    return sent;
  }
  on_ended_ = std::move(on_ended);
  enter(WorkerState::busy);
  return sent;
}

void Worker::terminate() {
  if (state_ == WorkerState::gone || grace_timer_ != nullptr) return;
  if (pid_ <= 0) {
    channel_.reset();
    return;
  }
  reaper_.hold(pid_);
  ::kill(-pid_, SIGTERM);
  grace_timer_ = std::make_unique<loop::Timer>(loop_, [this] { kill_rest(); });
  grace_timer_->start(kill_grace_);
}

// The leader is still there, if only as a zombie, so the group's number is still its own.
void Worker::kill_rest() {
  ::kill(-pid_, SIGKILL);
  const pid_t pid = pid_;
  if (dead_) {
    enter(WorkerState::gone);
    events_.on_gone(*this);
  }
  reaper_.release(pid);
}

void Worker::retire() {
  BRIDGE_ASSERT(state_ == WorkerState::idle);
  enter(WorkerState::ending);
  channel_.reset();
}

void Worker::on_message(const message::Received& received) {
  switch (received.type) {
    case MESSAGE_READY:
      if (state_ != WorkerState::starting) return on_broken("a second ready");
      return become_ready(received.pid);
    case MESSAGE_DONE:
      if (state_ != WorkerState::busy) return on_broken("done without a request");
      enter(WorkerState::ending);
      return end_request({static_cast<std::uint32_t>(received.exit_code), {}});
    case MESSAGE_NOTE:
      return events_.on_note(received);
    default:
      return on_broken("a message that no worker sends");
  }
}

void Worker::become_ready(pid_t pid) {
  // What it says of itself is believed only if it is ours to wait for.
  if (!ChildReaper::is_living_child(pid)) return on_broken("it died as soon as it was forked");
  pid_ = pid;
  reaper_.expect(pid_, [this](int wait_status) { on_death(wait_status); });
  idle_since_ = base::Clock::now();
  enter(WorkerState::idle);
  events_.on_ready(*this);
}

void Worker::on_broken(const std::string& why) {
  if (state_ == WorkerState::starting) {
    enter(WorkerState::gone);
    spdlog::warn("{} worker={} lost before it was ready: {}", label_, id_, why);
    events_.on_gone(*this);
    return;
  }
  // A closed channel is the program's right (it may close every descriptor, or exec): its death
  // tells the end of the request. Only a malformed message is held against it.
  if (state_ == WorkerState::busy && why != "closed") {
    spdlog::warn("{} worker={} pid={}: {}; the worker is ended", label_, id_, pid_, why);
    terminate();
  }
}

void Worker::end_request(const Ending& ending) {
  if (on_ended_ == nullptr) return;
  const OnEnded on_ended = std::move(on_ended_);
  on_ended_ = nullptr;
  on_ended(ending);
}

void Worker::on_death(int wait_status) {
  const bool by_signal = WIFSIGNALED(wait_status);
  if (grace_timer_ != nullptr) {
    dead_ = true;  // kill_rest() ends its group, and then it is gone
  } else {
    enter(WorkerState::gone);
  }
  end_request({app_status_of(wait_status), by_signal ? describe_end(wait_status) : std::string()});
  if (state_ == WorkerState::gone) events_.on_gone(*this);
}

void Worker::enter(WorkerState next) {
  SPDLOG_DEBUG("{} worker={} pid={} {}→{}", label_, id_, pid_, to_string(state_), to_string(next));
  state_ = next;
}

}  // namespace worker
