#include "upgrade/handover.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace upgrade {
namespace {

// The two ends of a handover, in one process. What is handed over may be any descriptor.
class HandoverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto ends = base::make_socket_pair(SOCK_SEQPACKET);
    ASSERT_TRUE(ends);
    old_ = std::move(ends.value().first);
    new_ = std::move(ends.value().second);
  }

  void send(const nlohmann::json& message, int fd = -1) {
    ASSERT_TRUE(send_packet(old_.get(), message, fd).ok());
  }
  void send_bytes(std::string_view bytes) {
    ASSERT_EQ(::send(old_.get(), bytes.data(), bytes.size(), 0), ssize_t(bytes.size()));
  }
  base::Result<Inheritance> received() { return receive_inheritance(new_.get()); }

  base::UniqueFd old_, new_;
  base::UniqueFd socket_{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
};

TEST_F(HandoverTest, EverythingUpToTheControlSocketIsInherited) {
  send({{"listener", "unix:/a"}}, socket_.get());
  send({{"listener", "127.0.0.1:9000"}}, socket_.get());
  send(
      {{"control", "/c"},
       {"programs", {{{"program", "/p"}, {"learned", {"json", "re"}}, {"environment", "TZ=UTC"}}}}},
      old_.get());
  const auto got = received();
  ASSERT_TRUE(got);
  const Inheritance& all = got.value();
  ASSERT_EQ(all.listeners.size(), 2u);
  EXPECT_EQ(all.listeners[1].name, "127.0.0.1:9000");
  EXPECT_TRUE(all.listeners[1].fd);
  EXPECT_TRUE(all.control);
  EXPECT_EQ(all.control_path, "/c");
  ASSERT_EQ(all.programs.size(), 1u);
  EXPECT_EQ(all.programs[0].program, "/p");
  EXPECT_EQ(all.programs[0].learned, (std::vector<std::string>{"json", "re"}));
  EXPECT_EQ(all.programs[0].environment, "TZ=UTC");
}

TEST_F(HandoverTest, WhatAnotherVersionSaysOtherwiseIsLeftOut) {
  send({{"a word of tomorrow", 1}});
  send({{"control", "/c"},
        {"programs",
         {{{"program", 7}},
          "a text",
          {{"program", "/p"}, {"learned", "json"}, {"environment", {1, 2}}},
          {{"program", "/q"}, {"learned", {"re", 3, nullptr}}}}}},
       socket_.get());
  const auto got = received();
  ASSERT_TRUE(got);
  const auto& programs = got.value().programs;
  ASSERT_EQ(programs.size(), 2u);
  EXPECT_TRUE(programs[0].learned.empty());
  EXPECT_TRUE(programs[0].environment.empty());
  EXPECT_EQ(programs[1].learned, std::vector<std::string>{"re"});
}

TEST_F(HandoverTest, ProgramsOfAnotherKindAreNone) {
  send({{"control", "/c"}, {"programs", "all of them"}}, socket_.get());
  const auto got = received();
  ASSERT_TRUE(got);
  EXPECT_TRUE(got.value().programs.empty());
}

TEST_F(HandoverTest, ANameWithoutItsSocketIsAnError) {
  send({{"listener", "unix:/a"}});
  const auto got = received();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message.find("the listener unix:/a came without its socket"), 0u);
}

TEST_F(HandoverTest, AControlPathWithoutItsSocketIsAnError) {
  send({{"control", "/c"}});
  const auto got = received();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message.find("the control socket /c came without its socket"), 0u);
}

TEST_F(HandoverTest, AnEndBeforeTheLastPacketIsAnError) {
  send({{"listener", "unix:/a"}}, socket_.get());
  old_.reset();
  EXPECT_FALSE(received());
}

TEST_F(HandoverTest, BytesThatAreNoMessageAreAnError) {
  for (const std::string_view bytes : {"{", "[]", "7", "\xff"}) {
    send_bytes(bytes);
    EXPECT_FALSE(received()) << bytes;
  }
}

TEST_F(HandoverTest, NothingHasArrivedYet) {
  EXPECT_FALSE(receive_packet(new_.get(), Patience::none));
}

TEST_F(HandoverTest, WhatIsSentToNobodyFailsAtOnce) {
  new_.reset();
  EXPECT_FALSE(send_packet(old_.get(), {{"ready", true}}).ok());
}

TEST_F(HandoverTest, AReaderThatStoppedReadingIsNotWaitedFor) {
  const std::string much(60000, 'x');
  bool refused = false;
  for (int i = 0; i < 1000 && !refused; ++i) refused = !send_packet(old_.get(), much).ok();
  EXPECT_TRUE(refused);
}

}  // namespace
}  // namespace upgrade
