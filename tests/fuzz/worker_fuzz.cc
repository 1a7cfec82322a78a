// A worker that sends anything at any time, on its own socket, and is assigned, retired, terminated
// or killed meanwhile: the bridge's side of it never asserts, a request ends once or is given back
// once, nothing is reported after "gone", and no process but its own is signalled. The process only
// sleeps. As root the test speaks in its name (SCM_CREDENTIALS), otherwise no worker becomes ready.
// Each byte is an operation (followed by its arguments); see step().
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "base/assert.h"
#include "base/log.h"
#include "fakes/program_packets.h"
#include "loop/timer.h"
#include "worker/child_reaper.h"
#include "worker/worker.h"

namespace {

using fakes::packet;
using worker::Worker;
using worker::WorkerState;

pid_t start_process() {
  pid_t pid = -1;
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  char name[] = "sleep", seconds[] = "600";
  char* const argv[] = {name, seconds, nullptr};
  BRIDGE_ASSERT(::posix_spawn(&pid, "/bin/sleep", nullptr, &attributes, argv, nullptr) == 0);
  ::posix_spawnattr_destroy(&attributes);
  return pid;
}

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}
  bool over() const { return rest_.empty(); }
  unsigned next() { return over() ? 0 : static_cast<unsigned char>(take(1)[0]); }
  std::string_view take(std::size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view rest_;
};

