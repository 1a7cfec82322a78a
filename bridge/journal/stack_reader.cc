#include "journal/stack_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <vector>

#include "base/own_parts.h"
#include "worker/launch.h"

namespace journal {

std::string stack_reader_path() {
  constexpr const char* kName = "cgibridge-stack";
  return (base::own_folder_with(kName, {".", "../lib/cgibridge"}) / kName).string();
}

StackReader::StackReader(loop::Loop& loop, worker::Processes& processes,
                         std::function<void(const std::string&)> on_over)
    : loop_(loop), processes_(processes), on_over_(std::move(on_over)), patience_(loop, [this] {
        text_ += "the reader did not come to its end in time\n";
        finish();
      }) {}

StackReader::~StackReader() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  processes_.forget(pid_);
}

base::Status StackReader::start(pid_t program, const std::string& file) {
  auto pipe = base::make_pipe(base::NonblockingEnd::reading);
  if (!pipe) return pipe.error();
  const base::UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nothing) return base::errno_error("/dev/null", errno);
  const std::string cwd = "/";
  const std::vector<std::string> argv{file, std::to_string(program)};
  auto started = processes_.launch({.file = file,
                                    .argv = argv,
                                    .environment = {},
                                    .environment_count = 0,
                                    .cwd = cwd,
                                    .stdin_fd = nothing.get(),
                                    .stdout_fd = pipe.value().second.get(),
                                    .stderr_fd = pipe.value().second.get()});
  if (!started) return started.error();
  pid_ = started.value();
  processes_.expect(pid_, [this](const worker::Death&) {
    pid_ = -1;
    read();
    finish();
  });
  fd_ = std::move(pipe.value().first);
  watch_ = std::make_unique<loop::FdWatch>(loop_, fd_.get(), [this](unsigned) { read(); });
  watch_->ask(loop::kReadable);
  patience_.start(kPatience);
  return base::Done{};
}

void StackReader::read() {
  char bytes[16384];
  for (;;) {
    const ssize_t got = ::read(fd_.get(), bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      if (got == 0 || errno != EAGAIN) watch_->ask(loop::kNothing);
      return;
    }
    const std::size_t room = kTextBytesMax - std::min(text_.size(), kTextBytesMax);
    text_.append(bytes, std::min(static_cast<std::size_t>(got), room));
  }
}

void StackReader::finish() {
  if (over_) return;
  over_ = true;
  patience_.stop();
  watch_->ask(loop::kNothing);
  on_over_(text_);
}

}  // namespace journal
