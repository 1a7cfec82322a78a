#include "cli/own_bridge.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/out_buffer.h"
#include "cgi/environment.h"
#include "cgi/header_field.h"
#include "cli/adapters_folder.h"
#include "fastcgi/record_reader.h"
#include "router/resolver.h"

namespace cli {
namespace {

constexpr std::chrono::milliseconds kPoll{2};
// How long children have to end by themselves, and again to be gone after they were killed.
constexpr std::chrono::milliseconds kGrace{500};
constexpr std::chrono::seconds kGraveTime{5};

// The web server's end of a connection: sends one request and collects the answer.
class Visitor {
 public:
  Visitor(loop::Loop& loop, base::UniqueFd fd, const std::string& records, Heard& heard,
          OnPiece on_piece)
      : loop_(loop),
        fd_(std::move(fd)),
        heard_(heard),
        on_piece_(std::move(on_piece)),
        watch_(loop, fd_.get(), [this](unsigned ready) {
          if ((ready & loop::kWritable) != 0 && !out_.empty()) send();
          if ((ready & loop::kReadable) != 0) receive();
        }) {
    out_.append(records);
    watch_.ask(loop::kReadable | loop::kWritable);
  }

  bool over() const { return over_; }

 private:
  void send() {
    const ssize_t sent = ::send(fd_.get(), out_.bytes().data(), out_.size(), MSG_NOSIGNAL);
    if (sent > 0) out_.consume(static_cast<std::size_t>(sent));
    if (out_.empty()) watch_.ask(loop::kReadable);
  }

  void receive() {
    char bytes[65536];
    const ssize_t got = ::recv(fd_.get(), bytes, sizeof bytes, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return end();
    reader_.feed(base::ByteView(bytes, static_cast<std::size_t>(got)));
    fastcgi::Fragment fragment;
    while (reader_.next(fragment) == fastcgi::Step::fragment) take(fragment);
  }

  void take(const fastcgi::Fragment& fragment) {
    const base::ByteView content = fragment.content;
    if (fragment.header.type == fastcgi::RecordType::std_out) {
      on_piece_(Stream::output, content);
    } else if (fragment.header.type == fastcgi::RecordType::std_err) {
      on_piece_(Stream::errors, content);
    } else if (fragment.header.type == fastcgi::RecordType::end_request && content.size() >= 4) {
      for (int i = 0; i < 4; ++i) {
        heard_.exit_code = heard_.exit_code << 8 | static_cast<unsigned char>(content[i]);
      }
      heard_.complete = true;
      end();
    }
  }

  void end() {
    over_ = true;
    watch_.ask(loop::kNothing);
    loop_.stop();
  }

  loop::Loop& loop_;
  base::UniqueFd fd_;
  Heard& heard_;
  OnPiece on_piece_;
  base::OutBuffer out_;
  fastcgi::RecordReader reader_;
  bool over_ = false;
  loop::FdWatch watch_;
};

// A link may lead anywhere: a user who names it here may run its target anyway.
std::vector<std::string> roots_of(const std::string& script) {
  const std::filesystem::path path(script);
  return {path.parent_path().string(), script};
}

// Its folders keep their names. But what comes before a ".." is not kept as a name: it is looked
// up, following links.
std::filesystem::path absolute_path(const std::string& given, std::error_code& error) {
  std::filesystem::path path;
  for (const auto& part : std::filesystem::absolute(given, error)) {
    if (part == "." || part.empty()) continue;
    path = part == ".." ? std::filesystem::canonical(path / part, error) : path / part;
    if (error) break;
  }
  return path;
}

std::shared_ptr<const config::Settings> settings_for(const std::string& script,
                                                     const config::ProgramSettings& program) {
  auto settings = std::make_shared<config::Settings>();
  settings->bridge.roots = roots_of(script);
  settings->defaults = program;
  return settings;
}

// The fourth field of /proc/PID/stat; it comes after the name, which may contain anything.
pid_t parent_of(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  std::string stat;
  std::getline(file, stat, '\0');
  const std::size_t name_end = stat.rfind(')');
  if (name_end == stat.npos || name_end + 4 >= stat.size()) return -1;
  return std::atoi(stat.c_str() + name_end + 4);
}

// The children of this process.
std::vector<pid_t> children() {
  std::vector<pid_t> pids;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0 && parent_of(entry.path()) == ::getpid()) pids.push_back(pid);
  }
  return pids;
}

// Reaps children that have ended. Returns whether none is left.
bool reap() {
  pid_t pid = 0;
  do {
    pid = ::waitpid(-1, nullptr, WNOHANG);
  } while (pid > 0);
  return pid < 0 && errno == ECHILD;
}

bool reap_within(std::chrono::milliseconds limit, int signal_number) {
  const auto end = loop::system_clock().now() + limit;
  while (!reap()) {
    if (loop::system_clock().now() >= end) return false;
    // Repeated, because what a child leaves behind when it dies becomes our child.
    for (const pid_t pid : children()) ::kill(pid, signal_number);
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

}  // namespace

compare::Answer answer_of(const Heard& heard) {
  compare::Answer answer;
  answer.exit_code = heard.exit_code;
  if (heard.refused || !heard.complete) return answer;
  answer.status = 200;
  std::string_view rest = heard.output;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) break;
    const auto field = cgi::parse_header_field(line);
    if (field && cgi::same_name(field->name, "Status")) {
      answer.status = std::atoi(std::string(field->value).c_str());
    } else {
      answer.head.append(line).append("\n");
    }
  }
  answer.head = compare::sorted(answer.head);
  answer.body = rest;
  return answer;
}

