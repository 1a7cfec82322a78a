/* Calls on signals: their flags and masks, and real-time signals, are not in /proc/self/stat; see
 * rare_calls.c. */
#include <signal.h>
#include <string.h>

#include "calls/clean.h"
#include "calls/passed_calls.h"
#include "calls/real_calls.h"
#include "rewind/engine.h"
#include "static/traps.h"

/* Old programs call sigset() and siginterrupt(). */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

void note_signal(long number) {
  if (number <= 0 || number >= kSignalsMax) return;
  cycles_note_action((int)number);
  if (number == SIGSYS) call_touch(TOUCHED_SIGSYS);
  __atomic_fetch_or(&state.touched_signals, 1ull << (number - 1), __ATOMIC_SEQ_CST);
}

/* Perl asks for all of them at its end: 67 system calls. If nobody has set one since the
 * checkpoint, its state is known. */
static int is_known_action(int number, struct sigaction *old) {
  if (state.role != ROLE_ANSWERING || state.reset != RESET_REWIND || number < 1 ||
      number >= kSignalsMax || number == 32 || number == 33) {
    return 0;
  }
  int is_ours = number == SIGSYS && state.hands_back;
  if (!is_ours && (state.touched_signals >> (number - 1) & 1) != 0) return 0;
  const struct signal_action *action = &state.engine->kernel.actions[number];
  if ((action->flags & SA_RESETHAND) != 0) return 0;
  memset(old, 0, sizeof *old);
  old->sa_handler = action->handler;
  old->sa_flags = (int)action->flags;
  memcpy(&old->sa_mask, &action->mask, sizeof action->mask);
  if (clean_opened_mask_of(number)) sigaddset(&old->sa_mask, SIGSYS);
#if defined(__x86_64__)
  old->sa_restorer = action->restorer;
#endif
  return 1;
}

/* ---- the signals by which a Go program's calls, and places, are handed back ---- */

#if defined(__x86_64__)

static int is_ours(int number) {
  if (!program_is_linked_go()) return 0;
  return number == SIGSYS || go_marks_act(number, NULL, NULL);
}

/* SIGSYS is never blocked, except by this library. */
static const sigset_t *without_ours(const sigset_t *wanted, sigset_t *copy, const void *caller) {
  if (wanted == NULL || !program_is_linked_go() || is_of_this_library(caller)) return wanted;
  *copy = *wanted;
  sigdelset(copy, SIGSYS);
  return copy;
}

static void act_for_program(int number, const struct sigaction *action, struct sigaction *old) {
  struct signal_action wanted, before;
  memset(&wanted, 0, sizeof wanted);
  if (action != NULL) {
    wanted.handler = action->sa_handler;
    wanted.flags = (unsigned long)action->sa_flags;
    memcpy(&wanted.mask, &action->sa_mask, sizeof wanted.mask);
  }
  if (!go_marks_act(number, action != NULL ? &wanted : NULL, &before))
    own_signal_act(action != NULL ? &wanted : NULL, &before);
  if (old == NULL) return;
  memset(old, 0, sizeof *old);
  old->sa_handler = before.handler;
  old->sa_flags = (int)before.flags;
  memcpy(&old->sa_mask, &before.mask, sizeof before.mask);
}

static __sighandler_t handle_for_program(int number, __sighandler_t handler, int flags) {
  struct sigaction wanted = {.sa_handler = handler, .sa_flags = flags}, before;
  act_for_program(number, &wanted, &before);
  return before.sa_handler;
}

#else

static int is_ours(int number) {
  (void)number;
  return 0;
}

static const sigset_t *without_ours(const sigset_t *wanted, sigset_t *copy, const void *caller) {
  (void)copy;
  (void)caller;
  return wanted;
}

static void act_for_program(int number, const struct sigaction *action, struct sigaction *old) {
  (void)number;
  (void)action;
  (void)old;
}

static __sighandler_t handle_for_program(int number, __sighandler_t handler, int flags) {
  (void)number;
  (void)flags;
  return handler;
}

#endif

INTERPOSED int sigprocmask(int how, const sigset_t *restrict wanted, sigset_t *restrict old) {
  sigset_t copy;
  clean_note_mask(how, wanted);
  return REAL(sigprocmask)(how, without_ours(wanted, &copy, __builtin_return_address(0)), old);
}

INTERPOSED int pthread_sigmask(int how, const sigset_t *restrict wanted, sigset_t *restrict old) {
  sigset_t copy;
  clean_note_mask(how, wanted);
  return REAL(pthread_sigmask)(how, without_ours(wanted, &copy, __builtin_return_address(0)), old);
}

/* ---- what each program may say of its signals ---- */

static int act(int number, const struct sigaction *action, struct sigaction *old) {
  struct sigaction copy;
  if (action != NULL) clean_note_mask(SIG_BLOCK, &action->sa_mask);
  if (action != NULL && program_is_linked_go()) {
    copy = *action;
    sigdelset(&copy.sa_mask, SIGSYS);
    action = &copy;
  }
  return REAL(sigaction)(number, action, old);
}

INTERPOSED int sigaction(int number, const struct sigaction *restrict action,
                         struct sigaction *restrict old) {
  if (is_ours(number)) {
    act_for_program(number, action, old);
    return 0;
  }
  if (action == NULL && old != NULL && is_known_action(number, old)) return 0;
  cycles_note_action(number);
  if (action != NULL) cycles_note_mask(&action->sa_mask); /* while its handler runs */
  int is_opened = clean_opened_mask_of(number);
  if (action != NULL) note_signal(number);
  int result = act(number, action, old);
  if (result == 0 && old != NULL && is_opened) sigaddset(&old->sa_mask, SIGSYS);
  return result;
}

INTERPOSED __sighandler_t sigset(int number, __sighandler_t handler) {
  if (is_ours(number)) return handle_for_program(number, handler, 0);
  note_signal(number);
  return REAL(sigset)(number, handler);
}

INTERPOSED __sighandler_t sysv_signal(int number, __sighandler_t handler) {
  if (is_ours(number)) return handle_for_program(number, handler, (int)SA_RESETHAND | SA_NODEFER);
  note_signal(number);
  return REAL(sysv_signal)(number, handler);
}

INTERPOSED __sighandler_t __sysv_signal(int number, __sighandler_t handler) {
  return sysv_signal(number, handler);
}

INTERPOSED int siginterrupt(int number, int flag) {
  if (is_ours(number)) return 0;
  note_signal(number);
  return REAL(siginterrupt)(number, flag);
}

INTERPOSED __sighandler_t signal(int number, __sighandler_t handler) {
  if (is_ours(number)) return handle_for_program(number, handler, SA_RESTART);
  note_signal(number);
  return REAL(signal)(number, handler);
}
