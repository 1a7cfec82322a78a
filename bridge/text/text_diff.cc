#include "text/text_diff.h"

#include <algorithm>

#include "base/utf8.h"

namespace text {
namespace {

std::size_t equal_bytes(std::string_view a, std::string_view b) {
  std::size_t size = std::min(a.size(), b.size());
  return std::size_t(std::mismatch(a.begin(), a.begin() + std::ptrdiff_t(size), b.begin()).first -
                     a.begin());
}

// Whether a text may be cut at a place: between lines, or between tokens.
using Cut = bool (*)(std::string_view text, std::size_t at);

bool between_lines(std::string_view text, std::size_t at) {
  return at == 0 || at == text.size() || text[at - 1] == '\n';
}

bool between_tokens(std::string_view text, std::size_t at) {
  return at == 0 || at == text.size() || !is_word_byte(text[at - 1]) || !is_word_byte(text[at]);
}

// How many bytes a and b have in common at the beginning, up to a cut.
std::size_t equal_at_begin(std::string_view a, std::string_view b, Cut cut) {
  std::size_t size = equal_bytes(a, b);
  while (!cut(a, size) || !cut(b, size)) --size;
  return size;
}

// The same at the end.
std::size_t equal_at_end(std::string_view a, std::string_view b, Cut cut) {
  auto most = std::ptrdiff_t(std::min(a.size(), b.size()));
  auto size =
      std::size_t(std::mismatch(a.rbegin(), a.rbegin() + most, b.rbegin()).first - a.rbegin());
  while (!cut(a, a.size() - size) || !cut(b, b.size() - size)) --size;
  return size;
}

// Where the n-th piece begins; they follow each other without a gap.
std::size_t offset_of(const Pieces& pieces, std::size_t n, std::string_view text) {
  return n < pieces.size() ? std::size_t(pieces[n].data() - text.data()) : text.size();
}

class TextDiff {
 public:
  TextDiff(std::string_view a, std::string_view b) : a_(a), b_(b) {}

  std::vector<Change> run() {
    std::size_t begin = equal_at_begin(a_, b_, between_lines);
    std::size_t end = equal_at_end(a_.substr(begin), b_.substr(begin), between_lines);
    std::string_view a = a_.substr(begin, a_.size() - begin - end);
    std::string_view b = b_.substr(begin, b_.size() - begin - end);
    if (a.size() + b.size() > kLinesMax) {
      append(changes_, {begin, begin + a.size(), begin, begin + b.size()});
      return std::move(changes_);
    }
    Pieces a_lines = lines_of(a), b_lines = lines_of(b);
    for (const Change& lines : diff_.changes(a_lines, b_lines)) {
      compare_lines(a_lines, b_lines, lines, {a, b});
    }
    return std::move(changes_);
  }

 private:
  struct Texts {
    std::string_view a, b;
  };

  void compare_lines(const Pieces& a, const Pieces& b, const Change& lines, const Texts& texts) {
    bool paired = lines.a_end - lines.a_begin == lines.b_end - lines.b_begin;
    auto part = [&](std::size_t a_begin, std::size_t a_end, std::size_t b_begin,
                    std::size_t b_end) {
      std::size_t a_at = offset_of(a, a_begin, texts.a), b_at = offset_of(b, b_begin, texts.b);
      compare_tokens(texts.a.substr(a_at, offset_of(a, a_end, texts.a) - a_at),
                     texts.b.substr(b_at, offset_of(b, b_end, texts.b) - b_at));
    };
    if (!paired) return part(lines.a_begin, lines.a_end, lines.b_begin, lines.b_end);
    for (std::size_t i = 0; i < lines.a_end - lines.a_begin; ++i) {
      std::size_t a_line = lines.a_begin + i, b_line = lines.b_begin + i;
      part(a_line, a_line + 1, b_line, b_line + 1);
    }
  }

