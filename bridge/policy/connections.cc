#include "policy/connections.h"

#include <algorithm>

namespace policy {
namespace {

// Listeners, epoll and inotify instances, logs, the control socket and its clients.
constexpr std::size_t kOwnDescriptors = 40;
// A worker has its channel, its pidfd, its standard error. One that runs also has two more pipes, a
// body's pipe, a spooled body, and the same again for a shadow or a run whose client has left.
constexpr std::size_t kPerWorker = 10;
constexpr std::size_t kPerZygote = 3;
// Used if no limit is set: at most, and as few as the others' room is kept for.
constexpr std::size_t kManyWorkers = 4096;
constexpr std::size_t kSomeWorkers = 64;
constexpr unsigned kFewestConnections = 4;

}  // namespace

std::vector<std::size_t> connections_to_close(const std::vector<ConnectionView>& connections,
                                              const ConnectionRules& rules, base::TimePoint now) {
  std::vector<std::size_t> chosen, resting;
  for (std::size_t i = 0; i < connections.size(); ++i) {
    const auto age = now - connections[i].since;
    if (connections[i].use == ConnectionUse::unfinished && age >= rules.patience) {
      chosen.push_back(i);
    } else if (connections[i].use == ConnectionUse::idle && age >= rules.at_rest_at_least) {
      resting.push_back(i);
    }
  }
  if (connections.size() - chosen.size() < rules.max) return chosen;
  const std::size_t room = std::min(resting.size(), std::max<std::size_t>(1, rules.max / 8));
  std::ranges::partial_sort(resting, resting.begin() + static_cast<std::ptrdiff_t>(room), {},
                            [&](std::size_t i) { return connections[i].since; });
  chosen.insert(chosen.end(), resting.begin(), resting.begin() + static_cast<std::ptrdiff_t>(room));
  return chosen;
}

DescriptorUsers fit_descriptors(std::size_t limit, const DescriptorUsers& asked) {
  const std::size_t there = limit > kOwnDescriptors ? limit - kOwnDescriptors : 0;
  const std::size_t others = asked.connections_max + asked.zygotes_max * kPerZygote;
  std::size_t workers = asked.workers_max;
  if (workers == 0) {
    const std::size_t room = there > others ? (there - others) / kPerWorker : 0;
    const std::size_t fewest = std::max<std::size_t>(kSomeWorkers, asked.zygotes_max);
    workers = std::clamp(room, fewest, std::max(fewest, kManyWorkers));
  }
  const std::size_t wanted = others + workers * kPerWorker;
  if (wanted <= there) {
    auto fitting = asked;
    if (workers < kManyWorkers) fitting.workers_max = static_cast<unsigned>(workers);
    return fitting;
  }
  const auto less = [&](std::size_t count) {
    return static_cast<unsigned>(count * there / wanted);
  };
  return {.connections_max = std::min(asked.connections_max,
                                      std::max(kFewestConnections, less(asked.connections_max))),
          .workers_max = std::max(1U, less(workers)),
          .zygotes_max = less(asked.zygotes_max)};
}

bool is_less(const DescriptorUsers& fitting, const DescriptorUsers& asked) {
  return fitting.connections_max < asked.connections_max ||
         fitting.zygotes_max < asked.zygotes_max || fitting.workers_max < asked.workers_max;
}

}  // namespace policy
