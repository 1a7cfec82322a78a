#include "upgrade/successor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "admin/control_message.h"
#include "base/log.h"
#include "worker/launch.h"
#include "worker/worker_state.h"

namespace upgrade {
namespace {
// From its launch until its programs are warm.
constexpr std::chrono::seconds kPatience{90};
// How much a packet may hold of the notes on programs, about; programs that are left out are made
// warm by their first requests.
constexpr std::size_t kNotesBytesMax = 48 * base::kKiB;
}  // namespace

Successor::Successor(loop::Loop& loop, worker::Processes& processes, Events events)
    : loop_(loop), processes_(processes), events_(std::move(events)), patience_(loop, [this] {
        fail(fmt::format("it was not ready within {} s", kPatience.count()));
      }) {}

Successor::~Successor() {
  if (pid_ <= 0) return;
  processes_.forget(pid_);
  if (!taken_over_) ::kill(pid_, SIGKILL);
}

base::Status Successor::start(const Terms& terms) {
  auto ends = base::make_socket_pair(SOCK_SEQPACKET);
  if (!ends) return ends.error();
  channel_ = std::move(ends.value().first);
  const auto launched = launch(terms, ends.value().second.get());
  if (!launched) return launched;
  if (const auto told = tell(terms); !told) return told;
  watch_ =
      std::make_unique<loop::FdWatch>(loop_, channel_.get(), [this](unsigned) { on_packet(); });
  watch_->ask(loop::kReadable);
  patience_.start(kPatience);
  return base::Done{};
}

base::Status Successor::launch(const Terms& terms, int channel_end) {
  std::string environment;
  std::uint32_t count = 0;
  for (char** entry = environ; *entry != nullptr; ++entry, ++count) {
    environment.append(*entry).push_back('\0');
  }
  std::vector<std::string> argv = {terms.binary};
  argv.insert(argv.end(), terms.words.begin(), terms.words.end());
  argv.insert(argv.end(), {"--take-over", std::to_string(worker::kControlFd)});
  const base::UniqueFd null_in(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto pid = processes_.launch({.file = terms.binary,
                                      .argv = argv,
                                      .environment = environment,
                                      .environment_count = count,
                                      .cwd = ".",
                                      .stdin_fd = null_in.get(),
                                      .stdout_fd = STDOUT_FILENO,
                                      .stderr_fd = STDERR_FILENO,
                                      .control_fd = channel_end,
                                      .death_signal = 0});
  if (!pid) return pid.error();
  pid_ = pid.value();
  processes_.expect(pid_, [this](const worker::Death& death) {
    pid_ = -1;
    // Its end may be known before its last message was read.
    const auto packet = receive_packet(channel_.get(), Patience::none);
    if (packet && heard_why_it_failed(*packet)) return;
    fail(worker::describe_end(death.wait_status) + "; its own words are in the log");
  });
  return base::Done{};
}

base::Status Successor::tell(const Terms& terms) {
  for (const auto& [name, socket] : terms.listeners) {
    if (auto told = send_packet(channel_.get(), {{"listener", name}}, socket); !told) return told;
  }
  nlohmann::json programs = nlohmann::json::array();
  std::size_t bytes = 0;
  for (const pool::WarmNote& note : terms.programs) {
    programs.push_back(
        {{"program", note.program}, {"learned", note.learned}, {"environment", note.environment}});
    bytes += note.program.size() + note.environment.size() + note.learned.size() * 32;
    if (bytes > kNotesBytesMax) break;
  }
  return send_packet(channel_.get(), {{"control", terms.control_path}, {"programs", programs}},
                     terms.control);
}

void Successor::on_packet() {
  const auto packet = receive_packet(channel_.get(), Patience::none);
  if (!packet) return;
  if (packet->over) {
    watch_->ask(loop::kNothing);
    return fail("it has closed its channel");
  }
  if (heard_why_it_failed(*packet) || !packet->message.is_object()) return;
  if (!packet->message.contains("ready") || taken_over_) return;
  patience_.stop();
  events_.on_ready();
}

bool Successor::heard_why_it_failed(const HandoverPacket& packet) {
  if (!packet.message.is_object() || !packet.message.contains("failed")) return false;
  fail(admin::text_of(packet.message, "failed"));
  return true;
}

void Successor::fail(const std::string& why) {
  if (std::exchange(failed_, true) || taken_over_) return;
  patience_.stop();
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  events_.on_failed(why);
}

base::Status Successor::take_over() {
  auto told = send_packet(channel_.get(), {{"serve", true}});
  taken_over_ = told.ok();
  return told;
}

void Successor::pass_on(const base::UniqueFd& connection) {
  const auto sent = send_packet(channel_.get(), {{"connection", true}}, connection.get());
  if (sent) return;
  base::log_warn("upgrade: a connection is closed instead of handed over: {}",
                 sent.error().message);
}

}  // namespace upgrade