  void compare_tokens(std::string_view a, std::string_view b) {
    std::size_t begin = equal_at_begin(a, b, between_tokens);
    a.remove_prefix(begin), b.remove_prefix(begin);
    std::size_t end = equal_at_end(a, b, between_tokens);
    a.remove_suffix(end), b.remove_suffix(end);
    std::size_t a_at = std::size_t(a.data() - a_.data()), b_at = std::size_t(b.data() - b_.data());
    if (a.empty() || b.empty() || a.size() + b.size() > kTokensMax) {
      return append(changes_, {a_at, a_at + a.size(), b_at, b_at + b.size()});
    }
    Pieces a_tokens = tokens_of(a), b_tokens = tokens_of(b);
    for (const Change& tokens : diff_.changes(a_tokens, b_tokens)) {
      append(changes_, {a_at + offset_of(a_tokens, tokens.a_begin, a),
                        a_at + offset_of(a_tokens, tokens.a_end, a),
                        b_at + offset_of(b_tokens, tokens.b_begin, b),
                        b_at + offset_of(b_tokens, tokens.b_end, b)});
    }
  }

  std::string_view a_, b_;
  SequenceDiff diff_;
  std::vector<Change> changes_;
};

}  // namespace

std::vector<Change> changes(std::string_view a, std::string_view b) {
  return TextDiff(a, b).run();
}

std::string apply(const std::vector<Change>& changes, std::string_view a, std::string_view b) {
  std::string result;
  std::size_t at = 0;
  for (const Change& change : changes) {
    result += a.substr(at, change.a_begin - at);
    result += b.substr(change.b_begin, change.b_end - change.b_begin);
    at = change.a_end;
  }
  return result += a.substr(at);
}

namespace {

bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

std::string_view a_value(const Change& place, std::string_view a) {
  return a.substr(place.a_begin, place.a_end - place.a_begin);
}
std::string_view b_value(const Change& place, std::string_view b) {
  return b.substr(place.b_begin, place.b_end - place.b_begin);
}

// Whether the value at the place satisfies like in both texts. An empty value always does.
template <typename Like>
bool both(const Change& place, std::string_view a, std::string_view b, Like like) {
  std::string_view old_value = a_value(place, a), new_value = b_value(place, b);
  return (old_value.empty() || like(old_value)) && (new_value.empty() || like(new_value));
}

// The length of the word that ends at end if it begins with a digit, otherwise 0.
std::size_t number_ending_at(std::string_view text, std::size_t end, std::size_t limit) {
  std::size_t begin = end;
  while (begin > limit && is_word_byte(text[begin - 1])) --begin;
  return begin < end && is_digit(text[begin]) ? end - begin : 0;
}

std::size_t number_at(std::string_view text, std::size_t begin, std::size_t limit) {
  std::size_t end = begin;
  while (end < limit && is_word_byte(text[end])) ++end;
  return begin < end && is_digit(text[begin]) ? end - begin : 0;
}

// How many bytes before a place belong to its number: "12:" before "34", "12" before ":34". Down to
// the limit, these bytes are equal in both texts.
std::size_t number_before(const Change& place, std::string_view a, std::string_view b,
                          std::size_t limit) {
  auto is_number = [](std::string_view value) { return is_digit(value[0]); };
  auto goes_on = [](std::string_view value) {
    return value.size() > 1 && is_mark(value[0]) && is_digit(value[1]);
  };
  std::size_t at = place.a_begin;
  if (both(place, a, b, goes_on)) return number_ending_at(a, at, limit);
  if (!both(place, a, b, is_number) || at <= limit || !is_mark(a[at - 1])) return 0;
  std::size_t size = number_ending_at(a, at - 1, limit);
  return size == 0 ? 0 : size + 1;
}

// The same after a place: ":56" after "34", "56" after "34:".
std::size_t number_behind(const Change& place, std::string_view a, std::string_view b,
                          std::size_t limit) {
  auto is_number = [](std::string_view value) {
    return is_digit(value[0]) && is_word_byte(value.back());
  };
  auto goes_on = [](std::string_view value) {
    return value.size() > 1 && is_digit(value[0]) && is_mark(value.back());
  };
  std::size_t at = place.a_end;
  if (both(place, a, b, goes_on)) return number_at(a, at, limit);
  if (!both(place, a, b, is_number) || at >= limit || !is_mark(a[at])) return 0;
  std::size_t size = number_at(a, at + 1, limit);
  return size == 0 ? 0 : size + 1;
}

// The length of "=" or "==" at the end of what may be base64.
std::size_t padding_behind(const Change& place, std::string_view a, std::size_t limit) {
  constexpr std::size_t kEncodedLeast = 8;
  if (place.a_end - place.a_begin < kEncodedLeast) return 0;
  std::size_t end = place.a_end;
  while (end < limit && a[end] == '=' && end - place.a_end < 2) ++end;
  bool followed = end < limit && is_word_byte(a[end]);
  return followed ? 0 : end - place.a_end;
}

bool belongs_together(std::string_view between, const Change& next, std::string_view a,
                      std::string_view b) {
  constexpr std::size_t kMarksMax = 3;
  if (between.size() > kMarksMax || !std::all_of(between.begin(), between.end(), is_mark))
    return false;
  if (between.find('=') == std::string_view::npos) return true;
  return a_value(next, a).find_first_not_of('=') == std::string_view::npos &&
         b_value(next, b).find_first_not_of('=') == std::string_view::npos;
}

}  // namespace

bool is_mark(char byte) {
  return std::string_view("-.:+/~%=").find(byte) != std::string_view::npos;
}

TextPair::TextPair(std::string_view a_text, std::string_view b_text)
    : a(a_text), b(b_text), values(changed_values(a_text, b_text)) {}

std::vector<Change> changed_values(std::string_view a, std::string_view b) {
  std::vector<Change> raw = changes(a, b), places;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    Change place = raw[i];
    std::size_t limit = places.empty() ? 0 : places.back().a_end;
    while (std::size_t size = number_before(place, a, b, limit)) {
      place.a_begin -= size, place.b_begin -= size;
    }
    limit = i + 1 < raw.size() ? raw[i + 1].a_begin : a.size();
    while (std::size_t size = number_behind(place, a, b, limit)) {
      place.a_end += size, place.b_end += size;
    }
    std::size_t padding = padding_behind(place, a, limit);
    place.a_end += padding, place.b_end += padding;
    if (!places.empty()) {
      Change& last = places.back();
      if (belongs_together(a.substr(last.a_end, place.a_begin - last.a_end), place, a, b)) {
        last.a_end = place.a_end, last.b_end = place.b_end;
        continue;
      }
    }
    places.push_back(place);
  }
  return places;
}

