/* Kinds of state that the kernel keeps for a process. */
#include "battery.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ipc.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void say_limit(int which) {
  struct rlimit now;
  getrlimit(which, &now);
  say("%ld %ld", (long)now.rlim_cur, (long)now.rlim_max);
}
static void lower_limit(int which, rlim_t soft, int hard) {
  struct rlimit now;
  getrlimit(which, &now);
  now.rlim_cur = soft;
  if (hard) now.rlim_max = soft;
  setrlimit(which, &now);
}

KIND(limit_of_files, "limits")
static void look_limit_of_files(void) {
  say_limit(RLIMIT_NOFILE);
}
static void leave_limit_of_files(void) {
  lower_limit(RLIMIT_NOFILE, 777, 0);
}

KIND(limit_of_cores, "limits")
static void look_limit_of_cores(void) {
  say_limit(RLIMIT_CORE);
}
static void leave_limit_of_cores(void) {
  lower_limit(RLIMIT_CORE, 77, 0);
}

KIND(limit_of_the_stack, "limits")
static void look_limit_of_the_stack(void) {
  say_limit(RLIMIT_STACK);
}
static void leave_limit_of_the_stack(void) {
  lower_limit(RLIMIT_STACK, 4 << 20, 0);
}

KIND(limit_of_time, "limits")
static void look_limit_of_time(void) {
  say_limit(RLIMIT_CPU);
}
static void leave_limit_of_time(void) {
  lower_limit(RLIMIT_CPU, 1000, 0);
}

KIND(limit_for_good, "")
static void look_limit_for_good(void) {
  say_limit(RLIMIT_MSGQUEUE);
}
static void leave_limit_for_good(void) {
  lower_limit(RLIMIT_MSGQUEUE, 77, 1);
}

KIND(limit_by_a_child, "limits")
static void look_limit_by_a_child(void) {
  say_limit(RLIMIT_SIGPENDING);
}
static void leave_limit_by_a_child(void) {
  struct rlimit now;
  getrlimit(RLIMIT_SIGPENDING, &now);
  now.rlim_cur = 77;
  if (fork() == 0) _exit(prlimit(getppid(), RLIMIT_SIGPENDING, &now, NULL));
  wait(NULL);
}

KIND(limit_by_a_handle, "limits")
static void look_limit_by_a_handle(void) {
  say_limit(RLIMIT_MEMLOCK);
}
static void leave_limit_by_a_handle(void) {
  struct rlimit now;
  getrlimit(RLIMIT_MEMLOCK, &now);
  now.rlim_cur = 4096;
  int (*set)(int, const struct rlimit *) = dlsym(dlopen("libc.so.6", RTLD_NOW), "setrlimit");
  set(RLIMIT_MEMLOCK, &now);
}

KIND(score_of_memory, "limits")
static void look_score_of_memory(void) {
  say_lines("oom_score_adj", (const char *const[]){"", NULL});
}
static void leave_score_of_memory(void) {
  FILE *score = fopen("/proc/self/oom_score_adj", "w");
  fputs("77", score);
  fclose(score);
}

KIND(file_system_s_user, "")
static void look_file_system_s_user(void) {
  say_status("Uid");
}
static void leave_file_system_s_user(void) {
  setfsuid(65534);
}

KIND(nice, "limits")
static void look_nice(void) {
  say("%d", getpriority(PRIO_PROCESS, 0));
}
static void leave_nice(void) {
  setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 1);
}

KIND(schedule, "")
static void look_schedule(void) {
  say("%d", sched_getscheduler(0));
}
static void leave_schedule(void) {
  struct sched_param none = {0};
  sched_setscheduler(0, SCHED_BATCH, &none);
}

KIND(processors, "limits")
static void look_processors(void) {
  say_status("Cpus_allowed_list");
}
static void leave_processors(void) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  sched_setaffinity(0, sizeof one, &one);
}

