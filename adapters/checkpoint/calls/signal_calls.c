/* Calls on signals: their flags and masks, and real-time signals, are not in /proc/self/stat; see
 * rare_calls.c. */
#include <dlfcn.h>
#include <signal.h>
#include <string.h>

#include "rewind/engine.h"

void note_signal(long number) {
  if (number <= 0 || number >= kSignalsMax) return;
  __atomic_fetch_or(&state.touched_signals, 1ull << (number - 1), __ATOMIC_SEQ_CST);
}

/* Perl asks for all of them at its end: 67 system calls. If nobody has set one since the
 * checkpoint, its state is known. */
static int is_known_action(int number, struct sigaction *old) {
  if (state.role != ROLE_ANSWERING || state.reset != RESET_REWIND || number < 1 ||
      number >= kSignalsMax || number == 32 || number == 33 ||
      (state.touched_signals >> (number - 1) & 1) != 0) {
    return 0;
  }
  const struct signal_action *action = &state.engine->kernel.actions[number];
  if ((action->flags & SA_RESETHAND) != 0) return 0;
  memset(old, 0, sizeof *old);
  old->sa_handler = action->handler;
  old->sa_flags = (int)action->flags;
  memcpy(&old->sa_mask, &action->mask, sizeof action->mask);
#if defined(__x86_64__)
  old->sa_restorer = action->restorer;
#endif
  return 1;
}

INTERPOSED int sigaction(int number, const struct sigaction *restrict action,
                         struct sigaction *restrict old) {
  static int (*real)(int, const struct sigaction *, struct sigaction *);
  if (action == NULL && old != NULL && is_known_action(number, old)) return 0;
  if (action != NULL) note_signal(number);
  if (real == NULL) real = (__typeof__(real))dlsym(RTLD_NEXT, "sigaction");
  return real(number, action, old);
}

INTERPOSED __sighandler_t sigset(int number, __sighandler_t handler) {
  static __sighandler_t (*real)(int, __sighandler_t);
  note_signal(number);
  if (real == NULL) real = (__sighandler_t(*)(int, __sighandler_t))dlsym(RTLD_NEXT, "sigset");
  return real(number, handler);
}

INTERPOSED __sighandler_t sysv_signal(int number, __sighandler_t handler) {
  static __sighandler_t (*real)(int, __sighandler_t);
  note_signal(number);
  if (real == NULL) real = (__sighandler_t(*)(int, __sighandler_t))dlsym(RTLD_NEXT, "sysv_signal");
  return real(number, handler);
}

INTERPOSED __sighandler_t __sysv_signal(int number, __sighandler_t handler) {
  return sysv_signal(number, handler);
}

INTERPOSED int siginterrupt(int number, int flag) {
  static int (*real)(int, int);
  note_signal(number);
  if (real == NULL) real = (int (*)(int, int))dlsym(RTLD_NEXT, "siginterrupt");
  return real(number, flag);
}

INTERPOSED __sighandler_t signal(int number, __sighandler_t handler) {
  static __sighandler_t (*real)(int, __sighandler_t);
  note_signal(number);
  if (real == NULL) real = (__sighandler_t(*)(int, __sighandler_t))dlsym(RTLD_NEXT, "signal");
  return real(number, handler);
}
