// What a program's requests load, learned for its next generation.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "modules/learned.h"

namespace modules {

// One per pool. Each name is looked at once: a file system that is slow, or a worker that names
// many, costs no more. What is not believed, and when there are too many, the log says.
class Learner {
 public:
  static constexpr std::size_t kNamesMax = 1000;
  // For what was learned of one version of a program; then what it has not named is loaded by its
  // requests.
  static constexpr unsigned kGenerationsMax = 5;
  // A generation for at least so many new names is not counted: a request names what its channel
  // takes at once, on a busy machine a few hundred of a thousand.
  static constexpr std::size_t kManyNames = 100;

  // What a word of a worker's is judged by.
  struct Terms {
    worker::Language language;
    const std::vector<std::string>& folders;  // where its interpreter looks for modules
    config::Learn learn;
    const limits::Identity& user;  // whom it runs as
  };

  // program names it in the log; outlives this.
  explicit Learner(const std::string& program) : program_(program) {}

  // A NOTE_LOADED's text. Whether a name was learned that was not known.
  bool hear(std::string_view text, const Terms& terms);
  // What another bridge has learned of it.
  void inherit(const std::vector<std::string>& names);

  std::vector<std::string> names() const { return {names_.begin(), names_.end()}; }

  // Whether a generation should be begun for what was learned since the last one.
  bool wants_generation() const { return has_more_ && generations_ < kGenerationsMax; }
  // One was begun for it.
  void count_generation() {
    if (names_.size() < names_before_ + kManyNames) ++generations_;
    names_before_ = names_.size();
  }
  void generation_begins() { has_more_ = false; }

  // The program's file is another one.
  enum class Names { stay, go };
  void begin_anew(Names names);

 private:
  const std::string& program_;
  std::set<std::string> names_, not_believed_;
  unsigned generations_ = 0;
  std::size_t names_before_ = 0;  // when the last one was begun for them
  bool has_more_ = false;
};

}  // namespace modules
