// How many of a program's requests were really answered warm, and why the others were not.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pool {

// What a request met. not_at_all: not cold, it was answered warm.
enum class Cold {
  not_at_all,
  chosen,     // mode, split or shadow chose classic: not counted in any share
  not_warm,   // the program had no zygote, or not yet
  no_worker,  // none of its workers was ready in time
  misfit,     // it brings another value for a variable that the zygote read at its start
  anew,       // its worker started the program again, because the level was wrong for it
  executed,   // its worker executed another program, and no warm one took its place
};
constexpr std::size_t kColdKinds = 7;

// The word for it in `status --json` and in the metrics.
std::string_view to_string(Cold cold);

class WarmShare {
 public:
  void count(Cold cold) { counts_[static_cast<std::size_t>(cold)] += 1; }
  // path: the file that the last such request executed.
  void note_executed(const std::string& path) { executed_ = path; }

  std::uint64_t counted(Cold cold) const { return counts_[static_cast<std::size_t>(cold)]; }
  std::uint64_t warm() const { return counted(Cold::not_at_all); }
  // All requests that should have been answered warm.
  std::uint64_t all() const;
  const std::string& executed() const { return executed_; }

  // "90 of 120 request(s); not: 20 no worker was ready, 10 executed /usr/bin/mandoc". Empty as long
  // as all were answered warm.
  std::string describe() const;

 private:
  std::array<std::uint64_t, kColdKinds> counts_{};
  std::string executed_;
};

}  // namespace pool
