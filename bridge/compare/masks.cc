#include "compare/masks.h"

#include <algorithm>
#include <array>
#include <functional>

namespace compare {
namespace {

constexpr std::size_t kNone = std::string::npos;
constexpr std::size_t kValueMax = 512;
constexpr std::size_t kContextMax = 64;
constexpr std::size_t kContextWords = 3;
constexpr std::uint64_t kAnswersBeforeStale = 8;
constexpr std::ptrdiff_t kAlike = 8;  // this many masks may be replaced by one with less context
// How many bytes at the beginning or end of two values may be alike by chance: two tokens may both
// begin with "-", or end with "-A".
constexpr std::size_t kAlikeByChance = 3;

// The kinds of bytes in a value, as bits.
constexpr unsigned kDigit = 1, kHexLetter = 2, kLetter = 4, kMark = 8, kOther = 16, kNewline = 32;

struct Form {
  std::string_view name;
  unsigned bits;
};
// The narrower forms first.
constexpr std::array<Form, 7> kForms = {{
    {"digits", kDigit},
    {"hex", kDigit | kHexLetter},
    {"letters and digits", kDigit | kHexLetter | kLetter},
    {"digits and marks", kDigit | kMark},
    {"hex and marks", kDigit | kHexLetter | kMark},
    {"letters, digits and marks", kDigit | kHexLetter | kLetter | kMark},
    {"text", kDigit | kHexLetter | kLetter | kMark | kOther},
}};

bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

unsigned bits_of(std::string_view value) {
  unsigned bits = 0;
  for (char byte : value) {
    bool hex = (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
    bool ascii = static_cast<unsigned char>(byte) < 0x80;
    bits |= is_digit(byte)                      ? kDigit
            : hex                               ? kHexLetter
            : text::is_word_byte(byte) && ascii ? kLetter
            : text::is_mark(byte)               ? kMark
            : byte == '\n'                      ? kNewline
                                                : kOther;
  }
  return bits;
}

// The narrowest form for these bytes, which are within one line.
const Form& form_for(unsigned bits) {
  return *std::find_if(kForms.begin(), kForms.end(),
                       [bits](const Form& form) { return (bits & ~form.bits) == 0; });
}

unsigned bits_named(std::string_view name) {
  auto form = std::find_if(kForms.begin(), kForms.end(),
                           [name](const Form& one) { return one.name == name; });
  return form->bits;
}

std::string_view a_value(const text::Change& place, std::string_view a) {
  return a.substr(place.a_begin, place.a_end - place.a_begin);
}
std::string_view b_value(const text::Change& place, std::string_view b) {
  return b.substr(place.b_begin, place.b_end - place.b_begin);
}

bool fits(const Mask& mask, std::string_view value) {
  bool form = (bits_of(value) & ~bits_named(mask.form)) == 0;
  return form && value.size() >= mask.least / 2 && value.size() <= 2 * mask.most + 2;
}

// The text before a place: three words, or fewer if floor comes first, or the beginning of the line
// that is more_lines lines before the place's own.
std::string context_before(std::string_view text, std::size_t end, std::size_t floor,
                           unsigned more_lines) {
  std::size_t begin = end, words = 0;
  while (words < kContextWords) {
    if (begin == 0) return '\n' + std::string(text.substr(0, end));
    if (begin == floor) break;
    std::size_t next = begin - 1;
    bool word = text::is_word_byte(text[next]);
    while (word && next > floor && text::is_word_byte(text[next - 1])) --next;
    if (end - next > kContextMax) break;
    begin = next;
    words += word;
    if (text[begin] == '\n' && more_lines-- == 0) break;
  }
  return std::string(text.substr(begin, end - begin));
}

// The text after a place in its line, up to limit.
std::string context_behind(std::string_view text, std::size_t begin, std::size_t limit) {
  std::size_t end = begin, words = 0;
  while (words < kContextWords && !text.substr(begin, end - begin).ends_with('\n')) {
    if (end == text.size()) return std::string(text.substr(begin)) + '\n';
    if (end == limit) break;
    std::size_t next = end + 1;
    bool word = text::is_word_byte(text[end]);
    while (word && next < limit && text::is_word_byte(text[next])) ++next;
    if (next - begin > kContextMax) break;
    end = next;
    words += word;
  }
  return std::string(text.substr(begin, end - begin));
}

// How many equal marks precede both places, at most `most`.
std::size_t marks_before(std::string_view a, std::size_t a_end, std::string_view b,
                         std::size_t b_end, std::size_t most) {
  std::size_t count = 0;
  while (count < most && count < a_end && count < b_end && text::is_mark(a[a_end - count - 1]) &&
         a[a_end - count - 1] == b[b_end - count - 1]) {
    ++count;
  }
  return count;
}

std::size_t marks_behind(std::string_view a, std::size_t a_begin, std::string_view b,
                         std::size_t b_begin, std::size_t most) {
  std::size_t count = 0;
  while (count < most && a_begin + count < a.size() && b_begin + count < b.size() &&
         text::is_mark(a[a_begin + count]) && a[a_begin + count] == b[b_begin + count]) {
    ++count;
  }
  return count;
}

bool has_word(std::string_view text) {
  return std::any_of(text.begin(), text.end(), text::is_word_byte);
}

// The mask with only one word of context on each side.
Mask shortened(Mask mask) {
  std::string_view before = mask.before, after = mask.after;
  while (!before.empty() && !text::is_word_byte(before.back())) before.remove_suffix(1);
  while (!before.empty() && text::is_word_byte(before.back())) before.remove_suffix(1);
  std::size_t end = 0;
  while (end < after.size() && !text::is_word_byte(after[end])) ++end;
  while (end < after.size() && text::is_word_byte(after[end])) ++end;
  if (has_word(mask.before)) mask.before.erase(0, before.size());
  mask.after.resize(end);
  return mask;
}

// Whether wide explains everything that narrow explains.
bool covers(const Mask& wide, const Mask& narrow) {
  return narrow.before.ends_with(wide.before) && narrow.after.starts_with(wide.after) &&
         (bits_named(narrow.form) & ~bits_named(wide.form)) == 0;
}

bool stands_before(std::string_view context, std::string_view text, std::size_t end) {
  std::string_view before = text.substr(0, end);
  if (context.starts_with('\n') && before == context.substr(1)) return true;
  if (!before.ends_with(context)) return false;
  std::size_t rest = before.size() - context.size();
  bool cut = !context.empty() && rest > 0 && text::is_word_byte(context[0]) &&
             text::is_word_byte(text[rest - 1]);
  return !cut;
}

bool stands_behind(std::string_view context, std::string_view text, std::size_t begin) {
  std::string_view behind = text.substr(begin);
  if (context.ends_with('\n') && behind == context.substr(0, context.size() - 1)) return true;
  if (!behind.starts_with(context)) return false;
  bool cut = !context.empty() && behind.size() > context.size() &&
             text::is_word_byte(context.back()) && text::is_word_byte(behind[context.size()]);
  return !cut;
}

bool is_around(const Mask& mask, const text::Change& place, const text::TextPair& pair) {
  return stands_before(mask.before, pair.a, place.a_begin) &&
         stands_before(mask.before, pair.b, place.b_begin) &&
         stands_behind(mask.after, pair.a, place.a_end) &&
         stands_behind(mask.after, pair.b, place.b_end);
}

// Whether it is worth reporting that a value is repeated.
bool is_token(std::string_view value) {
  auto digits = std::count_if(value.begin(), value.end(), is_digit);
  auto letters = std::count_if(value.begin(), value.end(), [](char byte) {
    return text::is_word_byte(byte) && !is_digit(byte) && byte != '_';
  });
  if (value.starts_with("0x") || (bits_of(value) & (kOther | kNewline)) != 0) return false;
  return (value.size() >= 8 && letters >= 3) || digits >= 14;
}

}  // namespace

// The values at the places of one mask, each once.
struct Masks::Seen {
  std::vector<std::string_view> classic, persistent;
};

// Marks next to a place belong to it if that makes it fit a mask: "+x" and "+y" may be tokens that
// both begin with '+'.
std::size_t Masks::find(const text::Change& place, const text::TextPair& pair) const {
  std::string_view a = pair.a, b = pair.b;
  constexpr std::size_t kMarksMax = 2;
  std::size_t before_max = marks_before(a, place.a_begin, b, place.b_begin, kMarksMax);
  std::size_t behind_max = marks_behind(a, place.a_end, b, place.b_end, kMarksMax);
  for (std::size_t before = 0; before <= before_max; ++before) {
    for (std::size_t behind = 0; behind <= behind_max; ++behind) {
      text::Change grown{place.a_begin - before, place.a_end + behind, place.b_begin - before,
                         place.b_end + behind};
      for (std::size_t i = 0; i < masks_.size(); ++i) {
        if (is_around(masks_[i], grown, pair) && fits(masks_[i], b_value(grown, b))) return i;
      }
    }
  }
  return kNone;
}

void Masks::learn(const text::TextPair& classic) {
  for (std::size_t i = 0; i < std::min(classic.values.size(), kPlacesMax); ++i) {
    learn_place(classic, i);
  }
}

void Masks::learn_place(const text::TextPair& pair, std::size_t i) {
  const std::vector<text::Change>& places = pair.values;
  const text::Change& place = places[i];
  std::string_view once = pair.a;
  std::string_view old_value = a_value(place, once), new_value = b_value(place, pair.b);
  unsigned bits = bits_of(old_value) | bits_of(new_value);
  auto [least, most] = std::minmax({old_value.size(), new_value.size()});
  if ((bits & kNewline) != 0 || most > kValueMax) return;

  std::size_t floor = i == 0 ? 0 : places[i - 1].a_end;
  std::size_t limit = i + 1 < places.size() ? places[i + 1].a_begin : once.size();
  Mask mask{context_before(once, place.a_begin, floor, 0), context_behind(once, place.a_end, limit),
            std::string(form_for(bits).name), least, most};
  if (!has_word(mask.before) && !has_word(mask.after)) {
    mask.before = context_before(once, place.a_begin, floor, 1);
  }
  if (mask.before.empty() && mask.after.empty()) return;
  for (Mask& known : masks_) {
    bool same_place = known.before == mask.before && known.after == mask.after;
    bool covered = is_around(known, place, pair) && (bits & ~bits_named(known.form)) == 0;
    if (!same_place && !covered) continue;
    known.form = form_for(bits | bits_named(known.form)).name;
    known.least = std::min(known.least, least);
    known.most = std::max(known.most, most);
    return;
  }
  add(std::move(mask));
}

void Masks::add(Mask mask) {
  if (masks_.size() == kMax) {
    Mask wide = shortened(mask);
    auto alike = std::count_if(masks_.begin(), masks_.end(),
                               [&](const Mask& one) { return covers(wide, one); });
    if (alike >= kAlike) mask = std::move(wide);
  }
  // Masks for the same place with more context are no longer needed.
  for (std::size_t i = masks_.size(); i-- > 0;) {
    if (!covers(mask, masks_[i])) continue;
    mask.used += masks_[i].used;
    mask.least = std::min(mask.least, masks_[i].least);
    mask.most = std::max(mask.most, masks_[i].most);
    forget(i);
  }
  if (masks_.size() == kMax) {
    auto least = std::min_element(masks_.begin(), masks_.end(),
                                  [](const Mask& a, const Mask& b) { return a.used < b.used; });
    forget(std::size_t(least - masks_.begin()));
  }
  masks_.push_back(std::move(mask));
  memories_.emplace_back();
}

void Masks::forget(std::size_t index) {
  masks_.erase(masks_.begin() + std::ptrdiff_t(index));
  memories_.erase(memories_.begin() + std::ptrdiff_t(index));
}

Match Masks::match(const text::TextPair& pair) {
  if (pair.values.empty()) return Match::same;
  if (pair.values.size() > kPlacesMax) return Match::different;
  std::vector<std::size_t> explained;
  for (const text::Change& place : pair.values) {
    std::size_t mask = find(place, pair);
    if (mask == kNone) return Match::different;
    explained.push_back(mask);
  }
  for (std::size_t mask : explained) ++masks_[mask].used;
  return Match::masked;
}

std::vector<Masks::Seen> Masks::seen(const text::TextPair& pair) const {
  std::vector<Seen> seen(pair.values.empty() ? 0 : masks_.size());
  auto add = [](std::vector<std::string_view>& values, std::string_view value) {
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  };
  for (std::size_t i = 0; i < std::min(pair.values.size(), kPlacesMax); ++i) {
    std::size_t mask = find(pair.values[i], pair);
    if (mask == kNone) continue;
    add(seen[mask].classic, a_value(pair.values[i], pair.a));
    add(seen[mask].persistent, b_value(pair.values[i], pair.b));
  }
  return seen;
}

std::string Masks::stale(const text::TextPair& pair) const {
  std::hash<std::string_view> hash;
  std::vector<Seen> all = seen(pair);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Memory& memory = memories_[i];
    if (memory.classic_answers < kAnswersBeforeStale || memory.classic_repeats) continue;
    for (std::string_view value : all[i].persistent) {
      if (!is_token(value) || !memory.persistent.has(hash(value))) continue;
      return '"' + std::string(value) + "\" after \"" + text::printable(masks_[i].before) +
             "\" was given to an earlier request; classic repeated none in " +
             std::to_string(memory.classic_answers) + " answers\n";
    }
  }
  return "";
}

void Masks::remember(const text::TextPair& pair) {
  std::hash<std::string_view> hash;
  std::vector<Seen> all = seen(pair);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Memory& memory = memories_[i];
    if (!all[i].classic.empty()) ++memory.classic_answers;
    for (std::string_view value : all[i].classic) {
      if (memory.classic.has(hash(value))) memory.classic_repeats = true;
      memory.classic.add(hash(value));
    }
    for (std::string_view value : all[i].persistent) memory.persistent.add(hash(value));
  }
}

