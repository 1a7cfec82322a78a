#include "pool/stand_in.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>

#include "pool/pool.h"
#include "pool/turn.h"

namespace pool {
namespace {

base::FdPair sockets() {
  auto made = base::make_socket_pair(SOCK_SEQPACKET);
  return made ? made.take() : base::FdPair{};
}

// What is executed, links followed; none unless it is the file that the worker finds there: its
// /proc is another one, and it may have folders of its own.
std::optional<router::ProgramFile> file_of(const message::Execution& execution, std::string path) {
  struct stat status = {};
  if (path.starts_with("/proc/") || ::stat(path.c_str(), &status) != 0 ||
      !S_ISREG(status.st_mode) || status.st_dev != execution.device ||
      status.st_ino != execution.inode) {
    return std::nullopt;
  }
  return router::ProgramFile{std::move(path), router::identity_of(status), {}};
}

// All of its environment comes from who executes it.
config::ProgramSettings settings_of_executed(config::ProgramSettings settings) {
  settings.env.clear();
  settings.fallback_env.clear();
  settings.interpreter.clear();
  settings.preload.clear();
  return settings;
}

}  // namespace

bool let_stand_in(const Surroundings& surroundings, const Subject& subject,
                  const config::ProgramSettings& settings, Turn& turn,
                  const message::Execution& execution) {
  if (surroundings.executed == nullptr) return false;
  const Subject what(subject.home, worker::executed_by(execution));
  const auto file = file_of(execution, what.executed->file);
  Pool* other = file ? surroundings.executed(what) : nullptr;
  if (other == nullptr) return false;
  other->refresh(settings_of_executed(settings), *file, execution.environment,
                 compare::Side::persistent);
  if (!other->warm_arm()) return false;
  const std::size_t fixed = what.executed->words.size();
  turn.let_stand_in(std::make_unique<StandIn>(turn, *other, execution, fixed));
  return true;
}

StandIn::StandIn(Turn& turn, Pool& other, const message::Execution& execution, std::size_t fixed)
    : turn_(turn),
      words_(execution.words.begin() + static_cast<std::ptrdiff_t>(fixed), execution.words.end()),
      environment_(execution.environment),
      sockets_(sockets()) {
  RunClient& self = *this;
  run_ = std::make_unique<Run>(other,
                               Job{.query_words = words_,
                                   .environment = environment_,
                                   .environment_count = execution.environment_count,
                                   .for_whom = turn.job().for_whom,
                                   .executed = true},
                               self);
}

worker::Ending StandIn::ending(const worker::Ending& own) const {
  if (!ended_) return own;
  worker::Ending ending = *ended_;
  ending.cpu += own.cpu;
  ending.peak_kib = std::max(ending.peak_kib, own.peak_kib);
  ending.keeps_streams = own.keeps_streams;
  return ending;
}

pid_t StandIn::pid_instead_of(pid_t own) const {
  if (ended_) return -1;
  return run_->running() ? run_->pid() : own;
}

// It gets those of the worker that waits.
base::Result<std::array<int, 3>> StandIn::descriptors() {
  return base::Error{"what is executed is not launched"};
}

void StandIn::on_started(compare::Arm) {
  sockets_.second.reset();
  turn_.worker()->answer_execute(std::move(sockets_.first));
}

// If it died before it had taken the descriptors, the worker that waits sees that, and executes the
// file itself.
worker::Printed StandIn::on_ended(const worker::Ending& ending) {
  ended_ = ending;
  turn_.worker()->tell_executed();
  return {};
}

void StandIn::on_refused(const cgi::Refusal&) {
  sockets_ = {};
  turn_.worker()->answer_execute({});
}

}  // namespace pool
