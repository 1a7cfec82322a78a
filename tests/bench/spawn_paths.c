/* Starts a program again and again, in every way that the kernel offers, in turn:
 *
 *     cc -O2 -o build/spawn_paths tests/bench/spawn_paths.c && build/spawn_paths PROGRAM [ROUNDS]
 *
 * With a cgroup v2's folder, or with files like /sys/fs/cgroup/cpu/x/tasks, also into cgroups.
 *
 * For each way, prints the median of its rounds, in microseconds: how long the starter is blocked,
 * and how long until the program has ended. The starter has 64 MiB of memory, like a busy bridge;
 * before its exec each child does what bridge/worker/launch.cc does. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kRoundsMax = 100000, kMemoryBytes = 64 << 20, kEntrancesMax = 8 };

static const char *program;
static int program_fd, null_fd, cgroup_fd = -1;
static const char *entrances[kEntrancesMax];
static int entrance_count;
static char *words[2], *environment[] = {"GATEWAY_INTERFACE=CGI/1.1", "QUERY_STRING=", NULL};

static void prepare(void) {
  setpgid(0, 0);
  signal(SIGPIPE, SIG_DFL);
  for (int fd = 0; fd <= 2; ++fd) dup2(null_fd, fd);
  if (chdir("/") != 0) _exit(126);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static void run(void) {
  prepare();
  execve(program, words, environment);
  _exit(127);
}

static void run_opened(void) {
  prepare();
  syscall(SYS_execveat, program_fd, "", words, environment, AT_EMPTY_PATH);
  _exit(127);
}

static pid_t by_fork(void) {
  const pid_t pid = fork();
  if (pid == 0) run();
  return pid;
}

static pid_t by_vfork(void) {
  const pid_t pid = vfork();
  if (pid == 0) run();
  return pid;
}

static pid_t by_vfork_opened(void) {
  const pid_t pid = vfork();
  if (pid == 0) run_opened();
  return pid;
}

/* The child itself enters the cgroups, as in bridge/worker/launch.cc. */
static pid_t by_vfork_entering(void) {
  const pid_t pid = vfork();
  if (pid == 0) {
    for (int i = 0; i < entrance_count; ++i) {
      const int fd = open(entrances[i], O_WRONLY | O_CLOEXEC);
      if (fd < 0 || write(fd, "0", 1) != 1) _exit(126);
      close(fd);
    }
    run();
  }
  return pid;
}

static pid_t by_posix_spawn(void) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, pipe;
  sigemptyset(&none);
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  posix_spawn_file_actions_init(&actions);
  for (int fd = 0; fd <= 2; ++fd) posix_spawn_file_actions_adddup2(&actions, null_fd, fd);
  posix_spawn_file_actions_addchdir_np(&actions, "/");
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &pipe);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  if (posix_spawn(&pid, program, &actions, &attributes, words, environment) != 0) pid = -1;
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return pid;
}

/* The system call is inline, because the child continues in this frame, on the same stack. */
static pid_t by_clone3_with(unsigned long long flags) {
  struct clone_args wanted = {.flags = CLONE_VM | CLONE_VFORK | flags,
                              .exit_signal = SIGCHLD,
                              .cgroup = (unsigned)cgroup_fd};
#if defined(__x86_64__)
  long pid;
  __asm__ volatile("syscall"
                   : "=a"(pid)
                   : "a"(SYS_clone3), "D"(&wanted), "S"(sizeof wanted)
                   : "rcx", "r11", "memory");
  if (pid == 0) run();
  return (pid_t)pid;
#else
  (void)wanted;
  return -1;
#endif
}

static pid_t by_clone3(void) {
  return by_clone3_with(0);
}

static pid_t by_clone3_into_cgroup(void) {
  return by_clone3_with(CLONE_INTO_CGROUP);
}

struct way {
  const char *name;
  pid_t (*start)(void);
  double still[kRoundsMax], over[kRoundsMax];
};

static struct way ways[] = {{.name = "fork", .start = by_fork},
                            {.name = "vfork", .start = by_vfork},
                            {.name = "posix_spawn", .start = by_posix_spawn},
                            {.name = "clone3(VM, VFORK)", .start = by_clone3},
                            {.name = "vfork, opened before", .start = by_vfork_opened},
                            {.name = "clone3(INTO_CGROUP)", .start = by_clone3_into_cgroup},
                            {.name = "vfork, entering cgroups", .start = by_vfork_entering}};
enum { kWays = sizeof ways / sizeof *ways };

/* Whether it needs an argument that was not given. */
static int left_out(const struct way *way) {
  return (way->start == by_clone3_into_cgroup && cgroup_fd < 0) ||
         (way->start == by_vfork_entering && entrance_count == 0);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, by_size);
  return values[count / 2];
}

int main(int argc, char **argv) {
  if (argc < 2)
    return fprintf(stderr, "usage: %s PROGRAM [ROUNDS] [CGROUP|-] [ENTRANCE...]\n", argv[0]), 64;
  const int rounds = argc > 2 ? atoi(argv[2]) : 500;
  if (rounds < 1 || rounds > kRoundsMax) return 64;
  words[0] = argv[1];
  program = argv[1];
  program_fd = open(program, O_PATH | O_CLOEXEC);
  null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (argc > 3) cgroup_fd = open(argv[3], O_PATH | O_DIRECTORY | O_CLOEXEC);
  char *memory =
      mmap(NULL, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(memory, 1, kMemoryBytes);
  for (int i = 4; i < argc && entrance_count < kEntrancesMax; ++i) {
    entrances[entrance_count++] = argv[i];
  }
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < kWays; ++i) {
      if (left_out(&ways[i])) continue;
      /* Otherwise the way that comes after fork would pay for it. */
      for (int n = 0; n < 4; ++n) waitpid(by_vfork(), NULL, 0);
      const double begun = now();
      const pid_t pid = ways[i].start();
      ways[i].still[round] = now() - begun;
      int status = 0;
      if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) > 125) {
        return fprintf(stderr, "%s: %s, %x\n", ways[i].name, strerror(errno), (unsigned)status), 1;
      }
      ways[i].over[round] = now() - begun;
    }
  }
  printf("| way | stands still | until its end |\n|---|---:|---:|\n");
  for (int i = 0; i < kWays; ++i) {
    if (left_out(&ways[i])) continue;
    printf("| %s | %.0f | %.0f |\n", ways[i].name, median(ways[i].still, rounds),
           median(ways[i].over, rounds));
  }
  return 0;
}
