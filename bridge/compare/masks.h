// The parts of a program's answers that vary by themselves (dates, tokens, pids, counters), learned
// from two answers of the classic side to one request.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compare/namespace.h"
#include "text/text_diff.h"

namespace compare {

// A place where answers vary: the text around it, and what was seen there.
struct Mask {
  // Up to three words of the line before and after, with everything between them, at most 64 bytes;
  // less if another varying place is nearer. For a value alone in its line, the line before it. The
  // beginning and the end of a text count as line ends.
  std::string before, after;
  std::string form;  // what it may contain: "digits", "hex", "letters and digits", ..., "text"
  std::size_t least = 0, most = 0;  // bytes of the values seen
  std::uint64_t used = 0;           // how often it explained a change
};

// The result of comparing two texts under the masks.
enum class Match {
  same,       // the same bytes
  masked,     // masks allow all changes
  different,  // there are other changes
};

// A value is what has changed, together with what belongs to it: all of 12:34:56 if only the
// seconds changed, all of a UUID or of a token with '+' and '/' in it. A mask matches values within
// one line, of its form, and of half to twice the length that was seen. Bounded: at most kMax
// masks, of which the least used is forgotten, and for each mask kValuesMax hashes of the values
// seen there, for stale().
class Masks {
 public:
  static constexpr std::size_t kMax = 200;
  static constexpr std::size_t kValuesMax = 256;
  static constexpr std::size_t kPlacesMax = 1000;  // texts that differ in more places are different

  // Learns from two answers of classic: each change becomes a mask, or widens the form of one.
  void learn(const text::TextPair& classic);

  // In the functions below, a pair is classic's answer and the persistent side's to one request.
  // match() counts how often masks are used.
  Match match(const text::TextPair& pair);

  // After a match() that returned masked: whether persistent repeats, at a masked place, a value
  // that it gave to an earlier request, although classic has never repeated one there in at least
  // eight answers. This is the sign of a token that was made once and kept: another visitor's. Only
  // values that do not repeat by chance or because of the clock count: at least 8 bytes with three
  // letters, or 14 digits, and no memory addresses (these are the same in all workers of a zygote).
  // The result is a sentence that names the value; empty: no value repeats.
  std::string stale(const text::TextPair& pair) const;
  // Remembers the values at masked places, for stale() with later pairs.
  void remember(const text::TextPair& pair);

  // persistent, with classic's values wherever masks explain the change: the remaining changes are
  // those to show.
  std::string without_masked(const text::TextPair& pair) const;

  // Whether the sides differ, beyond the masks, only at places where classic differs from itself,
  // and these are at most half of its text. A place may be three bytes longer at each end, because
  // two tokens of classic may begin or end alike by chance. Both pairs have the same first text.
  bool between(const text::TextPair& classic, const text::TextPair& pair) const;

  const std::vector<Mask>& all() const { return masks_; }
  void clear();

 private:
  // Hashes of the values seen at a mask's place; the oldest are forgotten first.
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

  std::size_t find(const text::Change& place, const text::TextPair& pair) const;
  void learn_place(const text::TextPair& pair, std::size_t i);
  void add(Mask mask);
  void forget(std::size_t index);
  std::vector<Seen> seen(const text::TextPair& pair) const;

  std::vector<Mask> masks_;
  std::vector<Memory> memories_;  // one for each of masks_
};

}  // namespace compare
