#include "migrate/patch.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/sequence_diff.h"

namespace migrate {
namespace {

constexpr std::size_t kAround = 3;

using text::Change;
using text::Pieces;

void append_line(std::string& out, char sign, std::string_view line) {
  out += sign;
  out += line;
  if (!line.ends_with('\n')) out += "\n\\ No newline at end of file\n";
}

// "3,7"; a range without lines is named after the line before it.
std::string range_words(std::size_t begin, std::size_t count) {
  if (count == 1) return fmt::format("{}", begin + 1);
  return fmt::format("{},{}", count == 0 ? begin : begin + 1, count);
}

// The changes from first to last, which are near each other.
std::string hunk(const Pieces& a, const Pieces& b, const std::vector<Change>& changes,
                 std::size_t first, std::size_t last) {
  const std::size_t before = std::min(changes[first].a_begin, kAround);
  const std::size_t after = std::min(a.size() - changes[last].a_end, kAround);
  const std::size_t a_begin = changes[first].a_begin - before, a_end = changes[last].a_end + after;
  const std::size_t b_begin = changes[first].b_begin - before, b_end = changes[last].b_end + after;
  std::string out = fmt::format("@@ -{} +{} @@\n", range_words(a_begin, a_end - a_begin),
                                range_words(b_begin, b_end - b_begin));
  std::size_t at = a_begin;
  for (std::size_t i = first; i <= last; ++i) {
    for (; at < changes[i].a_begin; ++at) append_line(out, ' ', a[at]);
    for (; at < changes[i].a_end; ++at) append_line(out, '-', a[at]);
    for (std::size_t j = changes[i].b_begin; j < changes[i].b_end; ++j) append_line(out, '+', b[j]);
  }
  for (; at < a_end; ++at) append_line(out, ' ', a[at]);
  return out;
}

}  // namespace

Edited with_edits(std::string_view text, std::vector<Edit> edits) {
  const auto same = [](const Edit& one, const Edit& other) {
    return one.begin == other.begin && one.end == other.end && one.text == other.text;
  };
  std::ranges::stable_sort(edits, {}, &Edit::begin);
  edits.erase(std::unique(edits.begin(), edits.end(), same), edits.end());
  Edited edited;
  std::size_t at = 0;
  for (const Edit& edit : edits) {
    if (edit.begin < at) {
      ++edited.refused;
      continue;
    }
    edited.text += text.substr(at, edit.begin - at);
    edited.text += edit.text;
    at = edit.end;
  }
  edited.text += text.substr(at);
  return edited;
}

std::string patch_of(std::string_view path, const std::string* before, std::string_view after) {
  const Pieces a = text::lines_of(before ? std::string_view(*before) : std::string_view());
  const Pieces b = text::lines_of(after);
  const auto changes = text::SequenceDiff().changes(a, b);
  if (changes.empty()) return {};
  std::string out = before ? fmt::format("--- a{}\n+++ b{}\n", path, path)
                           : fmt::format("--- /dev/null\n+++ b{}\n", path);
  for (std::size_t first = 0; first < changes.size();) {
    std::size_t last = first;
    while (last + 1 < changes.size() &&
           changes[last + 1].a_begin - changes[last].a_end <= 2 * kAround) {
      ++last;
    }
    out += hunk(a, b, changes, first, last);
    first = last + 1;
  }
  return out;
}

std::string_view why_no_patch(std::string_view path) {
  const bool is_plain = std::ranges::all_of(path, [](char c) {
    return static_cast<unsigned char>(c) > 0x20 && c != '"' && c != '\\' && c != 0x7f;
  });
  return is_plain ? "" : "there are blanks or control characters in its name";
}

}  // namespace migrate
