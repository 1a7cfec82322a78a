// The groups of system calls. Their names and contents are systemd's (systemd.exec(5),
// SystemCallFilter=), as far as a CGI program may need them.
#include <algorithm>
#include <array>
#include <utility>

#include "sandbox/system_calls.h"

namespace sandbox {
namespace {

using Group = std::pair<std::string_view, std::string_view>;

// A group may contain others that are above it in this table.
constexpr std::array<Group, 22> kGroups = {{
    {"aio", "io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit"},
    {"basic-io",
     "_llseek close close_range dup dup2 dup3 lseek pread64 preadv preadv2 pwrite64 pwritev "
     "pwritev2 read readv write writev"},
    {"chown", "chown chown32 fchown fchown32 fchownat lchown lchown32"},
    {"clock", "adjtimex clock_adjtime clock_settime settimeofday stime"},
    {"cpu-emulation", "modify_ldt subpage_prot switch_endian vm86 vm86old"},
    {"debug",
     "lookup_dcookie perf_event_open pidfd_getfd process_madvise process_vm_readv "
     "process_vm_writev ptrace rtas s390_runtime_instr sys_debug_setcontext"},
    {"default",
     "arch_prctl brk cacheflush clock_getres clock_gettime clock_nanosleep execve execveat exit "
     "exit_group futex futex_waitv futex_wait futex_wake futex_requeue get_robust_list "
     "get_thread_area getegid geteuid getgid getgroups getpgid getpgrp getpid getppid getrandom "
     "getresgid getresuid getrlimit getsid gettid gettimeofday getuid map_shadow_stack membarrier "
     "mmap mmap2 mprotect mseal munmap nanosleep pause prlimit64 restart_syscall "
     "riscv_flush_icache riscv_hwprobe rseq rt_sigreturn sched_getaffinity sched_yield "
     "set_robust_list set_thread_area set_tid_address set_tls sigreturn time ugetrlimit uretprobe"},
    {"file-system",
     "access chdir chmod close creat faccessat faccessat2 fallocate fchdir fchmod fchmodat "
     "fchmodat2 fcntl fcntl64 fgetxattr flistxattr fremovexattr fsetxattr fstat fstat64 fstatat64 "
     "fstatfs fstatfs64 ftruncate ftruncate64 futimesat getcwd getdents getdents64 getxattr "
     "inotify_add_watch inotify_init inotify_init1 inotify_rm_watch lgetxattr link linkat "
     "listxattr llistxattr lremovexattr lsetxattr lstat lstat64 mkdir mkdirat mknod mknodat "
     "newfstatat oldfstat oldlstat oldstat open openat openat2 readlink readlinkat removexattr "
     "rename renameat renameat2 rmdir setxattr stat stat64 statfs statfs64 statx symlink symlinkat "
     "truncate truncate64 unlink unlinkat utime utimensat utimes"},
    {"io-event",
     "_newselect epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 "
     "epoll_wait epoll_wait_old eventfd eventfd2 poll ppoll pselect6 select"},
    {"ipc",
     "ipc memfd_create mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink "
     "msgctl msgget msgrcv msgsnd pipe pipe2 semctl semget semop semtimedop shmat shmctl shmdt "
     "shmget"},
    {"keyring", "add_key keyctl request_key"},
    {"module", "delete_module finit_module init_module"},
    {"mount",
     "chroot fsconfig fsmount fsopen fspick mount mount_setattr move_mount open_tree pivot_root "
     "umount umount2"},
    {"network-io",
     "accept accept4 bind connect getpeername getsockname getsockopt listen recv recvfrom "
     "recvmmsg recvmsg send sendmmsg sendmsg sendto setsockopt shutdown socket socketcall "
     "socketpair"},
    {"process",
     "arch_prctl capget clone clone3 fork getrusage kill pidfd_open pidfd_send_signal prctl "
     "rt_sigqueueinfo rt_tgsigqueueinfo swapcontext tgkill times tkill vfork wait4 waitid waitpid"},
    {"raw-io", "ioperm iopl pciconfig_iobase pciconfig_read pciconfig_write"},
    {"reboot", "kexec_file_load kexec_load reboot"},
    {"resources",
     "ioprio_set mbind migrate_pages move_pages nice sched_setaffinity sched_setattr "
     "sched_setparam sched_setscheduler set_mempolicy set_mempolicy_home_node setpriority "
     "setrlimit"},
    {"setuid",
     "setgid setgid32 setgroups setgroups32 setregid setregid32 setresgid setresgid32 setresuid "
     "setresuid32 setreuid setreuid32 setuid setuid32"},
    {"signal",
     "rt_sigaction rt_sigpending rt_sigprocmask rt_sigsuspend rt_sigtimedwait sigaction "
     "sigaltstack signal signalfd signalfd4 sigpending sigprocmask sigsuspend"},
    {"swap", "swapoff swapon"},
    // What a CGI program may need: systemd's @system-service without its @keyring. userfaultfd is
    // allowed in the form that sees nothing of the kernel's accesses: the checkpoint library uses
    // that.
    {"cgi",
     "@aio @basic-io @chown @default @file-system @io-event @ipc @network-io @process @resources "
     "@setuid @signal alarm cachestat capset copy_file_range fadvise64 fadvise64_64 "
     "fdatasync flock fsync get_mempolicy getcpu getitimer getpriority ioctl ioprio_get kcmp "
     "landlock_add_rule landlock_create_ruleset landlock_restrict_self madvise mincore mlock "
     "mlock2 mlockall mremap msync munlock munlockall personality pkey_alloc pkey_free "
     "pkey_mprotect readahead remap_file_pages sched_get_priority_max sched_get_priority_min "
     "sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval seccomp sendfile "
     "sendfile64 setfsgid setfsgid32 setfsuid setfsuid32 setitimer setpgid setsid splice sync "
     "sync_file_range sync_file_range2 syncfs sysinfo tee timer_create timer_delete "
     "timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime "
     "umask uname userfaultfd vmsplice"},
}};

}  // namespace

std::vector<std::string_view> group_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, calls] : kGroups) names.push_back(name);
  return names;
}

std::vector<std::string_view> calls_of_group(std::string_view group) {
  std::vector<std::string_view> found;
  for (const auto& [name, text] : kGroups) {
    if (name != group) continue;
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
      if (!word.starts_with('@')) {
        found.push_back(word);
        continue;
      }
      for (const std::string_view call : calls_of_group(word.substr(1))) found.push_back(call);
    }
  }
  return found;
}

}  // namespace sandbox
