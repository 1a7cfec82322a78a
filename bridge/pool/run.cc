#include "pool/run.h"

#include <algorithm>

#include "pool/pool.h"

namespace pool {

std::chrono::seconds retry_after(const config::ProgramSettings* refused) {
  if (refused == nullptr) return std::chrono::seconds::zero();
  const auto wait = std::chrono::ceil<std::chrono::seconds>(refused->queue.timeout);
  return std::max(std::chrono::seconds(1), wait);
}

Run::Run(Pool& pool, Job job, RunClient& client) : pool_(pool), turn_(job, client, pool.now()) {
  pool_.enqueue(turn_);
}

Run::~Run() {
  pool_.leave(turn_);
}

void Run::terminate() {
  if (running()) turn_.worker()->terminate();
}

void Run::resume() {
  if (running()) turn_.worker()->resume();
}

std::chrono::microseconds Run::queue_time() const {
  return turn_.queue_time(pool_.now());
}

}  // namespace pool