class Play : public worker::WorkerOwner {
 public:
  explicit Play(Bytes bytes)
      : bytes_(bytes), reaper_(loop_), label_("program=fuzz"), pid_(start_process()) {
    worker_ = std::make_unique<Worker>(loop_, reaper_, 1, label_, base::Duration(1), *this);
    auto channel = worker::make_channel().take();
    worker_->await_fork(std::move(channel.first));
    program_ = std::move(channel.second);
  }
  ~Play() {
    worker_.reset();
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  void run() {
    for (int i = 0; !bytes_.over() && i < 60; ++i) {
      step();
      turn();
      demand();
    }
  }

 private:
  void step() {
    switch (bytes_.next() % 19) {
      case 0:
        return say(bytes_.take(bytes_.next()));
      case 1:
        return say(packet(MESSAGE_READY, message_ready{pid_, 0}), pid_);
      case 2:
        return say(packet(MESSAGE_READY, message_ready{pid_, 0}));
      case 3:
        return say(packet(MESSAGE_READY, message_ready{::getppid(), 0}), pid_);
      case 4:
      case 5:
        return say_done();
      case 6: {
        const message_retired body{bytes_.next() % 12, 3};
        return say(packet(MESSAGE_RETIRED, body, "why"));
      }
      case 7:
        return say(packet(MESSAGE_NOTE, message_note{bytes_.next() % 6, 4}, "note"));
      case 8:
      case 9:
        return assign();
      case 10:
        if (worker_->state() != WorkerState::gone) worker_->terminate();
        return;
      case 11:
        if (may_retire()) worker_->retire();
        return;
      case 12:
        program_.reset();
        return;
      case 13:
        ::kill(pid_, bytes_.next() % 2 == 0 ? SIGKILL : SIGTERM);
        return wait_for_death();
      case 14:
        return read_request();
      case 15:
        return say(std::string(bytes_.next() % 2 == 0 ? 0 : 9000, 'x'));
      case 16:
        if (worker_->state() == WorkerState::idle) (void)worker_->ask_whether_at_rest();
        return;
      case 17:
        return say_execute();
      case 18:
        return worker_->tell_executed();
    }
  }

  void say_done() {
    message_done body{};
    const unsigned flags = bytes_.next();
    body.request_id = (flags & 1) != 0 ? request_id_ : flags;
    body.stays = (flags >> 1) % 4 == 3 ? 2 : (flags >> 1) % 2;
    body.retirement = body.stays == 1 ? (flags >> 7) : flags % 12;
    body.tracking = (flags >> 4) % 5;
    say(packet(MESSAGE_DONE, body));
  }

  void say_execute() {
    message_execute body{};
    const unsigned flags = bytes_.next();
    const std::string strings = std::string("/\0/x\0x\0A=1\0", 11).substr(0, 11 - flags / 64);
    body.request_id = (flags & 1) != 0 ? request_id_ : flags;
    body.argc = 1;
    body.envc = (flags >> 1) % 4 == 0 ? 0 : 1;
    body.strings_bytes = static_cast<std::uint32_t>(strings.size());
    say(packet(MESSAGE_EXECUTE, body, strings));
  }

  void assign() {
    if (worker_->state() != WorkerState::idle) return;
    const auto say_ready = bytes_.next() % 2 == 0 ? message::SayReady::no : message::SayReady::yes;
    const std::vector<std::string> none;
    request_id_ += 1;
    const auto request = message::encode_request(
        request_id_, say_ready, message::Streams::sent,
        {.cwd = "/", .argv = none, .query_words = none, .environment = {}, .environment_count = 0});
    const int fds[] = {0, 1, 2};
    if (worker_->assign(request_id_, say_ready, request, fds)) open_requests_ += 1;
  }

  void end_request() {
    BRIDGE_ASSERT(open_requests_ == 1);
    open_requests_ = 0;
  }

  // from: the process that the kernel should name.
  void say(std::string_view bytes, pid_t from = 0) {
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))] = {};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (from != 0) {
      const ucred credentials{from, ::getuid(), ::getgid()};
      header.msg_control = control;
      header.msg_controllen = sizeof control;
      cmsghdr* at = CMSG_FIRSTHDR(&header);
      at->cmsg_level = SOL_SOCKET;
      at->cmsg_type = SCM_CREDENTIALS;
      at->cmsg_len = CMSG_LEN(sizeof credentials);
      std::memcpy(CMSG_DATA(at), &credentials, sizeof credentials);
    }
    if (program_) (void)!::sendmsg(program_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void read_request() {
    char bytes[1024];
    if (program_) (void)!::recv(program_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  }

  void wait_for_death() {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
    turn();
  }
  bool may_retire() const {
    const WorkerState state = worker_->state();
    return state == WorkerState::idle || worker::is_returning(state);
  }

  void turn() {
    loop::Timer end(loop_, [this] { loop_.stop(); });
    end.start(base::Duration(0));
    loop_.run();
  }

  void demand() {
    const WorkerState state = worker_->state();
    BRIDGE_ASSERT(gone_ == (state == WorkerState::gone));
    if (state == WorkerState::idle || worker::is_returning(state)) {
      BRIDGE_ASSERT(open_requests_ == 0);
    }
    if (gone_) BRIDGE_ASSERT(open_requests_ == 0);
    // A worker that was told to end may be dead, but held because of its group.
    if (state == WorkerState::busy && !worker_->terminating()) BRIDGE_ASSERT(open_requests_ == 1);
    BRIDGE_ASSERT(worker_->pid() == -1 || worker_->pid() == pid_);
  }

  void on_ready(Worker&) override { BRIDGE_ASSERT(!gone_); }
  void on_done(Worker&, const message::Received&) override { BRIDGE_ASSERT(!gone_); }
  void on_ended(Worker&, const worker::Ending&) override { end_request(); }
  void on_at_rest(Worker&) override { BRIDGE_ASSERT(!gone_); }
  void on_reset_over(Worker& worker) override {
    BRIDGE_ASSERT(!gone_);
    const unsigned choice = bytes_.next() % 3;
    if (choice == 0) worker.pass_check();
    if (choice == 1) worker.retire();
  }
  void on_retired(Worker&, std::uint32_t, const std::string&) override {}
  void on_unbegun(Worker&) override { end_request(); }
  void on_silent(Worker&) override {}
  void on_gone(Worker&) override {
    BRIDGE_ASSERT(!gone_);
    gone_ = true;
  }
  void on_note(Worker&, const message::Received&) override { BRIDGE_ASSERT(!gone_); }
  void on_execute(Worker& worker, const message::Execution& execution) override {
    BRIDGE_ASSERT(!gone_ && open_requests_ == 1 && execution.file == "/x");
    const unsigned choice = bytes_.next() % 4;
    if (choice == 0) return worker.terminate();
    worker.answer_execute(choice == 1 ? base::make_empty_input().take() : base::UniqueFd());
    if (choice == 2) worker.tell_executed();
  }

  Bytes bytes_;
  loop::Loop loop_;
  worker::ChildReaper reaper_;
  const std::string label_;
  const pid_t pid_;
  std::unique_ptr<Worker> worker_;
  base::UniqueFd program_;
  std::uint64_t request_id_ = 1000;
  int open_requests_ = 0;
  bool gone_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool is_quiet = (base::start_log("error"), true);
  (void)is_quiet;
  if (size > 0) Play(Bytes(data, size)).run();
  return 0;
}
