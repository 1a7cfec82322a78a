// The bridge's end of a message channel: packets and descriptors over a SOCK_SEQPACKET socket.
#pragma once

#include <functional>
#include <span>

#include "base/unique_fd.h"
#include "loop/fd_watch.h"
#include "message/channel_message.h"

namespace worker {

// Both ends of a new channel: ours, and the one to hand over.
base::Result<base::FdPair> make_channel();

class Channel {
 public:
  // What arrives. Both run on the loop; neither may destroy the channel, which is done at the
  // end of the turn (loop::Deferred).
  struct Events {
    std::function<void(const message::Received&)> on_message;
    // The other end is gone, or sent something malformed (why says what). Told once; the channel
    // is silent afterwards.
    std::function<void(const std::string& why)> on_broken;
  };

  Channel(loop::Loop& loop, base::UniqueFd fd, Events events);

  // Sends one packet with descriptors (borrowed). A full or broken channel is an error: packets of
  // the bridge are small and few, so a full one means that the other end does not read.
  base::Status send(base::ByteView packet, std::span<const int> fds);

  // Sends a request with its three descriptors, by memfd if it is long.
  base::Status send_request(const message::EncodedRequest& request, std::span<const int> fds);

 private:
  void on_readable();
  void break_off(const std::string& why);

  base::UniqueFd fd_;
  Events events_;
  loop::FdWatch watch_;
};

}  // namespace worker
