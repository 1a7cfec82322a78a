#include "gateway/readiness.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gateway {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

const base::TimePoint kStart{1h};

// Programs whose names are in the list are still being made warm.
Readiness::StillWarming warming(Names names) {
  return [names = std::move(names)](const std::string& program) {
    return std::ranges::find(names, program) != names.end();
  };
}

TEST(Readiness, nothing_is_awaited_at_first) {
  EXPECT_EQ(Readiness().why_not(kStart, warming({"/a"})), "");
}

TEST(Readiness, each_program_is_awaited_until_it_is_warm_for_the_first_time) {
  Readiness readiness;
  readiness.wait_for({"/a", "/b"}, kStart + 30s);
  EXPECT_EQ(readiness.why_not(kStart, warming({"/a", "/b"})),
            "2 program(s) of bridge.prewarm are not warm yet, the first is /a");
  EXPECT_EQ(readiness.why_not(kStart, warming({"/b"})),
            "1 program(s) of bridge.prewarm are not warm yet, the first is /b");
  // Its next version starts.
  EXPECT_EQ(readiness.why_not(kStart, warming({"/a", "/b"})),
            "1 program(s) of bridge.prewarm are not warm yet, the first is /b");
  EXPECT_EQ(readiness.why_not(kStart, warming({"/a"})), "");
  EXPECT_EQ(readiness.why_not(kStart, warming({"/a", "/b"})), "");
}

TEST(Readiness, nobody_waits_for_ever) {
  Readiness readiness;
  readiness.wait_for({"/a"}, kStart + 30s);
  EXPECT_NE(readiness.why_not(kStart + 29s, warming({"/a"})), "");
  EXPECT_EQ(readiness.why_not(kStart + 30s, warming({"/a"})), "");
}

TEST(Readiness, a_bridge_that_leaves_is_not_ready_any_more) {
  Readiness readiness;
  EXPECT_FALSE(readiness.leaving());
  readiness.leave();
  EXPECT_TRUE(readiness.leaving());
  EXPECT_EQ(readiness.why_not(kStart, warming({})), "the bridge is about to end");
}

TEST(Readiness, is_told_by_a_status_that_no_cache_keeps) {
  PageRequest request{};
  const auto status = [&](std::string_view method, const std::string& why_not) {
    request.method = method;
    return health_answer(request, why_not).status;
  };
  EXPECT_EQ(status("GET", ""), 200);
  EXPECT_EQ(status("HEAD", ""), 200);
  EXPECT_EQ(status("GET", "why"), 503);
  EXPECT_EQ(status("POST", ""), 405);
  request.method = "GET";
  const PageAnswer answer = health_answer(request, "why");
  EXPECT_EQ(answer.body, "why\n");
  const std::pair<std::string, std::string> no_cache{"Cache-Control", "no-store"};
  EXPECT_EQ(answer.headers.front(), no_cache);
}

}  // namespace
}  // namespace gateway
