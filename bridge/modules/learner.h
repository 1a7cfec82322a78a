// What a program's requests load, learned for its next generation.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "modules/learned.h"

namespace modules {

// One per pool. Each name is examined once: a slow file system, or a worker that names many
// modules, costs no more than that. Names that are not accepted are logged, and so is reaching
// kNamesMax.
class Learner {
 public:
  static constexpr std::size_t kNamesMax = 1000;
  // How many generations may be begun for what was learned about one version of a program. After
  // that, requests load what the last generation does not load in advance.
  static constexpr unsigned kGenerationsMax = 5;
  // A generation begun for at least this many new names does not count towards that limit: one
  // request names only what its channel takes at once, on a busy machine a few hundred out of a
  // thousand.
  static constexpr std::size_t kManyNames = 100;

  // What a worker's word is judged by.
  struct Terms {
    worker::Language language;
    const std::vector<std::string>& folders;  // where its interpreter looks for modules
    config::Learn learn;
    const limits::Identity& user;  // the user that it runs as
  };

  // program is its name in the log; it must outlive this object.
  explicit Learner(const std::string& program) : program_(program) {}

  // Takes a NOTE_LOADED's text. Returns whether it named a module that was not known.
  bool hear(std::string_view text, const Terms& terms);
  // Takes over what another bridge has learned about the program.
  void inherit(const std::vector<std::string>& names);

  // In the order in which they were heard: adapters name them as requests loaded them.
  const std::vector<std::string>& names() const { return names_; }

  // Whether a new generation should be begun for what was learned since the last one.
  bool wants_generation() const { return has_more_ && generations_ < kGenerationsMax; }
  // A generation was begun for it.
  void count_generation() {
    if (names_.size() < names_before_ + kManyNames) ++generations_;
    names_before_ = names_.size();
  }
  void generation_begins() { has_more_ = false; }

  // The program's file has changed. Names::stay: the names learned are kept; go: they are
  // forgotten.
  enum class Names { stay, go };
  void begin_anew(Names names);

 private:
  void add(const std::string& name);

  const std::string& program_;
  std::vector<std::string> names_;
  std::unordered_set<std::string> known_;  // names_ again
  std::unordered_set<std::string> not_believed_;
  unsigned generations_ = 0;
  std::size_t names_before_ = 0;  // when a generation was last begun for them
  bool has_more_ = false;
};

}  // namespace modules
