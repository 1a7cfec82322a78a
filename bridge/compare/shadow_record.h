// What the shadow of a program has found so far.
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

// Why a request was not repeated on the other side, though its share was drawn.
enum class Skip {
  method,    // not one of shadow.methods
  body,      // larger than Shadow::body_max
  answer,    // larger than Shadow::answer_max
  busy,      // Shadow::queue were waiting already
  not_warm,  // the other side was not there
  failed,    // classic's own answer was none (an error of the bridge, a client that left)
};
inline constexpr std::size_t kSkips = 6;
inline constexpr std::array<std::string_view, kSkips> kSkipNames = {"method", "body",     "answer",
                                                                    "busy",   "not_warm", "failed"};

// One difference, for people.
struct Difference {
  std::uint64_t id = 0;      // counts from 1
  std::int64_t unix_ms = 0;  // when, wall clock
  Arm arm = Arm::rewind;     // that differed from classic
  std::string method, uri;
  std::string what;  // "status", "exit code", "head", "body", "a value that was used before"
  std::string diff;  // unified, at most kDiffMax bytes
};

// What to do after the first look at a pair.
enum class Look {
  done,           // equal, or equal under the masks
  needs_control,  // not equal: run classic once more, then conclude()
};

// What is known of a request beside its answers.
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

  // kept_max: how many differences are kept, the newest; more are only counted.
  void keep(std::size_t kept_max) { kept_max_ = kept_max; }

  void skipped(Skip skip) { ++skips_[std::size_t(skip)]; }
  // Looks at a pair for the first time. A control is asked for when they differ beyond the masks,
  // when a value was used before, and for each pair until two were concluded, so that what varies
  // is known early. Nothing is counted then before conclude().
  Look look(const Subject& subject, const Answer& classic, const Answer& persistent);
  // Behind needs_control: control is classic's second answer. What differs between classic and it
  // becomes a mask. It is a difference if persistent is then neither like classic nor like control,
  // and not only where these two differ from each other, nor has the same words in another order,
  // as these two have (a hash whose order is drawn anew in each process). True: it was one. The
  // masks of the pair do not hide it: its diff is of what they do not explain.
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
