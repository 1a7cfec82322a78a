// A fake process: its Nature, or the test, says what it does.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "fakes/execution.h"
#include "fakes/program_packets.h"
#include "loop/fd_watch.h"
#include "loop/timer.h"
#include "worker/processes.h"

namespace fakes {

enum class Kind { program, zygote, worker };

// How a process behaves unless the test intervenes. never: that step never happens.
inline constexpr base::Duration never{-1};
struct Nature {
  base::Duration to_checkpoint{20};  // of a zygote, from its launch
  base::Duration to_fork{1};         // from FORK to the worker's READY
  base::Duration to_answer{5};       // a request, from its begin to its end
  base::Duration to_reset{1};        // after the request, for a worker that stays
  base::Duration to_verify{1};
  base::Duration to_term{0};  // from SIGTERM to its end
  // If unset: what its launch asks for.
  std::optional<checkpoint_level> level{};
  std::optional<checkpoint_reset> reset{};
  unsigned threads = 1;
  bool stays = true;  // after a request
  // Whether one that stays keeps the pipes of a request whose input is at its end; whether it says
  // so all the same if it has closed them.
  bool keeps = false, lies = false;
  std::int32_t exit_code = 0;
  std::string answer = "Content-Type: text/plain\r\n\r\nhello\n";
  std::string difference{};  // what a comparison finds
  // What it executes, as a worker, instead of answering; whether it then keeps what it should pass;
  // and how long it takes to hear that the other one has ended.
  std::string executes{};
  bool passes_nothing = false;
  base::Duration to_hear{0};
  // If not 0: it ends with this waitpid(2) status instead of reaching the checkpoint, becoming
  // ready, or answering.
  int dies_before_checkpoint = 0, dies_before_ready = 0, dies_in_request = 0;
};
inline constexpr int kExited1 = 0x100, kSegv = SIGSEGV;

class Process;

// What a process needs from its machine.
class ProcessHost {
 public:
  virtual ~ProcessHost() = default;
  virtual loop::Loop& loop() = 0;
  virtual Process& add(Kind kind, const std::string& file) = 0;
  virtual void died(Process& process) = 0;
  virtual void fault(pid_t pid, const std::string& what) = 0;
};

class Process {
 public:
  Process(ProcessHost& host, Nature nature, Kind kind, pid_t pid, std::string file)
      : nature(std::move(nature)),
        host_(host),
        kind_(kind),
        pid_(pid),
        file_(std::move(file)),
        next_(host.loop(), [this] { do_next(); }) {}

  Nature nature;
  std::function<void(const worker::Death&)> on_death;  // called once
  // Forks that never become ready are separate processes, which hang.
  bool leaves_hung_forks = false;

  Kind kind() const { return kind_; }
  pid_t pid() const { return pid_; }
  const std::string& file() const { return file_; }
  // What the launch named after the interpreter; a worker has its zygote's.
  const std::string& argument() const { return argument_; }
  bool lives() const { return lives_; }
  bool is_reaped() const { return reaped_; }
  int wait_status() const { return wait_status_; }
  bool in_request() const { return request_id_ != 0; }
  bool is_known() const { return is_known_; }  // the bridge knows about it
  std::uint64_t requests() const { return requests_; }
  // Of these: by the pipes that it had kept.
  std::uint64_t requests_by_kept() const { return requests_by_kept_; }
  void reap() { reaped_ = true; }

