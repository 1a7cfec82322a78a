#include "worker/child_reaper.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop/loop.h"

namespace worker {
namespace {

// A dead child that nobody has reaped.
pid_t dead_child() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  return pid;
}

TEST(ChildReaper, tells_of_another_s_death_when_one_is_released) {
  loop::Loop loop;
  ChildReaper reaper(loop);
  bool told = false;
  reaper.expect(dead_child(), [&told](const Death&) { told = true; });
  reaper.hold(::getpid());
  reaper.release(::getpid());
  EXPECT_TRUE(told);
}

// The receiver of a report may be half destroyed already, because all of a pool's workers are
// destroyed at once.
TEST(ChildReaper, tells_nobody_anything_while_one_is_abandoned) {
  loop::Loop loop;
  ChildReaper reaper(loop);
  bool told = false;
  reaper.expect(dead_child(), [&told](const Death&) { told = true; });
  reaper.hold(::getpid());
  reaper.abandon(::getpid());
  EXPECT_FALSE(told);
  reaper.hold(::getpid());
  reaper.release(::getpid());
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace worker
