#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/log.h"
#include "cli/adapters_folder.h"
#include "cli/commands.h"
#include "fastcgi/record_reader.h"
#include "fastcgi/record_writer.h"
#include "gateway/gateway.h"

namespace cli {
namespace {

constexpr fastcgi::RequestId kId = 1;
constexpr std::chrono::milliseconds kWarmPoll{5};

// The request as a web server would send it.
std::string request_records(const Invocation& invocation, const std::string& script) {
  std::string body;
  if (!invocation.body_file.empty()) {
    std::ifstream file(invocation.body_file, std::ios::binary);
    body.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::string params;
  const auto add = [&params](std::string_view name, std::string_view value) {
    fastcgi::append_name_value(params, name, value);
  };
  add("SCRIPT_FILENAME", script);
  add("SCRIPT_NAME", "/" + std::filesystem::path(script).filename().string());
  add("REQUEST_METHOD", body.empty() && invocation.body_file.empty() ? "GET" : "POST");
  add("QUERY_STRING", invocation.query);
  add("SERVER_PROTOCOL", "HTTP/1.1");
  add("SERVER_NAME", "localhost");
  add("SERVER_PORT", "80");
  add("REMOTE_ADDR", "127.0.0.1");
  if (!invocation.body_file.empty()) {
    add("CONTENT_LENGTH", std::to_string(body.size()));
    add("CONTENT_TYPE", "application/x-www-form-urlencoded");
  }
  for (const std::string& variable : invocation.env) {
    const std::size_t equals = variable.find('=');
    add(variable.substr(0, equals),
        equals == variable.npos ? std::string() : variable.substr(equals + 1));
  }
  std::string records;
  fastcgi::append_begin_request(records, kId, fastcgi::Role::responder,
                                fastcgi::KeepConnection::no);
  fastcgi::append_stream(records, fastcgi::RecordType::params, kId, params);
  fastcgi::append_stream_end(records, fastcgi::RecordType::params, kId);
  fastcgi::append_stream(records, fastcgi::RecordType::std_in, kId, body);
  fastcgi::append_stream_end(records, fastcgi::RecordType::std_in, kId);
  return records;
}

// The web server's end of the connection: sends the request, prints what comes back.
class Visitor {
 public:
  Visitor(loop::Loop& loop, base::UniqueFd fd, const std::string& records)
      : loop_(loop), fd_(std::move(fd)), watch_(loop, fd_.get(), [this](unsigned ready) {
          if ((ready & loop::kWritable) != 0) send();
          if ((ready & loop::kReadable) != 0) receive();
        }) {
    out_.append(records);
    watch_.ask(loop::kReadable | loop::kWritable);
  }

  int exit_code() const { return exit_code_; }

 private:
  void send() {
    const ssize_t sent = ::send(fd_.get(), out_.bytes().data(), out_.size(), MSG_NOSIGNAL);
    if (sent > 0) out_.consume(static_cast<std::size_t>(sent));
    if (out_.empty()) watch_.ask(loop::kReadable);
  }

  void receive() {
    char bytes[65536];
    const ssize_t got = ::recv(fd_.get(), bytes, sizeof bytes, 0);
    if (got <= 0) {
      watch_.ask(loop::kNothing);
      return loop_.stop();
    }
    reader_.feed(base::ByteView(bytes, static_cast<std::size_t>(got)));
    fastcgi::Fragment fragment;
    while (reader_.next(fragment) == fastcgi::Step::fragment) take(fragment);
  }

  void take(const fastcgi::Fragment& fragment) {
    const base::ByteView content = fragment.content;
    if (fragment.header.type == fastcgi::RecordType::std_out) {
      std::fwrite(content.data(), 1, content.size(), stdout);
    } else if (fragment.header.type == fastcgi::RecordType::std_err) {
      std::fwrite(content.data(), 1, content.size(), stderr);
    } else if (fragment.header.type == fastcgi::RecordType::end_request && content.size() >= 4) {
      exit_code_ = static_cast<unsigned char>(content[3]);
    }
  }

  loop::Loop& loop_;
  base::UniqueFd fd_;
  base::OutBuffer out_;
  fastcgi::RecordReader reader_;
  int exit_code_ = 1;
  loop::FdWatch watch_;
};

std::shared_ptr<const config::Settings> settings_for(const std::string& script,
                                                     const std::string& mode) {
  auto settings = std::make_shared<config::Settings>();
  settings->bridge.roots = {std::filesystem::path(script).parent_path().string()};
  settings->defaults.mode = mode == "persistent" ? config::Mode::persistent : config::Mode::classic;
  settings->defaults.workers.spare = 1;
  return settings;
}

}  // namespace

int run_try(const Invocation& invocation) {
  std::error_code missing;
  const std::string script = std::filesystem::canonical(invocation.program, missing).string();
  if (missing) {
    fmt::print(stderr, "cgibridge: {}: {}\n", invocation.program, missing.message());
    return 1;
  }
  base::start_log("warn");
  ::signal(SIGPIPE, SIG_IGN);
  const auto settings = settings_for(script, invocation.mode);
  loop::Loop loop;
  worker::ChildReaper reaper(loop);
  pool::Pools pools({loop, reaper, adapters_folder()});
  gateway::Gateway gateway(loop, pools, [settings] { return settings; });
  auto ends = base::make_socket_pair(SOCK_STREAM);
  if (!ends) {
    fmt::print(stderr, "cgibridge: {}\n", ends.error().message);
    return 1;
  }
  base::set_nonblocking(ends.value().first.get());
  base::set_nonblocking(ends.value().second.get());
  std::unique_ptr<Visitor> visitor;
  const auto begin = [&] {
    gateway.add_connection(std::move(ends.value().first));
    visitor = std::make_unique<Visitor>(loop, std::move(ends.value().second),
                                        request_records(invocation, script));
  };
  // Asked for persistent, it answers persistent: the request waits until the program is warm.
  loop::Timer* again = nullptr;
  loop::Timer when_warm(loop, [&] {
    const std::string level = pools.of(script).status().level;
    return level == "warming" ? again->start(kWarmPoll) : begin();
  });
  again = &when_warm;
  if (invocation.mode == "persistent") {
    auto resolution = gateway.resolver().resolve(script);
    if (resolution) {
      pools.of(script).refresh(settings->defaults, resolution.value().identity, {});
    }
  }
  when_warm.start(std::chrono::milliseconds(0));
  loop.run();
  return visitor->exit_code();
}

}  // namespace cli
