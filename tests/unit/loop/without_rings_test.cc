#include <dlfcn.h>
#include <gtest/gtest.h>
#include <uv.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>

#include "loop/loop.h"

namespace {

constexpr const char* kVariable = "UV_USE_IO_URING";

std::optional<std::string> value() {
  const char* text = std::getenv(kVariable);
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

// What libuv finds when it makes a loop.
std::optional<std::string> found;

}  // namespace

// Called in the place of libuv's, and calls it: only 1.45 to 1.48 would show by a thread what they
// have found.
extern "C" int uv_loop_init(uv_loop_t* loop) {
  found = value();
  const auto of_libuv = reinterpret_cast<int (*)(uv_loop_t*)>(::dlsym(RTLD_NEXT, "uv_loop_init"));
  return of_libuv(loop);
}

namespace loop {
namespace {

class WithoutRingsTest : public testing::TestWithParam<const char*> {
 protected:
  ~WithoutRingsTest() override { ::unsetenv(kVariable); }
};

TEST_P(WithoutRingsTest, holds_only_while_a_loop_is_made) {
  if (GetParam() != nullptr) ::setenv(kVariable, GetParam(), 1);
  const auto before = value();
  const Loop loop;
  EXPECT_EQ(found, "0");
  EXPECT_EQ(value(), before);
}

INSTANTIATE_TEST_SUITE_P(Values, WithoutRingsTest,
                         testing::Values(nullptr, "", "1", "a value that is longer than most"));

std::ptrdiff_t count_of_threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

// A sanitizer may have some of its own.
TEST(LoopThreads, are_not_made_by_a_loop) {
  const auto before = count_of_threads();
  Loop loop;
  loop.turn();
  EXPECT_EQ(count_of_threads(), before);
}

}  // namespace
}  // namespace loop