std::string printable(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string shown;
  while (!text.empty()) {
    std::size_t size = text.front() == '\t' ? 1 : base::visible_size(text);
    if (size == 0) {
      auto code = static_cast<unsigned char>(text.front());
      shown += {'\\', 'x', kDigits[code >> 4], kDigits[code & 15]};
      size = 1;
    } else {
      shown += text.substr(0, size);
    }
    text.remove_prefix(size);
  }
  return shown;
}

namespace {

constexpr std::size_t kContextLines = 2;
constexpr std::size_t kLineMax = 320;    // of longer ones only a part is shown
constexpr std::size_t kLineBefore = 80;  // how much of that comes before the first change

// One line of a diff. The first change in it is at `first`.
std::string shown_line(char mark, std::string_view line, std::size_t first) {
  bool whole = line.ends_with('\n');
  if (whole) line.remove_suffix(1);
  std::string shown(1, mark);
  if (line.size() <= kLineMax) {
    shown += printable(line);
  } else {
    std::size_t begin = std::min(first - std::min(first, kLineBefore), line.size() - kLineMax);
    std::size_t behind = line.size() - begin - kLineMax;
    if (begin > 0) shown += "[" + std::to_string(begin) + " bytes] ";
    shown += printable(line.substr(begin, kLineMax));
    if (behind > 0) shown += " [" + std::to_string(behind) + " bytes]";
  }
  return shown + (whole ? "\n" : "\n\\ No newline at end\n");
}

class UnifiedDiff {
 public:
  UnifiedDiff(std::string_view a, std::string_view b, std::size_t bytes_max)
      : a_(lines_of(a)), b_(lines_of(b)), bytes_max_(bytes_max) {}

