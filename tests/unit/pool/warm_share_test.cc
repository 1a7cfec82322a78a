#include "pool/warm_share.h"

#include <gtest/gtest.h>

namespace pool {
namespace {

TEST(WarmShare, says_nothing_while_all_are_warm) {
  WarmShare share;
  EXPECT_EQ(share.describe(), "");
  share.count(Cold::not_at_all);
  share.count(Cold::chosen);
  EXPECT_EQ(share.describe(), "");
  EXPECT_EQ(share.all(), 1U);
}

TEST(WarmShare, says_why_the_others_were_not) {
  WarmShare share;
  for (int i = 0; i < 3; ++i) share.count(Cold::not_at_all);
  share.count(Cold::executed);
  share.count(Cold::executed);
  share.count(Cold::no_worker);
  EXPECT_EQ(share.describe(),
            "3 of 6 request(s); 1 found no worker ready, 2 executed another program");
  share.note_executed("/usr/bin/mandoc");
  EXPECT_EQ(
      share.describe(),
      "3 of 6 request(s); 1 found no worker ready, 2 executed another program (/usr/bin/mandoc)");
  EXPECT_EQ(share.warm(), 3U);
  EXPECT_EQ(share.counted(Cold::executed), 2U);
}

}  // namespace
}  // namespace pool