  // What it does by itself, or when the test says so.
  void die(int wait_status) {
    if (!lives_) return;
    lives_ = false;
    wait_status_ = wait_status;
    next_.stop();
    watch_.reset();
    channel_.reset();
    peer_watch_.reset();
    peer_.reset();
    close_streams();
    if (!leaves_hung_forks) stalled_.clear();
    host_.died(*this);
  }
  void say(const std::string& bytes) {
    if (channel_) (void)::send(channel_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void note(note_kind kind, std::string_view text) { say(note_packet(kind, text)); }
  void retire(retirement why, std::string_view text) {
    say(retired_packet(why, text));
    die(0);
  }
  void close_channel() {
    watch_.reset();
    channel_.reset();
  }
  // Text that does not fit into the pipe is written before the request ends.
  void print(std::string_view text) {
    unwritten_ += text;
    write_on();
  }
  void complain(std::string_view text) {
    (void)!::write(streams_[2].get(), text.data(), text.size());
  }
  void close_streams() {
    unwritten_.clear();
    for (auto& fd : streams_) fd.reset();
  }
  // Ends the current request as its nature says.
  void answer() {
    if (!in_request()) return;
    if (nature.dies_in_request != 0) return die(nature.dies_in_request);
    if (kind_ == Kind::worker && !nature.executes.empty())
      return say(execute_packet(request_id_, nature.executes));
    print(nature.answer);
    end_request();
  }
  void end_request() {
    if (!write_on()) return after(base::Duration(1), [this] { end_request(); });
    keeps_ = nature.keeps && nature.stays && kind_ == Kind::worker && input_is_at_its_end();
    if (!keeps_) close_streams();
    // A program, or a worker that can no longer report its end, exits.
    if (kind_ == Kind::program || !channel_) return die((nature.exit_code & 0xff) << 8);
    const std::uint64_t id = std::exchange(request_id_, 0);
    say(done_packet(id, nature.stays, nature.exit_code, keeps_ || (nature.stays && nature.lies)));
    if (!nature.stays) return die(0);
    resting_at_ = host_.loop().now() + std::max(nature.to_reset, base::Duration(0));
    if (says_ready_) after(nature.to_reset, [this] { rest(); });
  }
  void say_ready() {
    is_known_ = true;
    say(ready_packet(pid_));
  }

  // Called by its machine.
  void launched(const worker::LaunchSpec& spec) {
    is_known_ = true;
    if (!spec.argv.empty()) argument_ = spec.argv.back();
    const std::array<int, 3> given{spec.stdin_fd, spec.stdout_fd, spec.stderr_fd};
    for (std::size_t i = 0; i < 3; ++i) streams_[i] = copy_of(given[i]);
    if (kind_ == Kind::program) {
      request_id_ = 1;
      return after(nature.to_answer, [this] { answer(); });
    }
    read_wishes(spec.environment);
    listen(copy_of(spec.control_fd));
    after(nature.to_checkpoint, [this] { reach_checkpoint(); });
  }
  void forked(base::UniqueFd channel) {
    listen(std::move(channel));
    after(nature.to_fork, [this] {
      if (nature.dies_before_ready != 0) return die(nature.dies_before_ready);
      say_ready();
    });
  }
  void signalled(int signal_number) {
    if (!lives_) return;
    if (signal_number == SIGKILL) return die(SIGKILL);
    if (nature.to_term == never) return;
    after(nature.to_term, [this, signal_number] { die(signal_number); });
  }
  // A zygote reaches its checkpoint.
  void reach_checkpoint() {
    if (nature.dies_before_checkpoint != 0) return die(nature.dies_before_checkpoint);
    say(packet(MESSAGE_CHECKPOINT,
               message_checkpoint{nature.level.value_or(asked_level_), nature.threads,
                                  nature.reset.value_or(asked_reset_), 0}));
  }

 private:
  // "CGIBRIDGE_CHECKPOINT=fd=3 level=linked reset=fork ...": adapters/README.md.
  void read_wishes(base::ByteView environment) {
    const auto wishes = environment.find(MESSAGE_CHECKPOINT_VARIABLE "=");
    const auto has = [&](std::string_view word) {
      return environment.find(word, wishes) != environment.npos;
    };
    if (has(" level=linked")) asked_level_ = LEVEL_LINKED;
    if (has(" level=booted")) asked_level_ = LEVEL_BOOTED;
    if (has(" reset=fork")) asked_reset_ = RESET_FORK;
    if (has(" reset=none")) asked_reset_ = RESET_NONE;
  }

  static base::UniqueFd copy_of(int fd) {
    return base::UniqueFd(fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  }

  bool input_is_at_its_end() const {
    pollfd input{streams_[0].get(), POLLIN, 0};
    return ::poll(&input, 1, 0) == 1 && input.revents == POLLHUP;
  }

  // Whether everything is written, or nobody reads it.
  bool write_on() {
    if (!streams_[1]) return true;
    const int fd = streams_[1].get();
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
    const ssize_t wrote = ::write(fd, unwritten_.data(), unwritten_.size());
    if (wrote < 0 && errno == EAGAIN) return false;
    unwritten_.erase(0, wrote < 0 ? unwritten_.size() : static_cast<std::size_t>(wrote));
    return unwritten_.empty();
  }

  // Replaces everything that it was about to do.
  void after(base::Duration delay, std::function<void()> what) {
    plans_.clear();
    next_.stop();
    then(delay, std::move(what));
  }
  // Comes after everything that it is about to do.
  void then(base::Duration delay, std::function<void()> what) {
    if (delay == never) return;
    plans_.emplace_back(delay, std::move(what));
    if (plans_.size() == 1) next_.start(delay);
  }
  void do_next() {
    if (!lives_ || plans_.empty()) return;
    const auto what = std::move(plans_.front().second);
    plans_.pop_front();
    what();
    if (lives_ && !plans_.empty()) next_.start(plans_.front().first);
  }

  void listen(base::UniqueFd channel) {
    channel_ = std::move(channel);
    watch_ = std::make_unique<loop::FdWatch>(host_.loop(), channel_.get(),
                                             [this](unsigned) { receive(); });
    watch_->ask(loop::kReadable);
  }

  void receive() {
    std::array<char, MESSAGE_BYTES_MAX> bytes;
    std::vector<base::UniqueFd> fds;
    const ssize_t size = receive_with(channel_.get(), bytes, fds);
    if (size < 0) return;
    // The bridge has hung up.
    if (size == 0) return die(0);
    message_header header;
    std::memcpy(&header, bytes.data(), sizeof header);
    const char* body = bytes.data() + sizeof header;
    switch (header.type) {
      case MESSAGE_FORK:
        return fork_worker(std::move(fds));
      case MESSAGE_VERIFY:
        return verify(body);
      case MESSAGE_REQUEST:
        return take_request(body, std::move(fds));
      case MESSAGE_REST:
        return rest();
      case MESSAGE_EXECUTED_BY:
        return fds.empty() ? execute() : pass_to(std::move(fds[0]));
      case MESSAGE_EXECUTED:
        return is_passing_ ? void() : after(nature.to_hear, [this] { end_request(); });
      default:
        host_.fault(pid_, "a message that it does not know");
    }
  }

  // Only a zygote forks. One that was started ahead of time becomes the worker itself.
  void fork_worker(std::vector<base::UniqueFd> fds) {
    if (kind_ != Kind::zygote || fds.size() != 1) return host_.fault(pid_, "a fork of no zygote");
    if (nature.threads > 1) {
      kind_ = Kind::worker;
      return forked(std::move(fds[0]));
    }
    if (nature.to_fork == never) return stalled_.push_back(std::move(fds[0]));
    Process& worker = host_.add(Kind::worker, file_);
    worker.argument_ = argument_;
    worker.forked(std::move(fds[0]));
  }

  void verify(const char* body) {
    message_verify verify;
    std::memcpy(&verify, body, sizeof verify);
    then(nature.to_verify, [this, verify] {
      message_verify answer = verify;
      answer.pages = 1;
      say(packet(MESSAGE_VERIFIED, answer, nature.difference));
    });
  }

  void take_request(const char* body, std::vector<base::UniqueFd> fds) {
    message_request request;
    std::memcpy(&request, body, sizeof request);
    const bool are_kept = (request.flags & REQUEST_KEPT) != 0;
    const bool by_peer = (request.flags & REQUEST_BY_PEER) != 0;
    if (kind_ != Kind::worker || (!are_kept && fds.size() < (by_peer ? 1u : 3u)))
      return host_.fault(pid_, "a request to no worker");
    if (are_kept && (!keeps_ || fds.size() > 1))
      return host_.fault(pid_, "a request for pipes that it has not kept");
    if (in_request() || says_ready_) return host_.fault(pid_, "a request in front of its reset");
    request_id_ = request.request_id;
    says_ready_ = (request.flags & REQUEST_SAY_READY) != 0;
    requests_ += 1;
    requests_by_kept_ += are_kept ? 1 : 0;
    if (by_peer) return take_from(std::move(fds[0]));
    for (std::size_t i = 0; i < 3 && !are_kept; ++i) streams_[i] = std::move(fds[i]);
    // The request waits in the channel until the reset is over.
    const auto left = std::chrono::ceil<base::Duration>(resting_at_ - host_.loop().now());
    const auto reset = std::max(left, base::Duration(0));
    after(nature.to_answer == never ? never : reset + nature.to_answer, [this] { answer(); });
  }

  // Becomes what it executes.
  void execute() {
    close_channel();
    kind_ = Kind::program;
    after(nature.to_answer, [this] { answer(); });
  }
  void pass_to(base::UniqueFd peer) {
    if (!nature.passes_nothing) pass_streams(peer.get(), streams_);
    is_passing_ = true;
    meet(std::move(peer), [this] {
      char byte;
      is_passing_ = false;
      if (::recv(peer_.get(), &byte, 1, 0) != 1) return execute();
      close_streams();
    });
  }
  void take_from(base::UniqueFd peer) {
    meet(std::move(peer), [this] {
      if (!take_streams(peer_.get(), streams_)) return die(0);
      after(nature.to_answer, [this] { answer(); });
    });
  }
  // what: done once, when something comes from there.
  void meet(base::UniqueFd peer, std::function<void()> what) {
    peer_ = std::move(peer);
    peer_watch_ =
        std::make_unique<loop::FdWatch>(host_.loop(), peer_.get(), [this, what](unsigned) {
          peer_watch_->ask(0);
          what();
        });
    peer_watch_->ask(loop::kReadable);
  }

  void rest() {
    says_ready_ = false;
    if (!in_request()) say_ready();
  }

  ProcessHost& host_;
  Kind kind_;
  const pid_t pid_;
  const std::string file_;
  std::string argument_;
  bool lives_ = true, reaped_ = false;
  int wait_status_ = 0;
  checkpoint_level asked_level_ = LEVEL_COMPILED;
  checkpoint_reset asked_reset_ = RESET_REWIND;
  std::array<base::UniqueFd, 3> streams_;
  std::string unwritten_;
  base::UniqueFd channel_;
  std::unique_ptr<loop::FdWatch> watch_, peer_watch_;
  bool is_passing_ = false;
  base::UniqueFd peer_;                  // of a request that passes from one worker to another
  std::vector<base::UniqueFd> stalled_;  // forks that it never makes
  std::uint64_t request_id_ = 0, requests_ = 0;
  bool says_ready_ = false, is_known_ = false;
  bool keeps_ = false;  // the pipes of its last request
  std::uint64_t requests_by_kept_ = 0;
  base::TimePoint resting_at_{};
  std::deque<std::pair<base::Duration, std::function<void()>>> plans_;
  loop::Timer next_;
};

}  // namespace fakes
