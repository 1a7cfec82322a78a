#include "sandbox/fence.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace sandbox {
namespace {

constexpr int kAllowed = 0;

// Does what the kernel would do: the classic BPF of these filters is loads, comparisons and
// returns.
std::uint32_t run(const std::vector<sock_filter>& code, const seccomp_data& call) {
  std::uint32_t accumulator = 0;
  for (std::size_t at = 0; at < code.size(); ++at) {
    const sock_filter& step = code[at];
    bool holds = false;
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&accumulator, reinterpret_cast<const char*>(&call) + step.k, 4);
        continue;
      case BPF_RET | BPF_K:
        return step.k;
      case BPF_JMP | BPF_JA:
        at += step.k;
        continue;
      case BPF_ALU | BPF_AND | BPF_K:
        accumulator &= step.k;
        continue;
      case BPF_JMP | BPF_JEQ | BPF_K:
        holds = accumulator == step.k;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        holds = accumulator >= step.k;
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        holds = accumulator > step.k;
        break;
      default:
        ADD_FAILURE() << "instruction " << step.code;
        return SECCOMP_RET_KILL_PROCESS;
    }
    at += holds ? step.jt : step.jf;
  }
  ADD_FAILURE() << "no end";
  return SECCOMP_RET_KILL_PROCESS;
}

// The error that a call gets, or kAllowed.
int result_of(Sockets sockets, std::uint32_t arch, int number,
              std::vector<std::uint64_t> arguments) {
  const auto bytes = fence_of(sockets);
  EXPECT_TRUE(bytes.ok());
  std::vector<sock_filter> code(bytes.value().size() / sizeof(sock_filter));
  std::memcpy(code.data(), bytes.value().data(), bytes.value().size());
  seccomp_data call{};
  call.nr = number;
  call.arch = arch;
  for (std::size_t i = 0; i < arguments.size(); ++i) call.args[i] = arguments[i];
  const std::uint32_t result = run(code, call);
  if (result == SECCOMP_RET_ALLOW) return kAllowed;
  EXPECT_EQ(result & SECCOMP_RET_ACTION_FULL, std::uint32_t{SECCOMP_RET_ERRNO});
  return static_cast<int>(result & SECCOMP_RET_DATA);
}

int result_of(Sockets sockets, int number, std::vector<std::uint64_t> arguments) {
  return result_of(sockets, seccomp_arch_native(), number, std::move(arguments));
}

TEST(Fence, lets_a_process_change_itself_alone) {
  const auto result = [](int number, std::vector<std::uint64_t> arguments) {
    return result_of(Sockets::all, number, std::move(arguments));
  };
  EXPECT_EQ(result(SCMP_SYS(prlimit64), {0, 7, 0x7fff0000, 0}), kAllowed);
  EXPECT_EQ(result(SCMP_SYS(prlimit64), {1234, 7, 0, 0x7fff0000}), kAllowed) << "to read";
  EXPECT_EQ(result(SCMP_SYS(prlimit64), {1234, 7, 0x7fff0000, 0}), EPERM);
  EXPECT_EQ(result(SCMP_SYS(prlimit64), {1234, 7, 0x7f0000000000, 0}), EPERM) << "the upper half";
  for (const int call : {SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setattr),
                         SCMP_SYS(sched_setparam), SCMP_SYS(sched_setscheduler)}) {
    EXPECT_EQ(result(call, {0, 1, 1}), kAllowed) << call;
    EXPECT_EQ(result(call, {1234, 1, 1}), EPERM) << call;
    EXPECT_EQ(result(call, {std::uint64_t{1234} << 32, 1, 1}), EPERM) << call;
  }
  EXPECT_EQ(result(SCMP_SYS(setpriority), {0, 0, 5}), kAllowed);
  EXPECT_EQ(result(SCMP_SYS(setpriority), {0, 1234, 5}), EPERM);
  EXPECT_EQ(result(SCMP_SYS(setpriority), {1, 0, 5}), EPERM) << "its group";
  EXPECT_EQ(result(SCMP_SYS(setpriority), {2, 0, 5}), EPERM) << "its user";
  EXPECT_EQ(result(SCMP_SYS(ioprio_set), {1, 0, 5}), kAllowed);
  EXPECT_EQ(result(SCMP_SYS(ioprio_set), {1, 1234, 5}), EPERM);
  EXPECT_EQ(result(SCMP_SYS(ioprio_set), {3, 0, 5}), EPERM);
  EXPECT_EQ(result(SCMP_SYS(kill), {1234, 9}), kAllowed) << "Landlock rules it";
}

TEST(Fence, of_a_network_lets_sockets_through_that_a_namespace_holds) {
  for (std::uint64_t family = 0; family < 100; ++family) {
    const bool held =
        family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
    for (const int call : {SCMP_SYS(socket), SCMP_SYS(socketpair)}) {
      EXPECT_EQ(result_of(Sockets::all, call, {family, 1, 0}), kAllowed) << family;
      EXPECT_EQ(result_of(Sockets::of_a_namespace, call, {family, 1, 0}),
                held ? kAllowed : EAFNOSUPPORT)
          << family;
      EXPECT_EQ(result_of(Sockets::files_alone, call, {family, 1, 0}),
                family == AF_UNIX ? kAllowed : EAFNOSUPPORT)
          << family;
    }
  }
  EXPECT_EQ(result_of(Sockets::of_a_namespace, SCMP_SYS(socket), {AF_NETLINK, 3, 9}),
            EPROTONOSUPPORT);
  EXPECT_EQ(result_of(Sockets::of_a_namespace, SCMP_SYS(socket),
                      {AF_VSOCK | std::uint64_t{1} << 32, 1, 0}),
            EAFNOSUPPORT);
  EXPECT_EQ(result_of(Sockets::of_a_namespace, SCMP_SYS(io_uring_setup), {8, 0}), EPERM);
  EXPECT_EQ(result_of(Sockets::all, SCMP_SYS(io_uring_setup), {8, 0}), kAllowed);
}

TEST(Fence, holds_for_programs_of_32_bits) {
  if (seccomp_arch_native() != SCMP_ARCH_X86_64) GTEST_SKIP() << "numbers of x86";
  constexpr int kPrlimit = 340, kSocket = 359, kSocketcall = 102, kRead = 3;
  const auto result = [](int number, std::vector<std::uint64_t> arguments) {
    return result_of(Sockets::of_a_namespace, AUDIT_ARCH_I386, number, std::move(arguments));
  };
  EXPECT_EQ(result(kRead, {}), kAllowed);
  EXPECT_EQ(result(kPrlimit, {1234, 7, 0x8000, 0}), EPERM);
  EXPECT_EQ(result(kPrlimit, {0, 7, 0x8000, 0}), kAllowed);
  EXPECT_EQ(result(kSocket, {AF_VSOCK, 1, 0}), EAFNOSUPPORT);
  EXPECT_EQ(result(kSocket, {AF_INET, 1, 0}), kAllowed);
  EXPECT_EQ(result(kSocketcall, {1, 0x8000}), EAFNOSUPPORT);
  EXPECT_EQ(result(kSocketcall, {3, 0x8000}), kAllowed) << "connect";
}

}  // namespace
}  // namespace sandbox
