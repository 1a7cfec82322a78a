#include "sandbox/fence.h"

#include <linux/net.h>
#include <linux/netlink.h>
#include <seccomp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <vector>

#include "base/unique_fd.h"
#include "sandbox/filter.h"

namespace sandbox {
namespace {

// IOPRIO_WHO_PROCESS, ioprio_set(2). Newer versions of linux/ioprio.h are C only: they name a
// parameter class.
constexpr int kIoPriorityOfProcess = 1;

using Compared = std::vector<scmp_arg_cmp>;

scmp_arg_cmp argument(unsigned number, scmp_compare compare, std::uint64_t value) {
  return {.arg = number, .op = compare, .datum_a = value, .datum_b = 0};
}

// A filter that allows every call that it does not refuse.
class Fence {
 public:
  Fence() : filter_(seccomp_init(SCMP_ACT_ALLOW)) {
    // 32-bit programs run on these machines as well. Calls from any other architecture get ENOSYS.
    const std::uint32_t native = seccomp_arch_native();
    note(seccomp_attr_set(filter_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)));
    if (native == SCMP_ARCH_X86_64) note(seccomp_arch_add(filter_.get(), SCMP_ARCH_X86));
    if (native == SCMP_ARCH_AARCH64) note(seccomp_arch_add(filter_.get(), SCMP_ARCH_ARM));
  }

  // Refuses the call where all of `compared` are true.
  void refuse(int error, int call, const Compared& compared) {
    note(seccomp_rule_add_array(filter_.get(), SCMP_ACT_ERRNO(error), call,
                                static_cast<unsigned>(compared.size()), compared.data()));
  }

  base::Result<std::string> instructions() const {
    if (failure_ != 0) return base::errno_error("sandbox: cannot make its fence", -failure_);
    return instructions_of(filter_);
  }

 private:
  void note(int result) {
    if (failure_ == 0) failure_ = result;
  }

  const Filter filter_;
  int failure_ = 0;
};

// Refuses what the kernel lets any process of the same user change.
void refuse_other_processes(Fence& fence) {
  const scmp_arg_cmp another = argument(0, SCMP_CMP_NE, 0);
  fence.refuse(EPERM, SCMP_SYS(prlimit64), {another, argument(2, SCMP_CMP_NE, 0)});
  for (const int call :
       {SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setattr), SCMP_SYS(sched_setparam),
        SCMP_SYS(sched_setscheduler), SCMP_SYS(migrate_pages), SCMP_SYS(move_pages)}) {
    fence.refuse(EPERM, call, {another});
  }
  // Refuse groups and users, too: they include other processes.
  const scmp_arg_cmp whose = argument(1, SCMP_CMP_NE, 0);
  fence.refuse(EPERM, SCMP_SYS(setpriority), {argument(0, SCMP_CMP_NE, PRIO_PROCESS)});
  fence.refuse(EPERM, SCMP_SYS(setpriority), {whose});
  fence.refuse(EPERM, SCMP_SYS(ioprio_set), {argument(0, SCMP_CMP_NE, kIoPriorityOfProcess)});
  fence.refuse(EPERM, SCMP_SYS(ioprio_set), {whose});
}

bool is_held(unsigned family, Sockets allowed) {
  if (allowed == Sockets::files_alone) return family == AF_UNIX;
  return family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
}

void refuse_sockets(Fence& fence, Sockets allowed) {
  for (const int call : {SCMP_SYS(socket), SCMP_SYS(socketpair)}) {
    for (unsigned family = 0; family <= AF_NETLINK; ++family) {
      if (is_held(family, allowed)) continue;
      fence.refuse(EAFNOSUPPORT, call, {argument(0, SCMP_CMP_EQ, family)});
    }
    fence.refuse(EAFNOSUPPORT, call, {argument(0, SCMP_CMP_GT, AF_NETLINK)});
  }
  // Refuse the other protocols of AF_NETLINK: audit, kernel events and ciphers belong to the whole
  // machine.
  if (allowed == Sockets::of_a_namespace) {
    fence.refuse(EPROTONOSUPPORT, SCMP_SYS(socket),
                 {argument(0, SCMP_CMP_EQ, AF_NETLINK), argument(2, SCMP_CMP_NE, NETLINK_ROUTE)});
  }
  // The older 32-bit call has the family in memory, where no filter can look.
  for (const unsigned call : {SYS_SOCKET, SYS_SOCKETPAIR}) {
    fence.refuse(EAFNOSUPPORT, SCMP_SYS(socketcall), {argument(0, SCMP_CMP_EQ, call)});
  }
  // io_uring can make sockets, too.
  fence.refuse(EPERM, SCMP_SYS(io_uring_setup), {});
}

}  // namespace

base::Result<std::string> fence_of(Sockets allowed) {
  Fence fence;
  refuse_other_processes(fence);
  if (allowed != Sockets::all) refuse_sockets(fence, allowed);
  return fence.instructions();
}

}  // namespace sandbox
