#include "pool/run.h"

#include <algorithm>

#include "pool/pool.h"

namespace pool {

std::chrono::seconds retry_after(const config::ProgramSettings* refused) {
  if (refused == nullptr) return std::chrono::seconds::zero();
  const auto wait = std::chrono::ceil<std::chrono::seconds>(refused->queue.timeout);
  return std::max(std::chrono::seconds(1), wait);
}

Run::Run(Pool& pool, Job job, RunClient& client)
    : pool_(pool), job_(job), client_(&client), since_(pool.now()) {
  pool_.enqueue(*this);
}

Run::~Run() {
  pool_.leave(*this);
}

void Run::terminate() {
  if (worker_ != nullptr) worker_->terminate();
}

void Run::resume() {
  if (worker_ != nullptr) worker_->resume();
}

std::chrono::microseconds Run::queue_time() const {
  const base::TimePoint until =
      place_ == Place::queued ? pool_.now() : std::max(started_at_, since_);
  return std::chrono::duration_cast<std::chrono::microseconds>(until - since_);
}

}  // namespace pool
