#include "gateway/listener.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace gateway {
namespace {
constexpr std::chrono::milliseconds kRetryPause{100};
// Connections taken before those that are open get their turn.
constexpr int kAcceptsPerTurn = 16;
}  // namespace

Listener::Listener(loop::Loop& loop, base::UniqueFd fd, std::string name,
                   std::function<void(base::UniqueFd)> on_connection)
    : fd_(std::move(fd)),
      name_(std::move(name)),
      on_connection_(std::move(on_connection)),
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

void Listener::on_readable() {
  for (int i = 0; i < kAcceptsPerTurn && accepting_ == Accepting::on; ++i) {
    base::UniqueFd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      on_connection_(std::move(fd));
      continue;
    }
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
    spdlog::error("{}: cannot accept a connection: {}; again in {} ms", name_, std::strerror(errno),
                  kRetryPause.count());
    watch_.ask(loop::kNothing);
    return retry_timer_.start(kRetryPause);
  }
}

}  // namespace gateway
