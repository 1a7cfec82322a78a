#include "worker/zygote.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <fstream>
#include <iterator>

#include "base/log.h"
#include "worker/worker_state.h"

namespace worker {

namespace {

// How much is kept of the last line printed; it contains paths of libraries.
constexpr std::size_t kLastLineMax = 600;

// Of one process; a note names up to some hundred files.
constexpr unsigned kNotesMax = 8192;

config::Reset reset_of(std::uint32_t wire) {
  if (wire == RESET_REWIND) return config::Reset::rewind;
  return wire == RESET_NONE ? config::Reset::none : config::Reset::fork;
}

config::Level level_of(std::uint32_t wire) {
  if (wire == LEVEL_COMPILED) return config::Level::compiled;
  return wire == LEVEL_BOOTED ? config::Level::booted : config::Level::linked;
}

int safety_of(config::Reset reset) {
  if (reset == config::Reset::fork) return 2;
  return reset == config::Reset::rewind ? 1 : 0;
}

// Libraries that start threads when they are loaded, and the variable that prevents it.
struct ThreadedLibrary {
  std::string_view file, variable;
};
constexpr std::array<ThreadedLibrary, 4> kThreadedLibraries = {
    {{"/libopenblas", "OPENBLAS_NUM_THREADS"},
     {"/libblis", "BLIS_NUM_THREADS"},
     {"/libmkl_", "MKL_NUM_THREADS"},
     {"/libgomp.", "OMP_NUM_THREADS"}}};

// Advice for a process that has threads when it should have none; empty if nothing is known.
std::string help_against_threads(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/maps", pid));
  const std::string maps(std::istreambuf_iterator<char>(file), {});
  for (const auto& [library, variable] : kThreadedLibraries) {
    const std::size_t at = maps.find(library);
    if (at == std::string::npos) continue;
    return fmt::format(
        "; {} starts threads when it is loaded: env = {{ {} = \"1\" }} in the settings leaves them "
        "out",
        maps.substr(at + 1, maps.find('\n', at) - at - 1), variable);
  }
  return {};
}

}  // namespace

std::string_view to_string(ZygoteState state) {
  switch (state) {
    case ZygoteState::starting:
      return "starting";
    case ZygoteState::ready:
      return "ready";
    case ZygoteState::gone:
      return "gone";
  }
  return "?";
}

Zygote::Zygote(loop::Loop& loop, Processes& processes, StartTerms terms, Making making,
               StarterOwner& owner, StarterClient& client)
    : loop_(loop),
      processes_(processes),
      terms_(std::move(terms)),
      making_(making),
      owner_(owner),
      client_(client),
      reset_(terms_.reset),
      start_timer_(loop, [this] {
        end(fmt::format("not at its checkpoint after {} ms", terms_.start_timeout.count()));
      }) {}

Zygote::~Zygote() {
  if (pid_ <= 0) return;
  processes_.forget(pid_);
  // It is only waiting for the bridge, or starting up for nobody: nothing is lost.
  processes_.signal_group(pid_, SIGKILL);
}

base::Status Zygote::start(const WarmProgram& program) {
  auto channel = make_channel();
  if (!channel) return channel.error();
  auto errors = base::make_pipe();
  if (!errors) return errors.error();
  const base::UniqueFd null_in(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const base::UniqueFd null_out(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const LaunchSpec spec{.file = program.file,
                        .argv = program.argv,
                        .environment = program.environment,
                        .environment_count = program.environment_count,
                        .cwd = program.cwd,
                        .stdin_fd = null_in.get(),
                        .stdout_fd = null_out.get(),
                        .stderr_fd = errors.value().second.get(),
                        .control_fd = channel.value().second.get(),
                        .terms = program.terms,
                        .cgroup = terms_.cgroup};
  const auto pid = processes_.launch(spec);
  if (!pid) return pid.error();
  pid_ = pid.value();
  launched_at_ = loop_.now();
  processes_.expect(pid_, [this](const Death& death) { on_death(death.wait_status); });
  stderr_ = std::make_unique<LogPipe>(loop_, std::move(errors.value().first), terms_.label,
                                      terms_.stderr_max);
  ChannelOwner& self = *this;
  channel_ = std::make_unique<Channel>(loop_, std::move(channel.value().first), self);
  start_timer_.start(terms_.start_timeout);
  return base::Done{};
}

base::Status Zygote::fork_worker(std::uint64_t worker_id, base::UniqueFd channel_end) {
  const int fd = channel_end.get();
  return channel_->send(message::encode_fork(worker_id), std::span(&fd, 1));
}

base::Status Zygote::verify_worker(std::uint64_t look_id, pid_t worker_pid) {
  return channel_->send(message::encode_verify(look_id, worker_pid), {});
}

base::Status Zygote::become_worker(std::uint64_t worker_id, base::UniqueFd channel_end) {
  const auto told = fork_worker(worker_id, std::move(channel_end));
  // From now on its pid is the worker's; if it dies first, only the reaper waits for it.
  processes_.forget(pid_);
  pid_ = -1;
  state_ = ZygoteState::gone;
  return told;
}

void Zygote::on_message(const message::Received& received) {
  if (pid_ <= 0) return;
  // A program can send whatever it likes, and so can its user's other processes that get at the
  // channel.
  const bool may_answer = state_ == ZygoteState::ready && making_ == Making::forked;
  if (received.type == MESSAGE_CHECKPOINT) return on_checkpoint(received);
  if (received.type == MESSAGE_NOTE) return on_note(received);
  if (received.type == MESSAGE_FORK_FAILED && may_answer) {
    return client_.on_fork_failed(received.id, received.text);
  }
  if (received.type == MESSAGE_VERIFIED && may_answer) {
    return client_.on_verified(received.id, {received.pages, received.text});
  }
  end("a message that no zygote sends now");
}

void Zygote::on_broken(ChannelEnd, const std::string& why) {
  end("its channel: " + why);
}

void Zygote::on_note(const message::Received& received) {
  if (++notes_ < kNotesMax) return owner_.on_note(received.note_kind, received.text);
  if (notes_ == kNotesMax) end("it says more than any does");
}

void Zygote::on_checkpoint(const message::Received& received) {
  if (state_ != ZygoteState::starting) return end("a second checkpoint");
  start_timer_.stop();
  if (making_ == Making::forked && received.threads != 1) {
    return end(fmt::format("{} threads at its checkpoint: it cannot be forked{}{}{}",
                           received.threads, received.text.empty() ? "" : ", because ",
                           base::printable(received.text, 300), help_against_threads(pid_)));
  }
  const config::Reset reset = reset_of(received.reset);
  // It may do the safer thing, never a cheaper one.
  if (safety_of(reset) < safety_of(reset_)) return end("a cheaper reset than was asked for");
  reset_ = reset;
  reset_reason_ = base::printable(received.text, 300);
  level_ = level_of(received.level);
  state_ = ZygoteState::ready;
  start_time_ = std::chrono::duration_cast<base::Duration>(loop_.now() - launched_at_);
  base::log_debug("{} zygote={} starting→ready level={} reset={} in {} ms", terms_.label, pid_,
                  config::to_string(level_), config::to_string(reset_), start_time_.count());
  owner_.on_ready();
}

void Zygote::end(const std::string& why) {
  if (state_ == ZygoteState::gone || !end_reason_.empty()) return;
  end_reason_ = why;
  start_timer_.stop();
  // The reaper reports its death; only on_death() makes it gone.
  processes_.signal_group(pid_, SIGKILL);
}

void Zygote::on_death(int wait_status) {
  const bool at_checkpoint = state_ == ZygoteState::ready;
  state_ = ZygoteState::gone;
  start_timer_.stop();
  // Its last note may say why it ends.
  channel_->drain();
  stderr_->drain();
  // A closed channel is only how the death shows; the wait status says more.
  const bool ended_by_us = !end_reason_.empty() && end_reason_ != "its channel: closed";
  std::string why =
      ended_by_us ? end_reason_
                  : describe_end(wait_status) + (at_checkpoint ? "" : " before its checkpoint");
  if (!stderr_->last_line().empty()) {
    why += ": " + base::printable(stderr_->last_line(), kLastLineMax);
  }
  pid_ = -1;
  owner_.on_gone(why);
}

}  // namespace worker
