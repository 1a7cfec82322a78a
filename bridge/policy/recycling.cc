#include "policy/recycling.h"

namespace policy {
namespace {

// splitmix64: neighbouring ids get unrelated fractions.
std::uint64_t scattered(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// Takes off only whole units, so a limit of a few requests stays exact.
template <typename Number>
Number reduced(Number limit, double part) {
  return limit - static_cast<Number>(static_cast<double>(limit) * (1.0 - part));
}

}  // namespace

double part_of_limits(std::uint64_t worker_id) {
  const double draw = static_cast<double>(scattered(worker_id) >> 11) / 9007199254740992.0;  // 2^53
  return 1.0 - kRecycleSpread * draw;
}

unsigned own_max_requests(std::uint64_t worker_id, const config::ProgramSettings::Workers& limits) {
  return reduced(limits.max_requests, part_of_limits(worker_id));
}

base::Duration own_max_age(std::uint64_t worker_id,
                           const config::ProgramSettings::Workers& limits) {
  return base::Duration(reduced(limits.max_age.count(), part_of_limits(worker_id)));
}

WornOut worn_out(std::uint64_t worker_id, const config::ProgramSettings::Workers& limits,
                 std::uint64_t served, base::Duration age) {
  if (limits.max_requests > 0 && served >= own_max_requests(worker_id, limits)) {
    return WornOut::by_requests;
  }
  if (limits.max_age.count() > 0 && age >= own_max_age(worker_id, limits)) return WornOut::by_age;
  return WornOut::no;
}

}  // namespace policy
