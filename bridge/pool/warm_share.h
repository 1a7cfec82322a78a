// How many of a program's requests really were answered by what had been made ready for them, and
// why the others were not.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pool {

// What a request found. not_at_all is none: it was answered warm.
enum class Cold {
  not_at_all,
  chosen,     // mode, split or shadow gave it to classic: no share of anything
  not_warm,   // the program had no zygote, or not yet
  no_worker,  // no worker of it was ready in time
  misfit,     // it brings another value of what the zygote read at its start
  anew,       // its worker started the program anew, as the level was wrong for it
  executed,   // its worker went over to another program, of which nothing is kept
};
constexpr std::size_t kColdKinds = 7;

// The word for it in `status --json` and in the metrics.
std::string_view to_string(Cold cold);

class WarmShare {
 public:
  void count(Cold cold) { counts_[static_cast<std::size_t>(cold)] += 1; }
  // What the last one went over to, a file's path.
  void note_executed(const std::string& path) { executed_ = path; }

  std::uint64_t counted(Cold cold) const { return counts_[static_cast<std::size_t>(cold)]; }
  std::uint64_t warm() const { return counted(Cold::not_at_all); }
  // All that were to be answered warm.
  std::uint64_t all() const;
  const std::string& executed() const { return executed_; }

  // "90 of 120 request(s); not: 20 no worker was ready, 10 executed /usr/bin/mandoc". Empty as long
  // as all of them were.
  std::string describe() const;

 private:
  std::array<std::uint64_t, kColdKinds> counts_{};
  std::string executed_;
};

}  // namespace pool
