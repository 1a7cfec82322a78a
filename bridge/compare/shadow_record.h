// What a program's shadow has found so far.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "compare/answer.h"
#include "compare/arm.h"
#include "compare/masks.h"
#include "compare/namespace.h"

namespace compare {

// Why a request was not repeated on the other side although it was drawn for that.
enum class Skip {
  method,    // not one of shadow.methods
  body,      // larger than Shadow::body_max
  answer,    // larger than Shadow::answer_max
  busy,      // Shadow::queue requests were already waiting
  not_warm,  // the other side was not there
  failed,    // classic gave no answer (an error of the bridge, a client that left)
};
inline constexpr std::size_t kSkips = 6;
inline constexpr std::array<std::string_view, kSkips> kSkipNames = {"method", "body",     "answer",
                                                                    "busy",   "not_warm", "failed"};

// One difference, to show to people.
struct Difference {
  std::uint64_t id = 0;      // counts from 1
  std::int64_t unix_ms = 0;  // when, wall clock
  Arm arm = Arm::rewind;     // the one that differed from classic
  std::string method, uri;
  std::string what;  // "status", "exit code", "head", "body", "a value that was used before"
  std::string diff;  // unified, at most kDiffMax bytes
};

// What to do after the first look at a pair.
enum class Look {
  done,           // equal, or equal under the masks
  needs_control,  // not equal: run classic once more, then conclude()
};

// What is known about a request besides its answers.
struct Subject {
  std::int64_t unix_ms = 0;
  Arm arm = Arm::rewind;
  std::string_view method, uri;
};

// Owned by its program's Comparison.
class ShadowRecord {
 public:
  static constexpr std::size_t kDiffMax = 16 * 1024;
  static constexpr std::size_t kUriMax = 2048;  // of a difference's uri

  // kept_max: how many differences are kept (the newest); others are only counted.
  void keep(std::size_t kept_max) { kept_max_ = kept_max; }

  void skipped(Skip skip) { ++skips_[std::size_t(skip)]; }
  // Looks at a pair for the first time. A control is asked for if they differ beyond the masks, if
  // a value was used before, and for every pair until two were concluded, so that varying places
  // are known early. In these cases nothing is counted before conclude().
  Look look(const Subject& subject, const Answer& classic, const Answer& persistent);
  // After needs_control: control is classic's second answer. What differs between classic and
  // control becomes a mask. The pair is then different unless persistent matches classic or
  // control, or differs only where these two differ from each other, or has the same words in
  // another order just as these two have (a hash with a new random order in each process). Returns
  // true if it is different. The pair's masks do not hide that: the diff shows what they do not
  // explain.
  bool conclude(const Subject& subject, const Answer& classic, const Answer& persistent,
                const Answer& control);

  std::uint64_t compared() const { return same_ + masked_ + different_; }
  std::uint64_t same() const { return same_; }
  std::uint64_t masked() const { return masked_; }
  std::uint64_t different() const { return different_; }
  std::uint64_t skips(Skip skip) const { return skips_[std::size_t(skip)]; }
  const std::deque<Difference>& differences() const { return differences_; }  // newest last
  const Masks& head_masks() const { return head_; }
  const Masks& body_masks() const { return body_; }

 private:
  struct Pair;

  Match held_against(const Pair& pair);
  bool settle(const Subject& subject, Match match, const Pair& pair);
  std::string stale(const Pair& pair) const;
  void count(Match match, const Pair& pair);
  bool note_difference(const Subject& subject, const Pair& pair);
  bool note(const Subject& subject, std::string_view what, std::string diff);

  Masks head_, body_;
  std::uint64_t controls_ = 0, same_ = 0, masked_ = 0, different_ = 0, ids_ = 0;
  std::array<std::uint64_t, kSkips> skips_{};
  std::size_t kept_max_ = 20;
  std::deque<Difference> differences_;
};

}  // namespace compare
