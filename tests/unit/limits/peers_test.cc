#include "limits/peers.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace limits {
namespace {

config::BridgeSettings allowing(std::vector<std::string> users,
                                std::vector<std::string> addresses) {
  config::BridgeSettings settings;
  settings.allow = {std::move(users), std::move(addresses)};
  return settings;
}

TEST(Peers, are_all_allowed_where_nothing_is_said) {
  const auto rules = PeerRules::of(allowing({}, {}));
  ASSERT_TRUE(rules.ok());
  EXPECT_TRUE(rules.value().empty());
  EXPECT_EQ(rules.value().why_not({.is_unix = true, .uid = 5, .address = {}}), std::nullopt);
}

TEST(Peers, of_unix_sockets_are_known_by_their_user) {
  const auto rules = PeerRules::of(allowing({"root", "33"}, {}));
  ASSERT_TRUE(rules.ok());
  EXPECT_EQ(rules.value().why_not({.is_unix = true, .uid = 0, .address = {}}), std::nullopt);
  EXPECT_EQ(rules.value().why_not({.is_unix = true, .uid = 33, .address = {}}), std::nullopt);
  EXPECT_NE(rules.value().why_not({.is_unix = true, .uid = 34, .address = {}}), std::nullopt);
  EXPECT_EQ(rules.value().why_not({.is_unix = false, .uid = 0, .address = "192.0.2.1"}),
            std::nullopt);
}

TEST(Peers, of_other_sockets_are_known_by_their_address) {
  const auto rules = PeerRules::of(allowing({}, {"10.0.0.0/8", "::1"}));
  ASSERT_TRUE(rules.ok());
  const auto allows = [&](const char* address) {
    return !rules.value().why_not({.is_unix = false, .uid = 0, .address = address}).has_value();
  };
  EXPECT_TRUE(allows("10.1.2.3"));
  EXPECT_TRUE(allows("::ffff:10.1.2.3"));
  EXPECT_TRUE(allows("::1"));
  EXPECT_FALSE(allows("127.0.0.1"));
  EXPECT_FALSE(allows(""));
  EXPECT_EQ(rules.value().why_not({.is_unix = true, .uid = 34, .address = {}}), std::nullopt);
}

TEST(Peers, are_none_where_a_web_servers_list_holds_no_address) {
  const auto rules = PeerRules::of(allowing({}, {}), {"nonsense"});
  ASSERT_TRUE(rules.ok());
  EXPECT_FALSE(rules.value().empty());
  EXPECT_NE(rules.value().why_not({.is_unix = false, .uid = 0, .address = "127.0.0.1"}),
            std::nullopt);
}

TEST(Peers, name_a_user_that_is_not_known) {
  const auto rules = PeerRules::of(allowing({"root", "no-such-user"}, {}));
  ASSERT_FALSE(rules.ok());
  EXPECT_EQ(rules.error().message, "bridge.allow.users[2]: there is no user \"no-such-user\"");
}

TEST(Peers, are_told_by_the_kernel) {
  auto ends = base::make_socket_pair(SOCK_STREAM);
  ASSERT_TRUE(ends.ok());
  const auto peer = peer_of(ends.value().first.get());
  ASSERT_TRUE(peer.ok());
  EXPECT_TRUE(peer.value().is_unix);
  EXPECT_EQ(peer.value().uid, ::geteuid());
  EXPECT_TRUE(peer.value().known);
  EXPECT_FALSE(peer_of(-1).ok());
}

TEST(WhyNoOperator, leaves_who_has_no_number_here_to_the_socket_s_permissions) {
  const Peer outside{.is_unix = true, .uid = 65534, .address = {}, .known = false};
  EXPECT_EQ(why_no_operator(outside, 0), std::nullopt);
  EXPECT_NE((PeerRules{.uids = {65534}, .addresses = {}}).why_not(outside), std::nullopt);
}

TEST(WhyNoOperator, lets_root_and_the_bridge_s_own_user_steer_it_and_nobody_else) {
  const Peer root{.is_unix = true, .uid = 0, .address = {}};
  const Peer www{.is_unix = true, .uid = 33, .address = {}};
  const Peer remote{.address = "::1"};
  EXPECT_EQ(why_no_operator(root, 0), std::nullopt);
  EXPECT_EQ(why_no_operator(root, 33), std::nullopt);
  EXPECT_EQ(why_no_operator(www, 33), std::nullopt);
  EXPECT_EQ(why_no_operator(www, 0), "uid 33 may not steer this bridge, root alone may");
  EXPECT_EQ(why_no_operator(www, 1), "uid 33 may not steer this bridge, root and uid 1 alone may");
  EXPECT_EQ(why_no_operator(remote, 0), "::1 may not steer this bridge, root alone may");
}

}  // namespace
}  // namespace limits
