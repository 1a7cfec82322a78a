/* Kinds of state of signals and timers. */
#include "battery.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static void handle(int number) {
  (void)number;
}
/* Asks the kernel itself: handler, flags, and the signals that are blocked meanwhile. */
static void say_action(int number) {
  struct {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
  } now = {0};
  syscall(SYS_rt_sigaction, number, NULL, &now, 8);
  const char *word = now.handler == SIG_DFL   ? "default"
                     : now.handler == SIG_IGN ? "ignored"
                                              : "handled";
  say("%s %lx %lx", word, now.flags & ~0x04000000ul, now.mask);
}

KIND(signal_handled, "signals")
static void look_signal_handled(void) {
  say_action(SIGUSR1);
}
static void leave_signal_handled(void) {
  signal(SIGUSR1, handle);
}

KIND(signal_ignored, "signals")
static void look_signal_ignored(void) {
  say_action(SIGPIPE);
}
static void leave_signal_ignored(void) {
  signal(SIGPIPE, SIG_IGN);
}

KIND(signal_flags, "signals")
static void look_signal_flags(void) {
  say_action(SIGCHLD);
}
static void leave_signal_flags(void) {
  struct sigaction action = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT | SA_RESTART};
  sigaddset(&action.sa_mask, SIGTERM);
  sigaction(SIGCHLD, &action, NULL);
}

KIND(signal_in_real_time, "signals")
static void look_signal_in_real_time(void) {
  say_action(SIGRTMIN + 3);
}
static void leave_signal_in_real_time(void) {
  signal(SIGRTMIN + 3, handle);
}

KIND(signal_blocked, "")
static void look_signal_blocked(void) {
  say_status("SigBlk");
}
static void leave_signal_blocked(void) {
  sigset_t more;
  sigemptyset(&more);
  sigaddset(&more, SIGHUP);
  sigprocmask(SIG_BLOCK, &more, NULL);
}

KIND(signal_pending, "")
static void look_signal_pending(void) {
  say_status("SigPnd"), say_status("ShdPnd");
}
static void leave_signal_pending(void) {
  sigset_t more;
  sigemptyset(&more);
  sigaddset(&more, SIGUSR2);
  sigprocmask(SIG_BLOCK, &more, NULL);
  raise(SIGUSR2), kill(getpid(), SIGUSR2);
}

KIND(signal_stack, "signals")
static void look_signal_stack(void) {
  stack_t now;
  sigaltstack(NULL, &now);
  say("%d", now.ss_flags);
}
static void leave_signal_stack(void) {
  stack_t own = {.ss_sp = malloc(65536), .ss_size = 65536};
  sigaltstack(&own, NULL);
}

KIND(signal_of_the_parent_s_death, "")
static void look_signal_of_the_parent_s_death(void) {
  int number = -1;
  prctl(PR_GET_PDEATHSIG, &number);
  say("%d", number);
}
static void leave_signal_of_the_parent_s_death(void) {
  prctl(PR_SET_PDEATHSIG, SIGUSR1);
}

KIND(alarm, "timers")
static void look_alarm(void) {
  say("%u", alarm(0));
}
static void leave_alarm(void) {
  alarm(1000);
}

static void say_timer(int which) {
  struct itimerval none = {{0, 0}, {0, 0}}, now;
  setitimer(which, &none, &now);
  say("%ld %ld", now.it_value.tv_sec > 0 ? 1l : 0l, now.it_interval.tv_sec);
}
static void start_timer(int which) {
  struct itimerval later = {{1000, 0}, {1000, 0}};
  setitimer(which, &later, NULL);
}

KIND(timer_of_its_time, "timers")
static void look_timer_of_its_time(void) {
  say_timer(ITIMER_VIRTUAL);
}
static void leave_timer_of_its_time(void) {
  start_timer(ITIMER_VIRTUAL);
}

KIND(timer_of_its_and_the_kernel_s_time, "timers")
static void look_timer_of_its_and_the_kernel_s_time(void) {
  say_timer(ITIMER_PROF);
}
static void leave_timer_of_its_and_the_kernel_s_time(void) {
  start_timer(ITIMER_PROF);
}

KIND(timer_of_posix, "")
static void look_timer_of_posix(void) {
  static const char *const words[] = {"ID:", NULL};
  say_lines("timers", words);
}
static void leave_timer_of_posix(void) {
  timer_t made;
  struct sigevent none = {.sigev_notify = SIGEV_NONE};
  timer_create(CLOCK_MONOTONIC, &none, &made);
}
