/* A random mix of deeds, and one of the ways to end: see mix.h. */
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "mix.h"

static uint64_t dice;

unsigned roll(unsigned sides) {
  dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
  return (unsigned)((dice >> 20) % sides);
}

void check(int is_well) {
  if (!is_well) printf("failed: %s\n", strerror(errno));
}

volatile sig_atomic_t caught;
int counter, was_barred;
char *kept;

void note(int number) {
  caught = number;
}

static void look(void) {
  struct itimerval timer;
  struct rlimit files, core;
  struct sigaction action;
  struct stat tasks;
  sigset_t blocked, pending;
  stack_t other;
  char name[20] = "", folder[200] = "";
  mode_t mask = umask(0);
  int fd = open("/dev/null", O_RDONLY), handled = 0, ignored = 0, masked = 0, waits = 0;
  umask(mask);
  close(fd);
  getitimer(ITIMER_REAL, &timer);
  getrlimit(RLIMIT_NOFILE, &files), getrlimit(RLIMIT_CORE, &core);
  sigprocmask(SIG_BLOCK, NULL, &blocked), sigpending(&pending), sigaltstack(NULL, &other);
  for (int i = 1; i < 32; ++i) {
    if (i == SIGKILL || i == SIGSTOP || sigaction(i, NULL, &action) != 0) continue;
    handled += action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
    ignored += action.sa_handler == SIG_IGN;
    masked += sigismember(&blocked, i), waits += sigismember(&pending, i);
  }
  prctl(PR_GET_NAME, name);
  check(getcwd(folder, sizeof folder) != NULL);
  printf("look: umask %o fd %d timer %d signals %d %d %d %d stack %d files %d core %d\n", mask, fd,
         timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0, handled, ignored, masked, waits,
         other.ss_flags == SS_DISABLE, (int)files.rlim_cur, (int)core.rlim_cur);
  printf("look: nice %d name %s folder %s env %s locale %s round %d count %d kept %d caught %d\n",
         getpriority(PRIO_PROCESS, 0), name, folder, getenv("MIX") ? getenv("MIX") : "-",
         setlocale(LC_ALL, NULL), fegetround(), counter, kept != NULL, (int)caught);
  if (!was_barred && stat("/proc/self/task", &tasks) == 0)
    printf("look: tasks %d\n", (int)tasks.st_nlink - 2);
}

#define LIST(deed) deed,
static void (*const kDeeds[])(void) = {
    look, look, DEEDS_ON_STATE(LIST) DEEDS_ON_SIGNALS(LIST) DEEDS_ON_THREADS(LIST) ask_pool,
    ask_events};

static void *exit_here(void *code) {
  exit((int)(long)code);
}

int main(void) {
  dice = strtoull(getenv("QUERY_STRING"), NULL, 10) * 0x9e3779b97f4a7c15ull + 1;
  for (int i = 0; i < 20; ++i) roll(2);
  for (unsigned left = 2 + roll(9); left > 0; --left)
    kDeeds[roll(sizeof kDeeds / sizeof *kDeeds)]();
  look();
  long code = roll(100);
  switch (roll(12)) {
    case 0:
      fflush(stdout), _exit((int)code);
    case 1:
      fflush(stdout), quick_exit((int)code);
    case 2:
      fflush(stdout), syscall(SYS_exit_group, code);
      return 0;
    case 3:
      fflush(stdout), raise(SIGKILL);
      return 0;
    case 4:
      fflush(stdout), execlp("echo", "echo", "another program", NULL);
      return 9;
    case 5: {
      pthread_t thread;
      pthread_create(&thread, NULL, exit_here, (void *)code);
      for (;;) pause();
    }
    case 6:
      fflush(stdout), abort();
    case 7:
      exit((int)code);
    default:
      return (int)code;
  }
}
