#include "pool/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/process_memory.h"
#include "policy/recycling.h"
#include "policy/retirements.h"

namespace pool {
namespace {

constexpr std::chrono::seconds kYoung{1};

bool too_much_memory(const Place& place, const config::ProgramSettings::Workers& limits) {
  return limits.max_memory > 0 &&
         base::has_more_than(place.worker->pid(), limits.max_memory / base::kKiB);
}

// What execve(2) replaces: the file, and the start of the stack, which is different after each
// execve().
struct Image {
  std::string file;
  std::string stack;
  bool operator==(const Image&) const = default;
};

// proc(5): startstack is the 28th field of stat, 25 fields after the name's closing parenthesis.
Image image_of(pid_t pid) {
  const std::filesystem::path folder = fmt::format("/proc/{}", pid);
  std::error_code ignored;
  Image image{std::filesystem::read_symlink(folder / "exe", ignored), {}};
  std::ifstream stat(folder / "stat");
  std::string text;
  std::getline(stat, text);
  std::istringstream words(text.substr(std::min(text.rfind(')') + 1, text.size())));
  for (int word = 3; word <= 28 && words >> image.stack; ++word) {
  }
  return image;
}

}  // namespace

std::string executed_instead(pid_t pid, pid_t zygote) {
  const Image now = image_of(pid), then = image_of(zygote);
  return now.file.empty() || then.file.empty() || now == then ? std::string() : now.file;
}

compare::Arm arm_of(config::Reset reset) {
  switch (reset) {
    case config::Reset::rewind:
      return compare::Arm::rewind;
    case config::Reset::none:
      return compare::Arm::none;
    case config::Reset::fork:
      break;
  }
  return compare::Arm::fork;
}

bool exits_after_request(compare::Arm arm) {
  return arm == compare::Arm::classic || arm == compare::Arm::fork;
}

std::optional<Replacement> replacement_of(const Place& place,
                                          const config::ProgramSettings::Workers& limits,
                                          base::TimePoint now) {
  const auto age = base::milliseconds_between(place.born, now);
  switch (policy::worn_out(place.worker->id(), limits, place.worker->served(), age)) {
    case policy::WornOut::by_requests:
      return Replacement{policy::kRetiredMaxRequests,
                         fmt::format("{} requests (workers.max_requests is {})",
                                     place.worker->served(), limits.max_requests)};
    case policy::WornOut::by_age:
      return Replacement{policy::kRetiredMaxAge, fmt::format("{} ms old (workers.max_age is {} ms)",
                                                             age.count(), limits.max_age.count())};
    case policy::WornOut::no:
      break;
  }
  if (!place.heavy || !too_much_memory(place, limits)) return std::nullopt;
  return Replacement{
      policy::kRetiredMaxMemory,
      fmt::format("more than {} bytes of memory (workers.max_memory)", limits.max_memory)};
}

void look_at_memory(Place& place, const config::ProgramSettings::Workers& limits) {
  const bool idle = place.worker->state() == worker::WorkerState::idle;
  const bool keeps = place.arm == compare::Arm::none;
  if (idle || (keeps && place.worker->state() == worker::WorkerState::busy)) {
    place.heavy = too_much_memory(place, limits);
  }
}

bool died_young(const worker::Worker& worker, base::TimePoint now) {
  return worker.served() == 0 && now - worker.idle_since() < kYoung;
}

}  // namespace pool
