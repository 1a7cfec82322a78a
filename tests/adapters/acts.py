"""A C program that inspects its process and then does one thing to it; a call by an instruction."""

# A system call by an instruction of the program's own, on x86-64: static long raw(...).
RAW_CALL = r"""
static long raw(long n, long a, long b, long c, long d) {
  long result;
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = 0, r9 __asm__("r9") = 0;
  __asm__ volatile("syscall" : "=a"(result)
                   : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
}
"""

INCLUDES = r"""
#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <ulimit.h>
#include <unistd.h>
static void *waits(void *p) { pause(); return 0; }
static void *waits_deaf(void *p) {
  unsigned long all = ~0ul; syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, 8); for (;;) pause();
}
static void *ends(void *p) { return 0; }
static void handler(int n) {}
static int child_waits(void *p) { for (int i = 0; i < 3; ++i) close(i); sleep(2); return 0; }
static pid_t sleeper(void) { /* does not hold the streams, and ends by itself */
  pid_t pid = fork();
  if (pid == 0) { for (int i = 0; i < 3; ++i) close(i); sleep(3); _exit(0); }
  return pid;
}
static void one_ends(void) { siginfo_t who; waitid(P_ALL, 0, &who, WEXITED | WNOWAIT); }
static void allow_all(void) {
  struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {1, &all};
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
static void drop_capabilities(void) {
  struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {{0}};
  syscall(SYS_capset, &head, none);
}
static void undo(void) {
  int id = semget(IPC_PRIVATE, 1, 0600);
  struct sembuf up = {0, 1, SEM_UNDO};
  semop(id, &up, 1); semctl(id, 0, IPC_RMID);
}
static void limit(int which, int soft_only) {
  struct rlimit now; getrlimit(which, &now);
  now.rlim_cur = 77; if (!soft_only) now.rlim_max = 77;
  setrlimit(which, &now);
}
static void scheduler(int policy) { struct sched_param p = {0}; sched_setscheduler(0, policy, &p); }
static void one_processor(void) {
  cpu_set_t one; CPU_ZERO(&one); CPU_SET(0, &one); sched_setaffinity(0, sizeof one, &one);
}
static void timer_of(int clock) {
  timer_t t; struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  struct itimerspec in = {{0}, {1000, 0}};
  timer_create(clock, &e, &t); timer_settime(t, 0, &in, 0);
}
/* What a program may see of its process, in words. SigQ counts other processes' signals, too. */
static const char *const words[] = {"SigP", "SigB", "SigI", "SigC", "Shd", "Cap", "Uid", "Gid", "Groups",
    "Threads", "Umask", "NoNew", "Seccomp", "VmLck", "Cpus_allowed_list", "Name", "Max", "ID:"};
static void look(const char *path) {
  char text[8192] = ""; int fd = open(path, O_RDONLY);
  read(fd, text, sizeof text - 1); close(fd);
  for (char *line = strtok(text, "\n"); line; line = strtok(0, "\n"))
    for (int i = 0; i < sizeof words / sizeof *words; ++i)
      if (strncmp(line, words[i], strlen(words[i])) == 0) puts(line);
}
static const char *one_line(const char *path) {
  static char text[256]; memset(text, 0, sizeof text);
  int fd = open(path, O_RDONLY); read(fd, text, sizeof text - 1); close(fd); return text;
}
static void look_around(void) {
  char text[4096];
  printf("leader %d session %d nice %d scheduler %d umask %o personality %s", getpgrp() == getpid(),
         getsid(0) == getpid(), getpriority(PRIO_PROCESS, 0), sched_getscheduler(0), umask(022),
         one_line("/proc/self/personality"));
  printf("thp %d merge %d mce %d ", prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0), prctl(68, 0, 0, 0, 0),
         prctl(PR_MCE_KILL_GET, 0, 0, 0, 0));
  printf("slack %d oom %s", prctl(PR_GET_TIMERSLACK), one_line("/proc/self/oom_score_adj"));
  printf("dumped %s", one_line("/proc/self/coredump_filter"));
  printf("ioprio %ld root %s cwd %s\n",
         syscall(SYS_ioprio_get, 1, 0), access("/etc", F_OK) ? "another" : "/", getcwd(text, sizeof text));
  for (int i = 3; i < 64; ++i) if (fcntl(i, F_GETFD) >= 0) printf("descriptor %d\n", i);
  struct itimerval t; for (int i = 0; i < 3; ++i) { getitimer(i, &t); printf("timer %ld\n",
      t.it_value.tv_sec); }
  printf("child %d\n", waitpid(-1, 0, WNOHANG) >= 0);
  stack_t stack; sigaltstack(0, &stack); printf("alternate stack %d\n", stack.ss_flags);
  for (int i = 1; i < 65; ++i) {
    struct sigaction a; if (sigaction(i, 0, &a) == 0 && a.sa_handler) printf("signal %d\n", i); }
  look("/proc/self/status"); look("/proc/self/limits"); look("/proc/self/timers");
  fflush(stdout);
}
"""


def compile_act(folder, act, constructor=""):
    return [folder.compile("act.c", INCLUDES + constructor + """
int main(int argc, char **argv) { look_around(); %s; puts("done"); return 3; }""" % act, "-pthread",
                           "-D_GNU_SOURCE")]
