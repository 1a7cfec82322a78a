/* Deeds on signals, timers and children: see mix.h. */
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mix.h"

void catch_signal(void) {
  static const int kSignals[] = {SIGUSR1, SIGUSR2, SIGHUP, SIGWINCH, SIGCHLD, SIGURG};
  int number = kSignals[roll(6)];
  struct sigaction before,
      action = {.sa_handler = note, .sa_flags = roll(2) ? SA_RESTART : (int)SA_RESETHAND};
  if (roll(2)) sigfillset(&action.sa_mask);
  sigaction(number, &action, &before);
  printf("signal: %d %d %d %x\n", number, before.sa_handler == SIG_DFL, (int)caught,
         before.sa_flags & ~0x4000000);
  raise(number);
  printf("signal: %d\n", (int)caught);
}

void block_signals(void) {
  sigset_t set, before, pending;
  sigemptyset(&set), sigaddset(&set, roll(2) ? SIGUSR1 : SIGRTMIN + 3);
  sigprocmask(roll(3) ? SIG_BLOCK : SIG_UNBLOCK, &set, &before);
  sigpending(&pending);
  printf("blocked: %d %d %d\n", sigismember(&before, SIGUSR1), sigismember(&before, SIGRTMIN + 3),
         sigismember(&pending, SIGUSR1));
  sigprocmask(SIG_BLOCK, NULL, &set);
  if (sigismember(&set, SIGUSR1)) raise(SIGUSR1);
}

void await_alarm(void) {
  struct itimerval soon = {{0, 0}, {0, 1000}}, before;
  sigset_t open_mask;
  int was = (int)caught;
  caught = 0;
  signal(SIGALRM, note);
  setitimer(ITIMER_REAL, &soon, &before);
  sigprocmask(SIG_BLOCK, NULL, &open_mask), sigdelset(&open_mask, SIGALRM);
  while (caught != SIGALRM) {
    struct timespec moment = {0, 500000};
    ppoll(NULL, 0, &moment, &open_mask);
  }
  printf("alarm: %d %d\n", was, before.it_value.tv_sec != 0);
  if (roll(2)) alarm(1000);
}

void set_timer(void) {
  timer_t timer;
  struct sigevent how = {.sigev_notify = SIGEV_NONE};
  struct itimerspec when = {{0, 0}, {1000, 0}};
  check(timer_create(CLOCK_MONOTONIC, &how, &timer) == 0);
  printf("timer: %ld\n", (long)timer);
  timer_settime(timer, 0, &when, NULL);
}

void await_timer(void) {
  int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  struct itimerspec when = {{0, 0}, {0, 200000}};
  uint64_t times = 0;
  timerfd_settime(fd, 0, &when, NULL);
  check(read(fd, &times, sizeof times) == sizeof times);
  printf("timer's descriptor: %d %d\n", fd, (int)times);
}

void take_signal_by_descriptor(void) {
  sigset_t set;
  struct signalfd_siginfo info = {0};
  sigemptyset(&set), sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, NULL);
  int fd = signalfd(-1, &set, SFD_NONBLOCK);
  raise(SIGUSR2);
  printf("signal's descriptor: %d", fd);
  printf(" %d", (int)read(fd, &info, sizeof info));
  printf(" %u\n", info.ssi_signo);
}

void other_stack(void) {
  static char stack[65536];
  stack_t before, now = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&now, &before);
  printf("stack: %d %d\n", before.ss_flags, stack[60000]);
  stack[60000] = 1;
}

void fork_child(void) {
  int status = 0, code = (int)roll(200);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    if (roll(2)) setenv("MIX", "child", 1), umask(0), check(chdir("/") == 0);
    if (roll(3) == 0) printf("child: %d\n", counter), fflush(stdout);
    if (roll(4) == 0) raise(SIGKILL);
    _exit(code);
  }
  for (int i = 0; i < 4; ++i) roll(2);
  check(waitpid(child, &status, 0) == child);
  printf("child: %d %d\n", WIFEXITED(status),
         WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

void run_program(void) {
  char line[80] = "";
  fflush(stdout);
  FILE *child = popen("umask; ulimit -n; echo $MIX", "r");
  while (child != NULL && fgets(line, sizeof line, child) != NULL) printf("program: %s", line);
  if (child != NULL) printf("program: %d\n", pclose(child));
}

void spawn_program(void) {
  extern char **environ;
  char *words[] = {"sh", "-c", "exit 3", NULL};
  pid_t child;
  int status = 0;
  check(posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ) == 0);
  check(waitpid(child, &status, 0) == child);
  printf("spawned: %d\n", status);
}
