#include "pool/wait_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "fakes/manual_loop.h"

namespace pool {
namespace {

using std::chrono::milliseconds;

// A client that can only be refused, because nothing runs here.
class Visitor final : public RunClient {
 public:
  Visitor(compare::Side side, ForWhom for_whom)
      : turn_({.query_words = words_,
               .environment = {},
               .environment_count = 0,
               .side = side,
               .for_whom = for_whom},
              *this, {}) {}

  Turn& turn() { return turn_; }
  int refused() const { return refused_; }

 private:
  base::Result<std::array<int, 3>> descriptors() override { return std::array<int, 3>{}; }
  base::Result<base::UniqueFd> body() override { return base::UniqueFd(); }
  bool has_room() const override { return true; }
  void on_output(base::ByteView) override {}
  void on_errors(base::ByteView) override {}
  void on_started(compare::Arm) override {}
  worker::Printed on_ended(const worker::Ending&) override { return {}; }
  void on_refused(const cgi::Refusal&) override { ++refused_; }

  const std::vector<std::string> words_;
  Turn turn_;
  int refused_ = 0;
};

class WaitQueueTest : public testing::Test, private WaitQueue::Server {
 protected:
  Turn& add(char name, compare::Side side = compare::Side::persistent,
            ForWhom for_whom = ForWhom::client) {
    visitors_.push_back({name, std::make_unique<Visitor>(side, for_whom)});
    queue_.add(visitors_.back().second->turn());
    return visitors_.back().second->turn();
  }
  Turn& add_classic(char name) { return add(name, compare::Side::classic); }
  Turn& add_shadow(char name) { return add(name, compare::Side::persistent, ForWhom::shadow); }
  int refused(const Turn& turn) {
    for (auto& [name, visitor] : visitors_) {
      if (&visitor->turn() == &turn) return visitor->refused();
    }
    return -1;
  }

  // One turn of the pool.
  std::string pump() {
    told_.clear();
    queue_.serve_clients();
    queue_.limit();
    queue_.serve_shadows();
    queue_.check_invariants();
    return told_;
  }

  unsigned room_ = 99;
  unsigned workers_ = 0;
  std::size_t coming_ = 0;  // workers on their way
  Turn* leaves_ = nullptr;  // leaves when the first one is served
  fakes::ManualLoop loop_;
  config::ProgramSettings::Queue limits_;
  std::string told_;
  std::vector<std::pair<char, std::unique_ptr<Visitor>>> visitors_;
  WaitQueue queue_{loop_.loop(), limits_, *this};

