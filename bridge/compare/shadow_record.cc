#include "compare/shadow_record.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "text/text_diff.h"

namespace compare {
namespace {

// How many pairs at the beginning always get a control.
constexpr std::uint64_t kControlsAtFirst = 2;

bool same_end(const Answer& a, const Answer& b) {
  return a.exit_code == b.exit_code && a.ended_by == b.ended_by;
}

std::string end_of(const Answer& answer) {
  return answer.ended_by.empty() ? "exit code " + std::to_string(answer.exit_code)
                                 : answer.ended_by;
}

std::string status_of(const Answer& answer) {
  return "status " + (answer.status == 0 ? "none" : std::to_string(answer.status));
}

// Larger texts are not compared as sorted words.
constexpr std::size_t kSortedMax = 4 * 1024 * 1024;

bool is_of_word(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  return std::isalnum(code) != 0 || byte == '_' || code >= 0x80;
}

// A text's words, and every other non-blank byte, in an order that does not depend on the text's.
std::vector<std::string_view> sorted_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_of_word);
    const std::size_t bytes =
        std::max<std::size_t>(1, static_cast<std::size_t>(end - text.begin()));
    if (std::isspace(static_cast<unsigned char>(text.front())) == 0) {
      words.push_back(text.substr(0, bytes));
    }
    text.remove_prefix(bytes);
  }
  std::ranges::sort(words);
  return words;
}

bool same_words(const text::TextPair& pair) {
  if (pair.a == pair.b) return true;
  if (std::max(pair.a.size(), pair.b.size()) > kSortedMax) return false;
  return sorted_words(pair.a) == sorted_words(pair.b);
}

std::string exchanged(std::string_view arm, const std::string& classic,
                      const std::string& persistent) {
  return "classic: " + classic + '\n' + std::string(arm) + ": " + persistent + '\n';
}

}  // namespace

// Two answers to compare with each other.
struct ShadowRecord::Pair {
  Pair(const Answer& classic, const Answer& persistent)
      : a(classic),
        b(persistent),
        head(classic.head, persistent.head),
        body(classic.body, persistent.body) {}

  bool same_status() const { return a.status == b.status && same_end(a, b); }

  const Answer& a;
  const Answer& b;
  text::TextPair head, body;
};

Look ShadowRecord::look(const Subject&, const Answer& classic, const Answer& persistent) {
  if (controls_ < kControlsAtFirst) return Look::needs_control;
  Pair pair(classic, persistent);
  Match match = held_against(pair);
  if (match == Match::different) return Look::needs_control;
  if (match == Match::masked && !stale(pair).empty()) return Look::needs_control;
  count(match, pair);
  return Look::done;
}

bool ShadowRecord::conclude(const Subject& subject, const Answer& classic, const Answer& persistent,
                            const Answer& control) {
  ++controls_;
  Pair again(classic, control);
  head_.learn(again.head);
  // A hash whose order changes by itself would turn into masks for nearly everything.
  const bool reorders = again.body.a != again.body.b && same_words(again.body);
  if (!reorders) body_.learn(again.body);
  Pair pair(classic, persistent);
  Match match = held_against(pair);
  if (match != Match::different) return settle(subject, match, pair);
  // The persistent side may already have seen what happened between the two runs of classic, such
  // as a new entry in a guestbook.
  Pair later(control, persistent);
  match = held_against(later);
  if (match != Match::different) return settle(subject, match, later);
  bool known_status = pair.same_status() || later.same_status();
  const bool same_body = reorders ? same_words(pair.body) : body_.between(again.body, pair.body);
  if (known_status && same_body && head_.between(again.head, pair.head)) {
    ++masked_;
    return false;
  }
  return note_difference(subject, pair);
}

// The worst match of all parts.
Match ShadowRecord::held_against(const Pair& pair) {
  if (!pair.same_status()) return Match::different;
  return std::max(head_.match(pair.head), body_.match(pair.body));
}

// Called after a match.
bool ShadowRecord::settle(const Subject& subject, Match match, const Pair& pair) {
  std::string value = stale(pair);
  if (!value.empty()) return note(subject, "a value that was used before", value);
  count(match, pair);
  return false;
}

std::string ShadowRecord::stale(const Pair& pair) const {
  std::string value = head_.stale(pair.head);
  return value.empty() ? body_.stale(pair.body) : value;
}

// Counts a pair without a difference.
void ShadowRecord::count(Match match, const Pair& pair) {
  ++(match == Match::same ? same_ : masked_);
  head_.remember(pair.head);
  body_.remember(pair.body);
}

// Notes all parts that differ, without what the masks explain, under the name of the first of them.
bool ShadowRecord::note_difference(const Subject& subject, const Pair& pair) {
  std::string_view arm = to_string(subject.arm);
  std::string_view what;
  std::string diff;
  auto add = [&](std::string_view part, const std::string& shown) {
    if (shown.empty()) return;
    if (what.empty()) what = part;
    diff += shown;
  };
  auto shown = [&](const Masks& masks, const text::TextPair& texts, const std::string& part) {
    return text::unified_diff(texts.a, masks.without_masked(texts), "classic's " + part,
                              std::string(arm) + "'s " + part,
                              kDiffMax - std::min(kDiffMax, diff.size()));
  };
  if (pair.a.status != pair.b.status) {
    add("status", exchanged(arm, status_of(pair.a), status_of(pair.b)));
  }
  if (!same_end(pair.a, pair.b)) add("exit code", exchanged(arm, end_of(pair.a), end_of(pair.b)));
  add("head", shown(head_, pair.head, "head"));
  add("body", shown(body_, pair.body, "body"));
  return note(subject, what, std::move(diff));
}

bool ShadowRecord::note(const Subject& subject, std::string_view what, std::string diff) {
  ++different_;
  if (diff.size() > kDiffMax) diff.resize(kDiffMax);
  differences_.push_back({++ids_, subject.unix_ms, subject.arm, std::string(subject.method),
                          std::string(subject.uri.substr(0, kUriMax)), std::string(what),
                          std::move(diff)});
  while (differences_.size() > kept_max_) differences_.pop_front();
  return true;
}

}  // namespace compare
