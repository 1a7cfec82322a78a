#include "policy/shares.h"

#include <gtest/gtest.h>

#include <memory>

namespace policy {
namespace {

// A program that starts as many as it is admitted to, like a pool.
struct Program {
  explicit Program(Shares& shares) : claim(shares, [this] { told += 1; }) {}

  // Tries to run this many more; returns how many it could.
  unsigned start(unsigned count) {
    unsigned started = 0;
    while (started < count && claim.admitted()) {
      claim.update(claim.running() + 1, idle);
      ++started;
    }
    if (started == count) claim.stop_waiting();
    return started;
  }
  void end(unsigned count) { claim.update(claim.running() - count, idle); }
  void keep_idle(unsigned count) {
    idle = count;
    claim.update(claim.running(), idle);
  }

  Claim claim;
  unsigned idle = 0;
  unsigned told = 0;
};

TEST(Shares, without_a_limit_admit_everybody) {
  Shares shares;
  Program one(shares);
  EXPECT_EQ(one.start(10'000), 10'000u);
  EXPECT_GT(shares.room(), 1'000'000u);
}

TEST(Shares, keep_an_eighth_for_those_that_run_less_than_their_share) {
  Shares shares;
  shares.set_limit(16);
  Program greedy(shares), late(shares);
  EXPECT_EQ(greedy.start(100), 14u);
  EXPECT_EQ(late.start(1), 1u);
  EXPECT_EQ(late.start(1), 1u);
  EXPECT_EQ(late.start(1), 0u);
  EXPECT_EQ(shares.running(), 16u);
}

TEST(Shares, give_a_free_place_to_the_program_with_the_fewest) {
  Shares shares;
  shares.set_limit(8);
  Program greedy(shares), small(shares);
  greedy.start(100);
  small.start(1);
  EXPECT_EQ(small.start(1), 0u);
  greedy.end(1);
  EXPECT_EQ(small.told, 1u);
  EXPECT_EQ(greedy.start(1), 0u) << "the other waits and has fewer";
  EXPECT_EQ(small.start(1), 1u);
}

TEST(Shares, even_out_between_programs_that_always_want_more) {
  Shares shares;
  shares.set_limit(12);
  Program a(shares), b(shares), c(shares);
  a.start(100);
  for (int round = 0; round < 60; ++round) {
    for (Program* program : {&a, &b, &c}) {
      if (program->claim.running() > 0) program->end(1);
      for (Program* other : {&a, &b, &c}) other->start(100);
    }
  }
  for (const Program* program : {&a, &b, &c}) {
    EXPECT_GE(program->claim.running(), 3u);
    EXPECT_LE(program->claim.running(), 5u);
  }
  EXPECT_LE(shares.running(), 12u);
}

TEST(Shares, have_one_place_at_least_for_whoever_asks_first) {
  Shares shares;
  shares.set_limit(1);
  Program one(shares), other(shares);
  EXPECT_EQ(one.start(1), 1u);
  EXPECT_EQ(other.start(1), 0u);
  one.end(1);
  EXPECT_EQ(other.start(1), 1u);
}

TEST(Shares, do_not_wait_for_a_program_that_wants_nothing_any_more) {
  Shares shares;
  shares.set_limit(8);
  Program one(shares), other(shares);
  one.start(7);
  other.start(1);
  EXPECT_EQ(other.start(1), 0u);
  one.end(2);
  EXPECT_EQ(one.start(1), 0u);
  other.claim.stop_waiting();
  EXPECT_EQ(one.told, 1u);
  EXPECT_EQ(one.start(1), 1u);
}

TEST(Shares, ask_the_program_with_the_most_idle_workers_to_make_room) {
  Shares shares;
  shares.set_limit(10);
  Program hoarder(shares), other(shares), busy(shares);
  hoarder.keep_idle(6);
  other.keep_idle(2);
  EXPECT_EQ(shares.room(), 2u);
  EXPECT_EQ(busy.start(5), 5u);
  EXPECT_EQ(shares.room(), 0u);
  EXPECT_EQ(hoarder.claim.to_yield(), 3u);
  EXPECT_EQ(other.claim.to_yield(), 0u);
  EXPECT_EQ(hoarder.told, 1u);
  hoarder.keep_idle(3);
  EXPECT_EQ(hoarder.claim.to_yield(), 0u);
  EXPECT_EQ(shares.workers(), 10u);
}

TEST(Shares, take_a_lower_limit_over_at_once) {
  Shares shares;
  shares.set_limit(10);
  Program one(shares);
  one.keep_idle(8);
  shares.set_limit(4);
  EXPECT_EQ(one.claim.to_yield(), 4u);
}

TEST(Shares, offer_free_places_to_programs_that_lack_workers) {
  Shares shares;
  shares.set_limit(6);
  Program squeezed(shares), content(shares), flood(shares);
  flood.keep_idle(6);
  squeezed.claim.lack(4);
  shares.offer_room();
  EXPECT_EQ(squeezed.told, 0u) << "there is no room";
  flood.keep_idle(0);
  EXPECT_EQ(squeezed.told, 0u) << "a place that is free for a moment is nobody's";
  shares.offer_room();
  EXPECT_EQ(squeezed.told, 1u);
  EXPECT_EQ(content.told, 0u);
  squeezed.keep_idle(4);
  squeezed.claim.lack(0);
  shares.offer_room();
  EXPECT_EQ(squeezed.told, 1u);
}

TEST(Shares, offer_no_place_to_those_who_lack_workers_while_somebody_waits) {
  Shares shares;
  shares.set_limit(8);
  Program greedy(shares), squeezed(shares);
  EXPECT_EQ(greedy.start(100), 7u);
  squeezed.claim.lack(1);
  EXPECT_EQ(shares.room(), 1u);
  shares.offer_room();
  EXPECT_EQ(squeezed.told, 0u);
  greedy.claim.stop_waiting();
  shares.offer_room();
  EXPECT_EQ(squeezed.told, 1u);
}

TEST(Shares, offer_room_to_the_program_with_the_fewest_workers_first) {
  Shares shares;
  shares.set_limit(4);
  Program more(shares), fewer(shares);
  more.keep_idle(2);
  more.claim.lack(3);
  fewer.claim.lack(2);
  shares.offer_room();
  EXPECT_EQ(fewer.told, 1u);
  EXPECT_EQ(more.told, 0u) << "there are only two places";
}

TEST(Shares, get_everything_back_from_a_program_that_is_gone) {
  Shares shares;
  shares.set_limit(4);
  Program waiting(shares);
  {
    Program gone(shares);
    gone.start(4);
    gone.keep_idle(0);
    EXPECT_EQ(waiting.start(4), 0u);
  }
  EXPECT_EQ(shares.running(), 0u);
  EXPECT_EQ(waiting.told, 1u);
  EXPECT_EQ(waiting.start(2), 2u);
}

}  // namespace
}  // namespace policy
