#include "text/sequence_diff.h"

#include <gtest/gtest.h>

#include <random>

namespace text {
namespace {

using Sequence = std::vector<std::uint64_t>;

Sequence applied(const std::vector<Change>& changes, const Sequence& a, const Sequence& b) {
  Sequence result;
  std::size_t at = 0;
  auto take = [&result](const Sequence& from, std::size_t begin, std::size_t end) {
    result.insert(result.end(), from.begin() + std::ptrdiff_t(begin),
                  from.begin() + std::ptrdiff_t(end));
  };
  for (const Change& change : changes) {
    take(a, at, change.a_begin);
    take(b, change.b_begin, change.b_end);
    at = change.a_end;
  }
  take(a, at, a.size());
  return result;
}

std::size_t edits_of(const std::vector<Change>& changes) {
  std::size_t edits = 0;
  for (const Change& change : changes) {
    edits += change.a_end - change.a_begin + change.b_end - change.b_begin;
  }
  return edits;
}

// The minimum number of edits, computed with the table of all prefixes.
std::size_t fewest_edits(const Sequence& a, const Sequence& b) {
  std::vector<std::size_t> row(b.size() + 1), above;
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    above = row;
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = a[i - 1] == b[j - 1] ? above[j - 1] : 1 + std::min(above[j], row[j - 1]);
    }
  }
  return row[b.size()];
}

void expect_in_order(const std::vector<Change>& changes) {
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Change& one = changes[i];
    EXPECT_TRUE(one.a_begin < one.a_end || one.b_begin < one.b_end);
    if (i == 0) continue;
    EXPECT_LT(changes[i - 1].a_end, one.a_begin);
    EXPECT_LT(changes[i - 1].b_end, one.b_begin);
    EXPECT_EQ(one.a_begin - changes[i - 1].a_end, one.b_begin - changes[i - 1].b_end);
  }
}

Sequence random_sequence(std::mt19937& bits, std::size_t size, unsigned letters) {
  Sequence sequence;
  for (std::size_t i = 0; i < size; ++i) sequence.push_back(bits() % letters);
  return sequence;
}

TEST(SequenceDiff, gives_the_fewest_edits_and_what_makes_b_of_a) {
  std::mt19937 bits(5);
  for (int i = 0; i < 3000; ++i) {
    Sequence a = random_sequence(bits, bits() % 20, 1 + bits() % 5);
    Sequence b = random_sequence(bits, bits() % 20, 1 + bits() % 5);
    std::vector<Change> changes = SequenceDiff().changes(a, b);
    EXPECT_EQ(applied(changes, a, b), b);
    EXPECT_EQ(edits_of(changes), fewest_edits(a, b));
    expect_in_order(changes);
  }
}

TEST(SequenceDiff, gives_nothing_for_equal_sequences) {
  std::mt19937 bits(5);
  Sequence a = random_sequence(bits, 1000, 50);
  EXPECT_TRUE(SequenceDiff().changes(a, a).empty());
  EXPECT_TRUE(SequenceDiff().changes(Sequence(), Sequence()).empty());
}

// Goal: many small changes, far more than one search may find, are all found in their places.
TEST(SequenceDiff, finds_each_of_many_small_changes) {
  std::mt19937 bits(9);
  Sequence a = random_sequence(bits, 20'000, 1000), b = a;
  for (std::size_t i = 10; i < b.size(); i += 20) b[i] = 5000 + i;
  SequenceDiff diff;
  std::vector<Change> changes = diff.changes(a, b);
  EXPECT_NEAR(double(changes.size()), 1000, 3);
  EXPECT_EQ(edits_of(changes), 2000u);
  EXPECT_EQ(applied(changes, a, b), b);
  EXPECT_LT(diff.steps(), 20'000u * SequenceDiff::kEditsMax);
}

// Goal: the text around a long insertion is still recognised as equal.
TEST(SequenceDiff, finds_what_is_equal_around_much_that_was_put_in) {
  std::mt19937 bits(10);
  Sequence kept = random_sequence(bits, 300, 1'000'000), put_in = random_sequence(bits, 1000, 500);
  Sequence a = {1}, b = {2};
  a.insert(a.end(), kept.begin(), kept.end());
  b.insert(b.end(), put_in.begin(), put_in.end());
  b.insert(b.end(), kept.begin(), kept.end());
  a.push_back(3);
  b.push_back(4);
  EXPECT_LE(edits_of(SequenceDiff().changes(a, b)), 1000u + 4);
  EXPECT_LE(edits_of(SequenceDiff().changes(b, a)), 1000u + 4);
}

TEST(SequenceDiff, stays_right_where_it_cuts_the_search) {
  std::mt19937 bits(11);
  for (unsigned letters : {2u, 10u, 1000u}) {
    Sequence a = random_sequence(bits, 1500, letters), b = random_sequence(bits, 1700, letters);
    std::vector<Change> changes = SequenceDiff().changes(a, b);
    EXPECT_EQ(applied(changes, a, b), b);
    expect_in_order(changes);
  }
}

// Goal: unrelated sequences cost no more than the limit, however long they are. One search may
// exceed it, because it was already under way.
TEST(SequenceDiff, does_a_bounded_work_on_great_random_sequences) {
  std::mt19937 bits(13);
  for (unsigned letters : {2u, 30u, 1'000'000u}) {
    Sequence a = random_sequence(bits, 400'000, letters),
             b = random_sequence(bits, 400'000, letters);
    SequenceDiff diff;
    std::vector<Change> changes = diff.changes(a, b);
    EXPECT_EQ(applied(changes, a, b), b);
    expect_in_order(changes);
    EXPECT_LT(diff.steps(), SequenceDiff::kStepsMax + 2'000'000);
  }
}

TEST(SequenceDiff, bears_one_sequence_that_is_empty) {
  Sequence a = {1, 2, 3};
  EXPECT_EQ(SequenceDiff().changes(a, Sequence()), (std::vector<Change>{{0, 3, 0, 0}}));
  EXPECT_EQ(SequenceDiff().changes(Sequence(), a), (std::vector<Change>{{0, 0, 0, 3}}));
}

}  // namespace
}  // namespace text
