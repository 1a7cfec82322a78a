#include "gateway/output_pipes.h"

#include <poll.h>
#include <sys/ioctl.h>

#include <array>
#include <utility>

namespace gateway {

OutputPipes::OutputPipes(loop::Loop& loop, std::function<void()> on_output,
                         std::function<void()> on_errors)
    : loop_(loop),
      output_{{}, nullptr, std::move(on_output)},
      errors_{{}, nullptr, std::move(on_errors)} {}

void OutputPipes::connect(base::FdPair ours) {
  (void)release();
  output_.fd = std::move(ours.first);
  errors_.fd = std::move(ours.second);
}

void OutputPipes::watch() {
  output_.watch_by(loop_);
  errors_.watch_by(loop_);
}

void OutputPipes::ask(unsigned output, unsigned errors) {
  if (output_.watch != nullptr) output_.watch->ask(output);
  if (errors_.watch != nullptr) errors_.watch->ask(errors);
}

OutputPipes::Rest OutputPipes::rest() const {
  std::array<pollfd, 2> pipes{pollfd{output(), POLLIN, 0}, pollfd{errors(), POLLIN, 0}};
  while (::poll(pipes.data(), pipes.size(), 0) < 0) {
  }
  const bool output_open = output_.fd && (pipes[0].revents & ~POLLIN) == 0;
  return {(pipes[0].revents & POLLIN) != 0, (pipes[1].revents & POLLIN) != 0,
          output_open && errors_.fd && (pipes[1].revents & ~POLLIN) == 0, output_open};
}

std::size_t OutputPipes::output_bytes() const {
  int bytes = 0;
  return ::ioctl(output(), FIONREAD, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

base::FdPair OutputPipes::release() {
  return {output_.release(), errors_.release()};
}

void OutputPipes::Pipe::watch_by(loop::Loop& loop) {
  if (!fd || watch != nullptr) return;
  watch = std::make_unique<loop::FdWatch>(loop, fd.get(), [this](unsigned) { on_ready(); });
}

void OutputPipes::Pipe::close() {
  watch.reset();
  fd.reset();
}

base::UniqueFd OutputPipes::Pipe::release() {
  watch.reset();
  return std::move(fd);
}

}  // namespace gateway
