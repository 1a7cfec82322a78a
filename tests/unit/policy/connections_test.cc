#include "policy/connections.h"

#include <gtest/gtest.h>

namespace policy {
namespace {

using namespace std::chrono_literals;
using enum ConnectionUse;
using Indices = std::vector<std::size_t>;

const base::TimePoint kNow{1h};
const ConnectionRules kRules{.max = 4, .patience = 60s, .at_rest_at_least = 1s};

ConnectionView since(ConnectionUse use, base::Duration ago) {
  return {use, kNow - ago};
}

TEST(ConnectionsToClose, are_none_while_there_is_room) {
  EXPECT_EQ(connections_to_close({since(idle, 30min), since(serving, 30min)}, kRules, kNow),
            Indices{});
  EXPECT_EQ(connections_to_close({}, kRules, kNow), Indices{});
}

TEST(ConnectionsToClose, are_the_longest_idle_when_all_are_taken) {
  EXPECT_EQ(connections_to_close(
                {since(serving, 1h), since(idle, 5s), since(idle, 9s), since(unfinished, 50s)},
                kRules, kNow),
            Indices{2});
}

TEST(ConnectionsToClose, are_an_eighth_at_most) {
  std::vector<ConnectionView> many(64, since(idle, 5s));
  many[7] = since(idle, 6s);
  const auto chosen =
      connections_to_close(many, {.max = 64, .patience = 1s, .at_rest_at_least = 1s}, kNow);
  EXPECT_EQ(chosen.size(), 8u);
  EXPECT_EQ(chosen.front(), 7u);
}

TEST(ConnectionsToClose, are_a_single_one_if_only_one_may_stay) {
  EXPECT_EQ(connections_to_close({since(serving, 9s), since(idle, 5s), since(idle, 6s)},
                                 {.max = 1, .patience = 60s, .at_rest_at_least = 1s}, kNow),
            Indices{2});
}

TEST(ConnectionsToClose, are_no_idle_ones_that_may_have_a_request_on_its_way) {
  EXPECT_EQ(connections_to_close(std::vector(4, since(idle, 999ms)), kRules, kNow), Indices{});
}

TEST(ConnectionsToClose, are_unfinished_ones_whose_time_is_up_whether_there_is_room_or_not) {
  EXPECT_EQ(connections_to_close({since(unfinished, 59s), since(unfinished, 60s)}, kRules, kNow),
            Indices{1});
  // Its place is free, so no idle one has to go.
  EXPECT_EQ(connections_to_close(
                {since(unfinished, 60s), since(idle, 5s), since(idle, 5s), since(idle, 5s)}, kRules,
                kNow),
            Indices{0});
}

TEST(FittingDescriptors, are_what_was_asked_for_where_there_are_enough) {
  const DescriptorUsers asked{.connections_max = 1024, .workers_max = 512, .zygotes_max = 200};
  EXPECT_EQ(fit_descriptors(524288, asked), asked);
  EXPECT_EQ(fit_descriptors(1024 + 5120 + 600 + 40, asked), asked);
}

TEST(FittingDescriptors, are_less_of_each_where_there_are_too_few) {
  const DescriptorUsers asked{.connections_max = 1000, .workers_max = 100, .zygotes_max = 100};
  const auto fitting = fit_descriptors(1190, asked);
  EXPECT_EQ(fitting,
            (DescriptorUsers{.connections_max = 500, .workers_max = 50, .zygotes_max = 50}));
}

TEST(FittingDescriptors, limit_workers_that_had_no_limit) {
  const auto fitting = fit_descriptors(1024, {.connections_max = 10, .workers_max = 0});
  EXPECT_GT(fitting.workers_max, 10u);
  EXPECT_LT(fitting.workers_max * 10, 1024u);
}

TEST(FittingDescriptors, give_workers_without_a_limit_what_the_others_leave) {
  const auto fitting =
      fit_descriptors(20000, {.connections_max = 1024, .workers_max = 0, .zygotes_max = 1010});
  EXPECT_EQ(fitting,
            (DescriptorUsers{.connections_max = 1024, .workers_max = 1590, .zygotes_max = 1010}));
  EXPECT_FALSE(is_less(fitting, {.connections_max = 1024, .workers_max = 0, .zygotes_max = 1010}));
  EXPECT_TRUE(is_less(fitting, {.connections_max = 1025, .workers_max = 0, .zygotes_max = 1010}));
}

TEST(FittingDescriptors, take_from_all_if_a_zygote_would_have_no_worker) {
  const auto fitting =
      fit_descriptors(8000, {.connections_max = 1024, .workers_max = 0, .zygotes_max = 1010});
  EXPECT_LT(fitting.zygotes_max, 1010u);
  EXPECT_LT(fitting.connections_max, 1024u);
  EXPECT_GE(fitting.workers_max, fitting.zygotes_max);
}

TEST(FittingDescriptors, leave_a_bridge_that_works) {
  const auto fitting = fit_descriptors(30, {.connections_max = 1024, .workers_max = 512});
  EXPECT_EQ(fitting.connections_max, 4u);
  EXPECT_EQ(fitting.workers_max, 1u);
}

}  // namespace
}  // namespace policy
