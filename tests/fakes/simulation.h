// The base of every simulation: random events one after another, and the first problem that was
// found.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <initializer_list>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "fakes/processes.h"
#include "fakes/seeds.h"

namespace fakes {

class Simulation {
 public:
  virtual ~Simulation() = default;
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // Runs until this many events have happened, or something is wrong.
  void run(unsigned events) {
    for (unsigned event = 1; event <= events && wrong_.empty(); ++event) {
      const std::string what = step();
      let_pass(pause());
      check();
      if (!wrong_.empty()) wrong_ += " (after event " + std::to_string(event) + ": " + what + ")";
      if (event % 64 == 0) forget_what_is_over();
    }
    if (wrong_.empty()) come_to_rest();
  }

  // Empty if all invariants held.
  const std::string& wrong() const { return wrong_; }
  // What happened, and how often, to show that the simulation exercised it.
  const std::map<std::string, std::uint64_t>& seen() const { return seen_; }

 protected:
  explicit Simulation(std::uint64_t seed) : random_(seed) {}

  // Makes something happen, and describes it in words.
  virtual std::string step() = 0;
  // The time until the next event.
  virtual base::Duration pause() = 0;
  // Checks the invariants that must hold after each event.
  virtual void check() = 0;
  virtual void forget_what_is_over() = 0;
  // No more visitors come: everything ends, and nothing may be left.
  virtual void come_to_rest() = 0;
  // Its world: lets time pass there (false: something wakes itself for ever), and has processes.
  virtual bool advance(base::TimePoint::duration time) = 0;
  virtual Processes& processes() = 0;

  unsigned upto(unsigned most) { return std::uniform_int_distribution<unsigned>(0, most)(random_); }
  bool one_in(unsigned n) { return upto(n - 1) == 0; }
  template <typename T>
  T& any(std::vector<T>& of) {
    return of[upto(static_cast<unsigned>(of.size() - 1))];
  }

  void tell(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }
  void let_pass(base::TimePoint::duration time) {
    if (!advance(time)) tell("it never comes to rest");
  }

  std::vector<Process*> living() {
    std::vector<Process*> found;
    for (const auto& process : processes().all()) {
      if (process->lives()) found.push_back(process.get());
    }
    return found;
  }
  std::string kill_one() {
    auto all = living();
    if (all.empty()) return "nothing";
    any(all)->die(one_in(2) ? SIGKILL : kExited1);
    return "a process dies";
  }

  std::map<std::string, std::uint64_t> seen_;

 private:
  std::mt19937_64 random_;
  std::string wrong_;
};

// Plays the seeds that the environment names, or the default ones. comes_to: what at least one seed
// must have seen.
template <typename Played>
void play(std::initializer_list<const char*> comes_to) {
  const Seeds seeds;
  std::map<std::string, std::uint64_t> seen;
  for (unsigned seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    Played simulation(seed);
    simulation.run(seeds.events);
    ASSERT_EQ(simulation.wrong(), "") << seeds.again(seed);
    for (const auto& [what, count] : simulation.seen()) seen[what] += count;
  }
  for (const char* what : comes_to) {
    EXPECT_GT(seen[what], 0u) << what << ": the simulation does not come to it";
  }
}

}  // namespace fakes
