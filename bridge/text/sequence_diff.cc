#include "text/sequence_diff.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace text {
namespace {

constexpr std::ptrdiff_t kUnreached = -1;
constexpr std::ptrdiff_t kEdits = std::ptrdiff_t(SequenceDiff::kEditsMax);
constexpr std::size_t kRow = 2 * SequenceDiff::kEditsMax + 3;

std::vector<std::uint64_t> hashes_of(const Pieces& pieces) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(pieces.size());
  for (std::string_view piece : pieces) hashes.push_back(std::hash<std::string_view>()(piece));
  return hashes;
}

}  // namespace

// The parts of a and b after the place reached so far. reach_ has a row for each number of edits,
// with the farthest a reached by that many on each diagonal (a - b), -kEdits to kEdits, and one
// more entry at each end that stays unreached.
struct SequenceDiff::Rest {
  const std::uint64_t* a;
  const std::uint64_t* b;
  std::ptrdiff_t n, m;
};

std::ptrdiff_t& SequenceDiff::reach(std::ptrdiff_t edits, std::ptrdiff_t diagonal) {
  return reach_[std::size_t(edits) * kRow + std::size_t(diagonal + kEdits + 1)];
}

// Where the last of that many edits ends on a diagonal, before the equal part that follows.
SequenceDiff::Landing SequenceDiff::land(const Rest& rest, std::ptrdiff_t edits,
                                         std::ptrdiff_t diagonal) {
  if (edits == 0) return {0, Edit::none};
  std::ptrdiff_t left = reach(edits - 1, diagonal - 1), above = reach(edits - 1, diagonal + 1);
  Landing landing{kUnreached, Edit::none};
  if (left != kUnreached && left < rest.n) landing = {left + 1, Edit::left_out};
  if (above != kUnreached && above - diagonal <= rest.m && above > landing.a) {
    landing = {above, Edit::put_in};
  }
  return landing;
}

// Searches as far as kEditsMax edits go, or to the end. Of equally far places it takes the one on
// the diagonal nearest to that of the end, so that an insertion does not cause an equal omission.
SequenceDiff::Goal SequenceDiff::search(const Rest& rest) {
  reach_.assign(kRow * (kEditsMax + 1), kUnreached);
  Goal best{0, 0, 0};
  const std::ptrdiff_t end = rest.n - rest.m;
  for (std::ptrdiff_t edits = 0; edits <= kEdits; ++edits) {
    for (std::ptrdiff_t k = -edits; k <= edits; k += 2) {
      std::ptrdiff_t at = land(rest, edits, k).a;
      ++steps_;
      if (at == kUnreached) continue;
      while (at < rest.n && at - k < rest.m && rest.a[at] == rest.b[at - k]) ++at, ++steps_;
      reach(edits, k) = at;
      std::ptrdiff_t far = 2 * at - k, farthest = 2 * best.a - best.diagonal;
      bool nearer = std::abs(end - k) < std::abs(end - best.diagonal);
      if (far > farthest || (far == farthest && nearer)) best = {edits, k, at};
      if (k == end && at == rest.n) return {edits, k, at};
    }
  }
  return best;
}

// The edits on the way to goal, from last to first.
std::vector<Change> SequenceDiff::way_back(const Rest& rest, const Goal& goal) {
  std::vector<Change> edits;
  std::ptrdiff_t diagonal = goal.diagonal;
  for (std::ptrdiff_t i = goal.edits; i > 0; --i) {
    Landing landing = land(rest, i, diagonal);
    auto a = std::size_t(landing.a), b = std::size_t(landing.a - diagonal);
    if (landing.edit == Edit::left_out) {
      edits.push_back({a - 1, a, b, b});
      --diagonal;
    } else {
      edits.push_back({a, a, b - 1, b});
      ++diagonal;
    }
  }
  return edits;
}

std::vector<Change> SequenceDiff::changes(const std::vector<std::uint64_t>& a,
                                          const std::vector<std::uint64_t>& b) {
  std::vector<Change> found;
  Change box{0, a.size(), 0, b.size()};
  while (true) {
    trim(a, b, box);
    std::size_t n = box.a_end - box.a_begin, m = box.b_end - box.b_begin;
    if (n == 0 && m == 0) return found;
    if (n == 0 || m == 0 || steps_ > kStepsMax) {
      append(found, box);
      return found;
    }
    Rest rest{a.data() + box.a_begin, b.data() + box.b_begin, std::ptrdiff_t(n), std::ptrdiff_t(m)};
    Goal goal = search(rest);
    std::vector<Change> edits = way_back(rest, goal);
    for (std::size_t i = edits.size(); i-- > 0;) {
      append(found, {edits[i].a_begin + box.a_begin, edits[i].a_end + box.a_begin,
                     edits[i].b_begin + box.b_begin, edits[i].b_end + box.b_begin});
    }
    box.a_begin += std::size_t(goal.a);
    box.b_begin += std::size_t(goal.a - goal.diagonal);
  }
}

// Removes what is equal from both ends of the box.
void SequenceDiff::trim(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b,
                        Change& box) {
  while (box.a_begin < box.a_end && box.b_begin < box.b_end && a[box.a_begin] == b[box.b_begin]) {
    ++box.a_begin, ++box.b_begin;
  }
  while (box.a_begin < box.a_end && box.b_begin < box.b_end &&
         a[box.a_end - 1] == b[box.b_end - 1]) {
    --box.a_end, --box.b_end;
  }
}

std::vector<Change> SequenceDiff::changes(const Pieces& a, const Pieces& b) {
  std::vector<Change> found = changes(hashes_of(a), hashes_of(b));
  // Pieces with equal hashes differ with a chance of 2^-64; then everything is one change.
  std::size_t a_at = 0, b_at = 0;
  for (std::size_t i = 0; i <= found.size(); ++i) {
    std::size_t a_end = i < found.size() ? found[i].a_begin : a.size();
    if (!std::equal(a.begin() + std::ptrdiff_t(a_at), a.begin() + std::ptrdiff_t(a_end),
                    b.begin() + std::ptrdiff_t(b_at))) {
      return {{0, a.size(), 0, b.size()}};
    }
    if (i < found.size()) a_at = found[i].a_end, b_at = found[i].b_end;
  }
  return found;
}

void append(std::vector<Change>& changes, const Change& change) {
  if (change.a_begin == change.a_end && change.b_begin == change.b_end) return;
  bool touches = !changes.empty() && changes.back().a_end == change.a_begin &&
                 changes.back().b_end == change.b_begin;
  if (!touches) return changes.push_back(change);
  changes.back().a_end = change.a_end;
  changes.back().b_end = change.b_end;
}

Pieces lines_of(std::string_view text) {
  Pieces lines;
  while (!text.empty()) {
    std::size_t newline = text.find('\n');
    std::size_t size = newline == std::string_view::npos ? text.size() : newline + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

Pieces tokens_of(std::string_view text) {
  Pieces tokens;
  while (!text.empty()) {
    auto word_end = std::find_if_not(text.begin(), text.end(), is_word_byte);
    std::size_t size = std::max<std::size_t>(1, std::size_t(word_end - text.begin()));
    tokens.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return tokens;
}

bool is_word_byte(char byte) {
  auto code = static_cast<unsigned char>(byte);
  return (code >= '0' && code <= '9') || (code >= 'A' && code <= 'Z') ||
         (code >= 'a' && code <= 'z') || code == '_' || code > 127;
}

}  // namespace text
