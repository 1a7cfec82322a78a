#include "service_manager.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/log.h"
#include "base/unique_fd.h"

namespace {

// How long the loop waits at most for a manager whose queue is full. Only messages that the manager
// must not miss are worth that; another sign of life comes soon.
constexpr timeval kStatePatience{.tv_sec = 2, .tv_usec = 0};

std::string environment_text(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

}  // namespace

ServiceManager::ServiceManager(loop::Loop& loop)
    : socket_(environment_text("NOTIFY_SOCKET")), timer_(loop, [this] { keep_alive(); }) {
  const auto microseconds = std::strtoll(environment_text("WATCHDOG_USEC").c_str(), nullptr, 10);
  const auto pid = std::strtol(environment_text("WATCHDOG_PID").c_str(), nullptr, 10);
  watched_ = static_cast<pid_t>(pid);
  interval_ = base::Duration(microseconds / 1000 / 2);
}

void ServiceManager::tell(const std::string& what, WhenFull when_full) const {
  if (socket_.empty()) return;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (socket_.size() >= sizeof name.sun_path) return;
  std::memcpy(name.sun_path, socket_.data(), socket_.size());
  if (socket_.front() == '@') name.sun_path[0] = '\0';  // abstract
  const base::UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kStatePatience, sizeof kStatePatience);
  const int flags = MSG_NOSIGNAL | (when_full == WhenFull::drop ? MSG_DONTWAIT : 0);
  const ssize_t sent = ::sendto(fd.get(), what.data(), what.size(), flags,
                                reinterpret_cast<const sockaddr*>(&name), length);
  if (sent < 0)
    base::log_warn("the service manager does not hear \"{}\": {}", base::printable(what),
                   std::strerror(errno));
}

void ServiceManager::ready(Start start) {
  tell(fmt::format("READY=1\nSTATUS=serves\nMAINPID={}", ::getpid()), WhenFull::wait);
  const bool ours = start == Start::taken_over || watched_ == 0 || watched_ == ::getpid();
  if (interval_.count() > 0 && ours && !socket_.empty()) keep_alive();
}

void ServiceManager::stopping() {
  tell("STOPPING=1\nSTATUS=lets requests end", WhenFull::wait);
}

void ServiceManager::hand_over_to(pid_t successor) {
  tell(fmt::format("MAINPID={}", successor), WhenFull::wait);
  timer_.stop();
  socket_.clear();
}

void ServiceManager::keep_alive() {
  tell("WATCHDOG=1", WhenFull::drop);
  timer_.start(interval_);
}