base::Result<std::string> name_of_program(const std::string& given) {
  std::error_code error;
  const std::string path = absolute_path(given, error).string();
  if (!error) (void)std::filesystem::canonical(path, error);
  if (error) return base::Error{fmt::format("{}: {}", given, error.message())};
  auto resolved = router::Resolver(loop::system_clock(), roots_of(path)).resolve(path);
  if (!resolved) return base::Error{resolved.refusal().reason};
  return std::move(resolved.value().program);
}

OwnBridge::OwnBridge(std::string script, const config::ProgramSettings& settings)
    : script_(std::move(script)),
      settings_(settings_for(script_, settings)),
      processes_(loop_),
      identities_(loop_, adapters_folder()),
      pools_({loop_,
              processes_,
              {adapters_folder(), config::BridgeSettings{}.cache},
              identities_,
              cgroups_}),
      gateway_(loop_, pools_, [this] { return settings_; }),
      deadline_(loop_, [this] { stop(kOutOfTime); }),
      on_int_(loop_, SIGINT, [this] { stop(kInterrupted); }),
      on_term_(loop_, SIGTERM, [this] { stop(kInterrupted); }),
      on_hup_(loop_, SIGHUP, [this] { stop(kInterrupted); }) {
  ::signal(SIGPIPE, SIG_IGN);
}

OwnBridge::~OwnBridge() = default;

void OwnBridge::stop(std::string_view why) {
  if (stopped_.empty()) stopped_ = why;
  loop_.stop();
}

void OwnBridge::use(const config::ProgramSettings& settings) {
  if (settings == settings_->defaults) return;
  settings_ = settings_for(script_, settings);
  gateway_.settings_changed();
}

Heard OwnBridge::ask(const std::string& records) {
  std::string output, errors;
  Heard heard = ask(records, [&output, &errors](Stream stream, base::ByteView piece) {
    (stream == Stream::output ? output : errors).append(piece);
  });
  heard.output = std::move(output);
  heard.errors = std::move(errors);
  return heard;
}

Heard OwnBridge::ask(const std::string& records, OnPiece on_piece) {
  Heard heard;
  if (!stopped_.empty()) return heard;
  auto ends = base::make_socket_pair(SOCK_STREAM);
  if (!ends) {
    heard.errors = ends.error().message;
    return heard;
  }
  base::set_nonblocking(ends.value().first.get());
  base::set_nonblocking(ends.value().second.get());
  const std::uint64_t warm_before = status().persistent;
  const std::uint64_t errors_before = gateway_.counts().errors;
  const auto begin = loop::system_clock().now();
  gateway_.add_connection(std::move(ends.value().first));
  Visitor visitor(loop_, std::move(ends.value().second), records, heard, std::move(on_piece));
  // A timer or a worker may stop the loop, too, even in the turn in which the answer is complete.
  while (!visitor.over() && stopped_.empty()) loop_.run();
  heard.time =
      std::chrono::duration_cast<std::chrono::microseconds>(loop::system_clock().now() - begin);
  heard.warm = status().persistent > warm_before;
  heard.refused = gateway_.counts().errors > errors_before;
  return heard;
}

bool OwnBridge::run_until(std::chrono::milliseconds limit, const std::function<bool()>& condition) {
  const auto end = loop::system_clock().now() + limit;
  while (!condition()) {
    if (!stopped_.empty() || loop::system_clock().now() >= end) return false;
    loop::Timer look_again(loop_, [this] { loop_.stop(); });
    look_again.start(kPoll);
    loop_.run();
  }
  return true;
}

// The environment decides what the program's process is launched with.
base::Status OwnBridge::begin_warming(const std::vector<Assignment>& params) {
  const cgi::Variables variables(params.begin(), params.end());
  const auto path = cgi::script_path(variables);
  if (!path) return base::Error{path.refusal().reason};
  const auto resolution = gateway_.resolver().resolve(path.value());
  if (!resolution) return base::Error{resolution.refusal().reason};
  const router::Resolution& found = resolution.value();
  const config::ProgramSettings& settings = settings_->defaults;
  const auto environment = cgi::build_environment(
      variables, cgi::split_path(variables, found.script, found.path_info), found.program,
      gateway_.configured_environment(settings), {settings.strict_params, settings.pass_params});
  if (!environment) return base::Error{environment.refusal().reason};
  pools_.of(found.program)
      .refresh(settings, found.file, environment.value().block, compare::Side::persistent);
  return base::Done{};
}

bool OwnBridge::settled() {
  const pool::PoolStatus now = status();
  return now.level != "warming" && now.generation == now.newest_generation;
}

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1L);
}

void end_children() {
  if (!reap_within(kGrace, SIGTERM)) reap_within(kGraveTime, SIGKILL);
}

}  // namespace cli