 private:
  void tell(const Turn& turn, char what) {
    for (auto& [name, visitor] : visitors_) {
      if (&visitor->turn() == &turn) told_ += std::string{name, what, ' '};
    }
  }
  bool take_worker(Turn& turn) {
    if (workers_ == 0) return false;
    --workers_;
    --room_;
    tell(turn, '+');
    if (Turn* leaves = std::exchange(leaves_, nullptr)) queue_.remove(*leaves);
    return true;
  }
  // WaitQueue::Server
  bool has_room() override { return room_ > 0; }
  bool may_wait(std::size_t before) const override {
    return before < coming_ && before < limits_.max;
  }
  bool serve(Turn& turn, std::size_t before) override {
    if (turn.wants_worker() && take_worker(turn)) return true;
    if (turn.wants_worker() && may_wait(before)) return false;
    --room_;
    tell(turn, 'c');
    return true;
  }
  bool serve_shadow(Turn& turn) override { return take_worker(turn); }
  void on_full(Turn& turn) override { turn.refuse({503, "full"}); }
  void on_late(Turn& turn) override { turn.refuse({503, "late"}); }
};

TEST_F(WaitQueueTest, serves_in_the_order_of_coming) {
  add('a'), add('b'), add('c');
  workers_ = 3;
  EXPECT_EQ(pump(), "a+ b+ c+ ");
  EXPECT_TRUE(queue_.empty());
}

TEST_F(WaitQueueTest, lets_one_wait_for_each_worker_that_is_on_its_way) {
  add('a'), add('b'), add('c');
  coming_ = 2;
  EXPECT_EQ(pump(), "cc ");
  EXPECT_EQ(queue_.waiting_for_workers(), 2U);
  workers_ = 1;
  EXPECT_EQ(pump(), "a+ ");
}

TEST_F(WaitQueueTest, does_not_hold_a_classic_one_behind_those_that_wait_for_workers) {
  add('a'), add_classic('b'), add('c');
  coming_ = 2;
  EXPECT_EQ(pump(), "bc ");
  EXPECT_EQ(queue_.clients().size(), 2U);
}

TEST_F(WaitQueueTest, serves_none_without_room) {
  add('a'), add_classic('b');
  room_ = 0, workers_ = 2;
  EXPECT_EQ(pump(), "");
  room_ = 1;
  EXPECT_EQ(pump(), "a+ ");
}

TEST_F(WaitQueueTest, puts_one_that_comes_back_first) {
  add('a');
  Turn& back = add('b');
  queue_.remove(back);
  queue_.add_again(back);
  workers_ = 2;
  EXPECT_EQ(pump(), "b+ a+ ");
}

TEST_F(WaitQueueTest, bears_that_serving_one_ends_another) {
  add('a');
  leaves_ = &add('b');
  add('c');
  workers_ = 3;
  EXPECT_EQ(pump(), "a+ c+ ");
}

TEST_F(WaitQueueTest, refuses_the_last_of_too_many) {
  limits_.max = 1;
  room_ = 0;
  Turn &first = add('a'), &second = add('b'), &third = add('c');
  pump();
  EXPECT_EQ(refused(first), 0);
  EXPECT_EQ(refused(second), 1);
  EXPECT_EQ(refused(third), 1);
}

TEST_F(WaitQueueTest, refuses_one_that_waited_too_long_once) {
  limits_.timeout = milliseconds(100);
  room_ = 0;
  Turn& turn = add('a');
  pump();
  EXPECT_TRUE(turn.has_waited());
  loop_.advance(milliseconds(99));
  EXPECT_EQ(refused(turn), 0);
  loop_.advance(milliseconds(1));
  EXPECT_EQ(refused(turn), 1);
  EXPECT_TRUE(queue_.empty());
  loop_.advance(milliseconds(1000));
  EXPECT_EQ(refused(turn), 1);
}

TEST_F(WaitQueueTest, does_not_begin_the_wait_anew_at_each_turn) {
  limits_.timeout = milliseconds(100);
  room_ = 0;
  Turn& turn = add('a');
  for (int i = 0; i < 10; ++i) pump(), loop_.advance(milliseconds(10));
  EXPECT_EQ(refused(turn), 1);
}

TEST_F(WaitQueueTest, serves_shadows_only_when_no_client_waits_for_a_worker) {
  add_shadow('s');
  add('a');
  coming_ = 1;
  EXPECT_EQ(pump(), "");
  workers_ = 1;
  EXPECT_EQ(pump(), "a+ ");
  workers_ = 1;
  EXPECT_EQ(pump(), "s+ ");
  EXPECT_TRUE(queue_.empty());
}

TEST_F(WaitQueueTest, has_no_limit_for_shadows) {
  limits_.max = 0;
  room_ = 0;
  Turn& shadow = add_shadow('s');
  pump();
  EXPECT_EQ(refused(shadow), 0);
  EXPECT_FALSE(queue_.empty());
}

using TurnDeathTest = WaitQueueTest;

TEST_F(TurnDeathTest, hears_of_one_end_only) {
  Turn& turn = add('a');
  queue_.remove(turn);
  turn.refuse({503, "once"});
  EXPECT_DEATH(turn.refuse({503, "twice"}), "assertion failed");
  EXPECT_DEATH(turn.begin({}), "assertion failed");
  EXPECT_DEATH(turn.end({}), "assertion failed");
  EXPECT_DEATH(turn.take_back(), "assertion failed");
}

}  // namespace
}  // namespace pool
