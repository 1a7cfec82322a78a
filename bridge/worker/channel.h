// The bridge's end of a message channel: packets and descriptors over a SOCK_SEQPACKET socket.
#pragma once

#include <span>

#include "base/unique_fd.h"
#include "loop/fd_watch.h"
#include "message/channel_message.h"

namespace worker {

// Makes a channel. Returns both ends: ours, and the one to hand over.
base::Result<base::FdPair> make_channel();

// How a channel ended.
enum class ChannelEnd {
  closed,  // the other side closed it or died, and had read everything that was sent to it
  unread,  // the same, but the last packets sent to it were never read
  fault    // it sent something malformed, or the socket failed
};

// Whether a READY has to name the process that sent it, as the kernel reports it. A worker's first
// one does: from it the bridge learns which process to signal, and a program must not be able to
// name somebody else's process.
enum class Introduction { none, by_kernel };

// What arrives. Both run on the loop. Neither may destroy the channel; that is done at the end of
// the turn (loop::Deferred).
class ChannelOwner {
 public:
  virtual void on_message(const message::Received& received) = 0;
  // Called once, after all messages (why is a sentence); the channel is silent afterwards.
  virtual void on_broken(ChannelEnd end, const std::string& why) = 0;

 protected:
  ~ChannelOwner() = default;
};

class Channel {
 public:
  // Introduction::by_kernel: the channel must be made before the other end is handed over.
  Channel(loop::Loop& loop, base::UniqueFd fd, ChannelOwner& owner,
          Introduction introduction = Introduction::none);

  // Sends one packet with descriptors (borrowed). A full or broken channel is an error: the
  // bridge's packets are small and few, so a full channel means that the other end does not read.
  base::Status send(base::ByteView packet, std::span<const int> fds);

  // Sends a request with its three descriptors, or none; a long request travels in a memfd.
  base::Status send_request(const message::EncodedRequest& request, std::span<const int> fds);

  // The other side sees the end of the channel after what was sent; what it sends still arrives.
  void hang_up();

  // Reports at once everything that has already arrived: to be called when the other side has died.
  void drain();

 private:
  bool receive();
  void tell_senders(int on);
  bool is_forged(const message::Received& received, pid_t sender);
  void break_off(ChannelEnd end, const std::string& why);

  base::UniqueFd fd_;
  ChannelOwner& owner_;
  Introduction introduction_;
  bool unread_ = false;
  bool broken_ = false;
  loop::FdWatch watch_;
};

}  // namespace worker
