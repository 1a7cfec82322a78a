#include "upgrade/predecessor.h"

#include "base/log.h"

namespace upgrade {

Predecessor::Predecessor(loop::Loop& loop, base::UniqueFd channel, Events events)
    : channel_(std::move(channel)),
      events_(std::move(events)),
      watch_(std::make_unique<loop::FdWatch>(loop, channel_.get(),
                                             [this](unsigned) { on_packet(); })) {
  watch_->ask(loop::kReadable);
}

void Predecessor::say_ready() {
  // If the old bridge is gone, on_packet() finds out.
  (void)send_packet(channel_.get(), {{"ready", true}});
}

void Predecessor::on_packet() {
  auto packet = receive_packet(channel_.get(), Patience::none);
  if (!packet) return;
  if (packet->over) {
    watch_->ask(loop::kNothing);
    ended_ = true;
    if (!serves_) return events_.on_failed("it has ended");
    base::log_info("upgrade: the old bridge has ended");
    return events_.on_ended();
  }
  if (!packet->message.is_object()) return;
  if (packet->message.contains("serve")) {
    serves_ = true;
    events_.on_serve();
  } else if (packet->message.contains("connection") && packet->fd) {
    events_.on_connection(std::move(packet->fd));
  }
}

}  // namespace upgrade