std::string Masks::without_masked(const text::TextPair& pair) const {
  if (pair.values.size() > kPlacesMax) return std::string(pair.b);
  std::vector<text::Change> kept = pair.values;
  std::erase_if(kept, [&](const text::Change& place) { return find(place, pair) != kNone; });
  return text::apply(kept, pair.a, pair.b);
}

bool Masks::between(const text::TextPair& classic, const text::TextPair& pair) const {
  std::size_t bytes = 0;
  for (const text::Change& place : classic.values) {
    bytes += std::max(place.a_end - place.a_begin, place.b_end - place.b_begin);
  }
  if (2 * bytes > classic.a.size() || classic.values.size() > kPlacesMax) return false;
  if (pair.values.size() > kPlacesMax) return false;
  return std::all_of(pair.values.begin(), pair.values.end(), [&](const text::Change& place) {
    if (find(place, pair) != kNone) return true;
    return std::any_of(classic.values.begin(), classic.values.end(), [&](const text::Change& one) {
      bool meets = place.a_begin <= one.a_end && one.a_begin <= place.a_end;
      return meets && one.a_begin <= place.a_begin + kAlikeByChance &&
             place.a_end <= one.a_end + kAlikeByChance;
    });
  });
}

bool Masks::Values::has(std::uint64_t hash) const {
  return std::find(hashes.begin(), hashes.end(), hash) != hashes.end();
}

void Masks::Values::add(std::uint64_t hash) {
  if (hashes.size() < kValuesMax) return hashes.push_back(hash);
  hashes[next] = hash;
  next = (next + 1) % kValuesMax;
}

void Masks::clear() {
  masks_.clear();
  memories_.clear();
}

}  // namespace compare