KIND(priority_of_input, "")
static void look_priority_of_input(void) {
  say("%ld", syscall(SYS_ioprio_get, 1, 0));
}
static void leave_priority_of_input(void) {
  syscall(SYS_ioprio_set, 1, 0, (2 << 13) | 7);
}

KIND(personality, "limits")
static void look_personality(void) {
  say("%x", personality(0xffffffff));
}
static void leave_personality(void) {
  personality(ADDR_COMPAT_LAYOUT);
}

KIND(slack_of_timers, "limits")
static void look_slack_of_timers(void) {
  say("%d", prctl(PR_GET_TIMERSLACK));
}
static void leave_slack_of_timers(void) {
  prctl(PR_SET_TIMERSLACK, 77777);
}

KIND(name, "name")
static void look_name(void) {
  char name[17] = "";
  prctl(PR_GET_NAME, name);
  say("%s", name);
}
static void leave_name(void) {
  prctl(PR_SET_NAME, "left");
}

KIND(dumpable, "limits")
static void look_dumpable(void) {
  say("%d", prctl(PR_GET_DUMPABLE));
}
static void leave_dumpable(void) {
  prctl(PR_SET_DUMPABLE, 0);
}

KIND(capabilities_kept, "limits")
static void look_capabilities_kept(void) {
  say("%d", prctl(PR_GET_KEEPCAPS));
}
static void leave_capabilities_kept(void) {
  prctl(PR_SET_KEEPCAPS, 1);
}

KIND(reaper, "limits")
static void look_reaper(void) {
  int on = -1;
  prctl(PR_GET_CHILD_SUBREAPER, &on);
  say("%d", on);
}
static void leave_reaper(void) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

KIND(no_huge_pages, "")
static void look_no_huge_pages(void) {
  say("%d", prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
}
static void leave_no_huge_pages(void) {
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

KIND(thread, "")
static void *wait_for_ever(void *unused) {
  for (;;) pause();
  return unused;
}
static void look_thread(void) {
  say_status("Threads");
}
static void leave_thread(void) {
  pthread_t made;
  pthread_create(&made, NULL, wait_for_ever, NULL);
}

KIND(child, "")
static int child_seen;
static void look_child(void) {
  child_seen = waitpid(-1, NULL, WNOHANG) >= 0;
  say("%d", child_seen);
}
static void leave_child(void) {
  if (fork() == 0) {
    for (int fd = 0; fd < 3; ++fd) close(fd);
    usleep(100000);
    _exit(0);
  }
}

KIND(child_that_ended, "")
static void look_child_that_ended(void) {
  say("%d", child_seen);
}
static void leave_child_that_ended(void) {
  if (fork() == 0) _exit(0);
  usleep(5000);
}

KIND(process_group, "")
static void look_process_group(void) {
  say("%d", getpgrp() == getpid());
}
static void leave_process_group(void) {
  setpgid(0, getpgid(getppid()));
}

KIND(user, "")
static void look_user(void) {
  say_status("Uid");
}
static void leave_user(void) {
  setuid(65534);
}

KIND(groups, "")
static void look_groups(void) {
  say_status("Groups");
}
static void leave_groups(void) {
  gid_t one = 65534;
  setgroups(1, &one);
}

KIND(root_folder, "")
static void look_root_folder(void) {
  say("%d", access("/etc/passwd", R_OK));
}
static void leave_root_folder(void) {
  chroot("/usr");
}

KIND(no_new_privileges, "")
static void look_no_new_privileges(void) {
  say_status("NoNewPrivs");
}
static void leave_no_new_privileges(void) {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

KIND(system_call_filter, "")
static void look_system_call_filter(void) {
  say_status("Seccomp");
}
static void leave_system_call_filter(void) {
  struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {1, &all};
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

KIND(namespace, "")
static void look_namespace(void) {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  say("%d", strcmp(name, "left") == 0);
}
static void leave_namespace(void) {
  if (unshare(CLONE_NEWUTS) == 0) sethostname("left", 4);
}
