// A whole gateway in a fake world, and web servers that connect to it.
#pragma once

#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fakes/world.h"
#include "fastcgi/client_connection.h"
#include "gateway/gateway.h"

namespace fakes {

// A web server's end of one connection, with one request at a time.
class Peer {
 public:
  explicit Peer(base::UniqueFd fd) : fd_(std::move(fd)) {}

  // Starts a request with these params ("K=V\0..."). The body follows by body() and end_body().
  void begin(const std::string& params) {
    std::string records;
    codec_.begin(records, params);
    send(records);
    app_status_ = -1;
    output.clear();
    errors.clear();
  }
  void body(const std::string& piece) {
    std::string records;
    codec_.append_body(records, piece);
    send(records);
  }
  void end_body() {
    std::string records;
    codec_.end_body(records);
    send(records);
  }
  void abort() {
    std::string records;
    codec_.abort(records);
    send(records);
  }
  void send(const std::string& bytes) {
    (void)::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void leave() { fd_.reset(); }

  // Reads what has arrived.
  void read() {
    char bytes[65536];
    for (ssize_t got = 0;
         fd_ && (got = ::recv(fd_.get(), bytes, sizeof bytes, MSG_DONTWAIT)) >= 0;) {
      if (got == 0) return fd_.reset();
      codec_.feed(base::ByteView(bytes, static_cast<std::size_t>(got)));
      fastcgi::ClientEvent event;
      while (codec_.next(event) == fastcgi::EventStep::event) take(event);
    }
  }

  bool ended() const { return app_status_ >= 0; }  // END_REQUEST has arrived
  bool is_closed() const { return !fd_; }          // by the bridge, or by leave()
  std::int64_t app_status() const { return app_status_; }
  std::string output, errors;  // of the request, as far as they have arrived

 private:
  void take(const fastcgi::ClientEvent& event) {
    if (event.type == fastcgi::ClientEventType::output) output += event.bytes;
    if (event.type == fastcgi::ClientEventType::errors) errors += event.bytes;
    if (event.type == fastcgi::ClientEventType::end) app_status_ = event.app_status;
  }

  base::UniqueFd fd_;
  fastcgi::ClientConnection codec_;
  std::int64_t app_status_ = -1;
};

class Site {
 public:
  Site() {
    config_->bridge.roots = {world_.folder()};
    gateway_ = std::make_unique<gateway::Gateway>(world_.time().loop(), world_.pools(),
                                                  [this] { return settings(); });
  }
  ~Site() {
    peers_.clear();
    gateway_.reset();
  }
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  World& world() { return world_; }
  Processes& processes() { return world_.processes(); }
  gateway::Gateway& gateway() { return *gateway_; }

  // Settings for all programs, and for the bridge. changed() puts them into force.
  config::ProgramSettings& program() { return config_->defaults; }
  config::BridgeSettings& bridge() { return config_->bridge; }
  void changed() {
    config_ = std::make_shared<config::Settings>(*config_);
    gateway_->settings_changed();
  }

  Peer& connect() {
    auto pair = base::make_socket_pair(SOCK_STREAM).take();
    ::fcntl(pair.first.get(), F_SETFL, O_NONBLOCK);
    gateway_->add_connection(std::move(pair.first));
    peers_.push_back(std::make_unique<Peer>(std::move(pair.second)));
    return *peers_.back();
  }

  // A GET, or a POST with a body of content_length bytes, which the test sends.
  static std::string params(const std::string& script, int content_length = 0) {
    std::string block;
    const auto add = [&block](const std::string& pair) { (block += pair).push_back('\0'); };
    add("SCRIPT_FILENAME=" + script);
    add(content_length > 0 ? "REQUEST_METHOD=POST" : "REQUEST_METHOD=GET");
    if (content_length > 0) add("CONTENT_LENGTH=" + std::to_string(content_length));
    return block;
  }

  // One whole request without a body, on its own connection.
  Peer& request(const std::string& script) {
    Peer& peer = connect();
    peer.begin(params(script));
    peer.end_body();
    return peer;
  }

  // Drops peers whose connection is closed.
  void forget_closed() {
    std::erase_if(peers_, [](const auto& peer) { return peer->is_closed(); });
  }

  // Lets time pass, then has all peers read what arrived.
  bool advance(base::TimePoint::duration by) {
    const bool rests = world_.advance(by);
    for (auto& peer : peers_) peer->read();
    return world_.settle() && rests;
  }

 private:
  std::shared_ptr<const config::Settings> settings() const { return config_; }

  World world_;
  std::shared_ptr<config::Settings> config_ = std::make_shared<config::Settings>();
  std::unique_ptr<gateway::Gateway> gateway_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

}  // namespace fakes
