// What of a program's answers varies by itself (dates, tokens, pids, counters), learned from two
// answers of the classic side to one request.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compare/namespace.h"
#include "compare/text_diff.h"

namespace compare {

// A place where answers vary: what is around it, and what stood there.
struct Mask {
  // Up to three words of the line before and after with all between them, at most 64 bytes; less
  // where another place that varies is nearer. For a value alone in its line, the line before. A
  // text's begin and end count as line ends.
  std::string before, after;
  std::string form;  // "digits", "hex", "letters and digits", ..., "text": what it may hold
  std::size_t least = 0, most = 0;  // bytes of the values seen
  std::uint64_t used = 0;           // how often it explained a change
};

// What became of two texts under the masks.
enum class Match {
  same,       // the same bytes
  masked,     // all changes are where masks allow them
  different,  // there are others
};

// A value is what was changed, together with what belongs to it: all of 12:34:56 if only the
// seconds changed, all of an UUID or of a token with '+' and '/' in it. A mask is for values of one
// line, of its form, and of half the length to twice the length that was seen. Bounded: at most
// kMax masks, the least used is forgotten; and kValuesMax hashes for each of what stood there, for
// stale().
class Masks {
 public:
  static constexpr std::size_t kMax = 200;
  static constexpr std::size_t kValuesMax = 256;
  static constexpr std::size_t kPlacesMax = 1000;  // texts that differ in more are different

  // Of two answers of classic: each change becomes a mask, or makes the form of one wider.
  void learn(const TextPair& classic);

  // From here on a pair is classic's answer and the persistent side's to one request. Counts uses.
  Match match(const TextPair& pair);

  // Behind a match() that said masked: whether persistent repeats, at a masked place, a value that
  // it gave to an earlier request, although classic has never repeated one there in at least eight
  // answers. That is how a token looks that was made once and kept: another visitor's. Only values
  // that do not repeat by chance or by the clock count: at least 8 bytes with three letters, or 14
  // digits, and no memory addresses (they are the same in all workers of a zygote). The result is a
  // sentence that names the value; empty: nothing of the kind.
  std::string stale(const TextPair& pair) const;
  // What stands at masked places, for stale() of later pairs.
  void remember(const TextPair& pair);

  // persistent with classic's values wherever masks explain the change: what is left is to be
  // shown.
  std::string without_masked(const TextPair& pair) const;

  // Whether the sides differ, beyond the masks, only at places where classic differs from itself,
  // and these are at most half of its text. A place may be three bytes longer at each end, as two
  // tokens of classic may begin or end alike by chance. The first text of both pairs is the same.
  bool between(const TextPair& classic, const TextPair& pair) const;

  const std::vector<Mask>& all() const { return masks_; }
  void clear();

 private:
  // Hashes of the values that stood at a mask's place, the oldest are forgotten.
  struct Values {
    std::vector<std::uint64_t> hashes;
    std::size_t next = 0;
    bool has(std::uint64_t hash) const;
    void add(std::uint64_t hash);
  };
  struct Memory {
    Values classic, persistent;
    std::uint64_t classic_answers = 0;
    bool classic_repeats = false;
  };
  struct Seen;

  std::size_t find(const Change& place, const TextPair& pair) const;
  void learn_place(const TextPair& pair, std::size_t i);
  void add(Mask mask);
  void forget(std::size_t index);
  std::vector<Seen> seen(const TextPair& pair) const;

  std::vector<Mask> masks_;
  std::vector<Memory> memories_;  // of each of masks_
};

}  // namespace compare
