#include "gateway/listener.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace gateway {
namespace {
constexpr std::chrono::milliseconds kRetryPause{100};
}  // namespace

Listener::Listener(loop::Loop& loop, base::UniqueFd fd, std::string name,
                   std::function<void(base::UniqueFd)> on_connection,
                   std::function<bool()> make_room)
    : fd_(std::move(fd)),
      name_(std::move(name)),
      on_connection_(std::move(on_connection)),
      make_room_(std::move(make_room)),
      watch_(loop, fd_.get(), [this](unsigned) { on_readable(); }),
      retry_timer_(loop, [this] { ask(); }) {
  ask();
}

void Listener::set_accepting(Accepting accepting) {
  accepting_ = accepting;
  ask();
}

void Listener::ask() {
  watch_.ask(accepting_ == Accepting::on ? loop::kReadable : loop::kNothing);
}

// Accepts one connection per event: if there are more, another event follows, and no call is wasted
// on an empty queue.
void Listener::on_readable() {
  base::UniqueFd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd) return on_connection_(std::move(fd));
  if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
  const int why = errno;
  if ((why == EMFILE || why == ENFILE) && make_room_ && make_room_())
    return;  // another event follows
  base::log_error("{}: cannot accept a connection: {}; again in {} ms", name_, std::strerror(why),
                  kRetryPause.count());
  watch_.ask(loop::kNothing);
  retry_timer_.start(kRetryPause);
}

}  // namespace gateway
