#include "sandbox/system_calls.h"

#include <gtest/gtest.h>
#include <seccomp.h>

#include <cstdlib>

namespace sandbox {
namespace {

using Entries = std::vector<std::string>;

std::set<std::string> allowed(const Entries& entries) {
  const auto calls = allowed_calls(entries);
  EXPECT_TRUE(calls.ok()) << calls.error().message;
  return calls.value();
}

TEST(SystemCalls, of_cgi_are_what_programs_and_the_checkpoint_need) {
  const auto calls = allowed({"@cgi"});
  for (const char* call :
       {"read", "execve", "clone", "socket", "setuid", "userfaultfd", "memfd_create", "recvmsg",
        "sendmsg", "waitid", "vfork", "openat", "mmap", "futex", "epoll_wait", "timer_create",
        "semtimedop", "prlimit64"}) {
    EXPECT_TRUE(calls.contains(call)) << call;
  }
  for (const char* call :
       {"mount", "ptrace", "bpf", "keyctl", "init_module", "kexec_load", "reboot", "unshare",
        "setns", "chroot", "process_vm_writev", "io_uring_setup", "open_by_handle_at",
        "perf_event_open", "pidfd_getfd", "swapon"}) {
    EXPECT_FALSE(calls.contains(call)) << call;
  }
}

TEST(SystemCalls, count_in_their_order) {
  EXPECT_EQ(
      allowed({"@aio", "~io_setup", "~io_destroy", "read"}),
      (std::set<std::string>{"io_cancel", "io_getevents", "io_pgetevents", "io_submit", "read"}));
  EXPECT_TRUE(allowed({"@cgi", "~@network-io", "connect"}).contains("connect"));
  EXPECT_FALSE(allowed({"@cgi", "~@network-io"}).contains("connect"));
}

TEST(SystemCalls, begin_with_all_where_the_first_takes_away) {
  const auto calls = allowed({"~@mount"});
  EXPECT_TRUE(calls.contains("keyctl"));
  EXPECT_FALSE(calls.contains("mount"));
}

TEST(SystemCalls, that_do_not_exist_are_told) {
  EXPECT_EQ(allowed_calls({"@cgi", "reed"}).error().message, "no system call is called \"reed\"");
  EXPECT_EQ(allowed_calls({"~@nothing"}).error().message,
            "no group of system calls is called \"@nothing\"");
}

TEST(SystemCalls, in_groups_are_names_that_some_machine_has) {
  unsigned unknown = 0;
  for (const std::string_view group : group_names()) {
    EXPECT_FALSE(calls_of_group(group).empty()) << group;
    for (const std::string_view call : calls_of_group(group)) {
      unknown += seccomp_syscall_resolve_name(std::string(call).c_str()) == __NR_SCMP_ERROR;
    }
  }
  EXPECT_LT(unknown, 40u) << "newer than libseccomp, or misspelt";
}

TEST(SystemCalls, make_filters_that_the_kernel_could_take) {
  const auto filter = filter_of({"@cgi"});
  ASSERT_TRUE(filter.ok()) << filter.error().message;
  EXPECT_EQ(filter.value().size() % 8, 0u);
  EXPECT_LT(filter.value().size() / 8, 4096u) << "BPF_MAXINSNS";
}

}  // namespace
}  // namespace sandbox
