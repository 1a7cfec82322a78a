#include "worker/ahead_starter.h"

#include <algorithm>

#include "base/assert.h"

namespace worker {

AheadStarter::AheadStarter(loop::Loop& loop, config::Reset reset, Make make, StarterOwner& owner,
                           StarterClient& client)
    : make_(std::move(make)), owner_(owner), client_(client), reset_(reset), sweep_(loop, [this] {
        sweep();
      }) {}

base::Status AheadStarter::start(const WarmProgram& program) {
  program_ = program;
  return launch(std::nullopt);
}

base::Status AheadStarter::launch(std::optional<Ahead::Worker> worker) {
  auto owned = std::make_unique<Ahead>(*this);
  Ahead& ahead = *owned;
  ahead.worker = std::move(worker);
  ahead.process = make_(ahead);
  const auto started = ahead.process->start(program_);
  if (started) ahead_.push_back(std::move(owned));
  return started;
}

base::Status AheadStarter::fork_worker(std::uint64_t worker_id, base::UniqueFd channel_end) {
  BRIDGE_ASSERT(ready_);
  const auto standing = std::ranges::find_if(
      ahead_, [](const auto& ahead) { return !ahead->over && !ahead->worker && ahead->stands; });
  if (standing == ahead_.end()) {
    auto launched = launch(Ahead::Worker{worker_id, std::move(channel_end)});
    if (!launched) client_.on_fork_failed(worker_id, launched.error().message);
    return launched;
  }
  (*standing)->worker = Ahead::Worker{worker_id, std::move(channel_end)};
  become(**standing);
  return base::Done{};
}

base::Status AheadStarter::verify_worker(std::uint64_t, pid_t) {
  return base::Error{"it has no zygote to be compared with"};
}

pid_t AheadStarter::pid() const {
  for (const auto& ahead : ahead_) {
    if (!ahead->over && !ahead->worker) return ahead->process->pid();
  }
  return -1;
}

void AheadStarter::on_standing(Ahead& ahead) {
  ahead.stands = true;
  if (ahead.worker) return become(ahead);
  ready_ = true;
  level_ = ahead.process->level();
  reset_ = ahead.process->reset();
  reset_reason_ = ahead.process->reset_reason();
  start_time_ = ahead.process->start_time();
  owner_.on_ready();
}

// Only the channel of a dying process refuses this; the worker's own channel then breaks, too.
void AheadStarter::become(Ahead& ahead) {
  (void)ahead.process->become_worker(ahead.worker->id, std::move(ahead.worker->channel_end));
  ahead.over = true;
  sweep_.schedule();
}

void AheadStarter::on_gone(Ahead& ahead, const std::string& why) {
  ahead.over = true;
  sweep_.schedule();
  if (ahead.worker) {
    const std::uint64_t id = ahead.worker->id;
    ahead.worker.reset();  // its channel ends
    client_.on_fork_failed(id, why);
  } else if (!ready_) {
    owner_.on_gone(why);
  }
}

void AheadStarter::sweep() {
  std::erase_if(ahead_, [](const auto& ahead) { return ahead->over; });
}

}  // namespace worker