  std::string run(std::string_view a_name, std::string_view b_name) {
    SequenceDiff diff;
    std::vector<Change> changes = diff.changes(a_, b_);
    if (changes.empty()) return "";
    out_ = "--- " + std::string(a_name) + "\n+++ " + std::string(b_name) + '\n';
    for (std::size_t i = 0; i < changes.size();) {
      std::size_t end = i + 1;
      while (end < changes.size() &&
             changes[end].a_begin - changes[end - 1].a_end <= 2 * kContextLines) {
        ++end;
      }
      add_hunk(changes, i, end);
      i = end;
    }
    return finish();
  }

 private:
  void add_hunk(const std::vector<Change>& changes, std::size_t i, std::size_t end) {
    std::size_t before = std::min(kContextLines, changes[i].a_begin);
    std::size_t after = std::min(kContextLines, a_.size() - changes[end - 1].a_end);
    std::size_t a_begin = changes[i].a_begin - before, a_end = changes[end - 1].a_end + after;
    std::size_t b_begin = changes[i].b_begin - before, b_end = changes[end - 1].b_end + after;
    add_line("@@ -" + range(a_begin, a_end) + " +" + range(b_begin, b_end) + " @@\n");
    std::size_t at = a_begin;
    for (; i < end; ++i) {
      const Change& change = changes[i];
      for (; at < change.a_begin; ++at) add_shown(' ', a_[at], 0);
      for (; at < change.a_end; ++at) {
        std::size_t other = change.b_begin + (at - change.a_begin);
        std::size_t first = other < change.b_end ? equal_bytes(a_[at], b_[other]) : 0;
        add_shown('-', a_[at], first);
      }
      for (std::size_t own = change.b_begin; own < change.b_end; ++own) {
        std::size_t other = change.a_begin + (own - change.b_begin);
        std::size_t first = other < change.a_end ? equal_bytes(a_[other], b_[own]) : 0;
        add_shown('+', b_[own], first);
      }
    }
    for (; at < a_end; ++at) add_shown(' ', a_[at], 0);
  }

  static std::string range(std::size_t begin, std::size_t end) {
    std::size_t shown = end == begin ? begin : begin + 1;  // an empty range names the line before
    return std::to_string(shown) + ',' + std::to_string(end - begin);
  }

  void add_shown(char mark, std::string_view line, std::size_t first) {
    if (left_out_ > 0) {
      ++left_out_;
    } else {
      add_line(shown_line(mark, line, first));
    }
  }

  void add_line(const std::string& line) {
    if (left_out_ == 0 && out_.size() + line.size() + kLastLineMax <= bytes_max_) {
      out_ += line;
    } else {
      ++left_out_;
    }
  }

  std::string finish() {
    if (left_out_ > 0) out_ += "[" + std::to_string(left_out_) + " lines of the diff left out]\n";
    if (out_.size() > bytes_max_) out_.resize(bytes_max_);  // the names alone may exceed it
    return std::move(out_);
  }

  static constexpr std::size_t kLastLineMax = 64;

  Pieces a_, b_;
  std::size_t bytes_max_;
  std::string out_;
  std::size_t left_out_ = 0;
};

}  // namespace

std::string unified_diff(std::string_view a, std::string_view b, std::string_view a_name,
                         std::string_view b_name, std::size_t bytes_max) {
  return UnifiedDiff(a, b, bytes_max).run(a_name, b_name);
}

}  // namespace text
