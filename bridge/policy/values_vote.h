// Which of several values most requests bring, since a zygote can be started with only one.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"

namespace policy {

// The zygote keeps its values as long as enough requests bring them, whoever came first. Other
// values replace them only if they come more than twice as often, and not twice within kPause. So
// nobody can take the zygote from the others without sending more requests than they do, or make it
// change all the time. Every kMemory requests all counts are halved, so that an operator's changed
// value takes effect after a few dozen of them.
class ValuesVote {
 public:
  static constexpr unsigned kMemory = 64;
  static constexpr unsigned kLeast = 8;
  static constexpr std::size_t kCandidatesMax =
      16;  // more are not told apart until some are forgotten
  static constexpr std::chrono::seconds kPause{10};

  void count_own() { count(own_); }
  // True: a zygote with these values should take over.
  bool count_other(std::string_view values, base::TimePoint now);
  // Another zygote takes over.
  void start_anew(base::TimePoint now);

 private:
  void count(unsigned& votes);

  unsigned own_ = 0;
  unsigned counted_ = 0;
  std::unordered_map<std::size_t, unsigned> others_;  // by hash of their values
  base::TimePoint not_before_{};
};

}  // namespace policy
