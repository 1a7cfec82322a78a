// One connection of a web server, and the requests on it.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/out_buffer.h"
#include "base/unique_fd.h"
#include "fastcgi/server_connection.h"
#include "gateway/request.h"
#include "loop/fd_watch.h"
#include "loop/timer.h"
#include "policy/connections.h"

namespace gateway {

// Owned by the gateway, which destroys it at the end of the turn after gone(). A turn's records are
// sent together at its end.
class Connection : public Answer {
 public:
  // Above this, programs' output is not read any further; below half of it, reading resumes.
  static constexpr std::size_t kOutHeldMax = 256 * base::kKiB;

  Connection(Gateway& gateway, base::UniqueFd fd);
  ~Connection() override;

  // Reads what arrived with the connection: nearly always its first request.
  void begin();

  // Whether no request is active and nothing waits to be sent: it may then be closed without loss.
  bool idle() const { return requests_.empty() && out_.empty(); }
  bool gone() const { return gone_; }
  // Its state at the end of the last turn in which something happened on it.
  const policy::ConnectionView& view() const { return view_; }
  void close();
  // Closes as soon as it is idle, or goes to another bridge (Gateway::hand_over()) as soon as no
  // part of a request has arrived.
  void drain();

 private:
  // open: serving. closing: what is queued is still sent. lingering: everything is sent, and what
  // the client still sends is read and dropped, so that a reset does not cost it the answer.
  enum class Phase { open, closing, lingering };

  // Answer
  base::OutBuffer& out() override { return out_; }
  bool has_room() const override { return out_.size() < kOutHeldMax; }
  void wrote() override { flush_.schedule(); }
  void body_room_changed() override { flush_.schedule(); }
  void finish(fastcgi::RequestId id, std::uint32_t app_status) override;
  void break_off(fastcgi::RequestId id, std::uint32_t app_status) override;

  void on_ready(unsigned readiness);
  void read();
  void handle(fastcgi::Event& event);
  void tell_refused(const fastcgi::Event& event);
  void begin_exchange(fastcgi::RequestId id, const fastcgi::Params& params);
  Request& add_request(fastcgi::RequestId id);
  void flush();
  void send();
  void end_of_turn();
  void after_last_byte();
  bool handed_over();
  void client_sends_no_more();
  void client_gone(const char* how);
  void let_finish(fastcgi::RequestId id);
  void note_use();
  void watch();
  bool may_stay_unwatched() const;
  void set_asked();

  Gateway& gateway_;
  base::UniqueFd fd_;
  const std::string bound_;  // the program that answers here; empty: the one that the params name
  fastcgi::ServerConnection codec_;
  base::OutBuffer out_;
  std::unordered_map<fastcgi::RequestId, std::unique_ptr<Exchange>> requests_;
  std::vector<std::unique_ptr<Exchange>> finished_;  // destroyed at the end of the turn
  Phase phase_ = Phase::open;
  policy::ConnectionView view_;
  bool gone_ = false;
  bool half_closed_ = false;  // the client sends no more, but reads; over a unix socket
  bool all_read_ = false;     // and everything that it has sent is read
  bool body_cut_ = false;     // a request finished before its body was complete
  bool short_of_room_ = false;
  bool refusal_told_ = false;
  loop::FdWatch watch_;
  loop::Deferred flush_;
  // A connection with a single request that is answered at once is never watched: watching starts
  // when this timer fires, or when something has to be waited for.
  loop::Timer unwatched_timer_;
  bool watched_ = false;
  std::unique_ptr<loop::Timer> linger_timer_;
};

}  // namespace gateway
