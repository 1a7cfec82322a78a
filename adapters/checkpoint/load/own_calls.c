/* See own_calls.h. */
#include "load/own_calls.h"

#include <errno.h>
#include <link.h>
#include <linux/audit.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include "calls/passed_calls.h"
#include "calls/real_calls.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "static/traps.h"

#if defined(__x86_64__)

enum { kMaskBytes = 8, kCallBytes = 2 };
static const uint64_t kOurSignal = 1ull << (SIGSYS - 1);

static volatile sig_atomic_t is_on;
static volatile char hands_back; /* the kernel reads it */

void own_calls_leave(void) {
  const struct signal_action standard = {0};
  if (!is_on) return;
  is_on = hands_back = 0;
  if (raw_call(SYS_getpid) != state.pid) return;
  raw_call(SYS_prctl, kDispatch, kDispatchOff, 0, 0, 0);
  raw_call(SYS_rt_sigaction, SIGSYS, &standard, NULL, kMaskBytes);
}

int own_calls_are_watched(void) {
  return is_on;
}

/* The object that has this code, or 0. */
static uintptr_t start_of_object(const void *code) {
  struct dl_find_object found;
  int is_found = _dl_find_object((void *)(uintptr_t)code, &found) == 0;
  return is_found ? (uintptr_t)found.dlfo_map_start : 0;
}

static int may_pass(const void *code) {
  uintptr_t start = start_of_object(code);
  return is_of_this_library(code) ||
         (start != 0 && (start == getauxval(AT_BASE) || start == getauxval(AT_SYSINFO_EHDR)));
}

/* It would change what the handler returns to, return twice, or not at all. */
static int only_program_can_make(long number) {
  static const long kSuch[] = {
      SYS_rt_sigreturn, SYS_rt_sigaction,  SYS_rt_sigprocmask, SYS_sigaltstack, SYS_clone,
      SYS_clone3,       SYS_fork,          SYS_vfork,          SYS_execve,      SYS_execveat,
      SYS_arch_prctl,   SYS_rt_sigsuspend, SYS_ppoll,          SYS_pselect6,    SYS_epoll_pwait,
      SYS_epoll_pwait2, SYS_munmap,        SYS_mremap};
  for (size_t i = 0; i < sizeof kSuch / sizeof *kSuch; ++i) {
    if (kSuch[i] == number) return 1;
  }
  return 0;
}

/* This library's own mask, for as long as it holds a lock: it takes effect when the handler
 * returns, and lets our signal in, because the lock's holder makes calls. */
static long mask_instead(const long *words, ucontext_t *frame) {
  uint64_t *mask = (uint64_t *)&frame->uc_sigmask, before = *mask, asked = before;
  if (words[1] != 0) memcpy(&asked, (const void *)words[1], sizeof asked);
  if (words[0] == SIG_BLOCK) asked |= before;
  if (words[0] == SIG_UNBLOCK) asked = before & ~asked;
  if (words[1] != 0) *mask = asked & ~kOurSignal;
  if (words[2] != 0) memcpy((void *)words[2], &before, sizeof before);
  return 0;
}

static void note(long number, const long *words, const siginfo_t *info) {
  if (info->si_arch != AUDIT_ARCH_X86_64) {
    load_watch_note(IMPURE_UNSEEN, "a system call of 32 bits", info->si_call_addr);
    own_calls_leave();
  } else {
    load_watch_note_number(number, words, info->si_call_addr);
  }
}

static void on_call(int number, siginfo_t *info, void *interrupted) {
  (void)number;
  int failure = errno;
  ucontext_t *frame = interrupted;
  greg_t *registers = frame->uc_mcontext.gregs;
  const long words[6] = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                         registers[REG_R10], registers[REG_R8],  registers[REG_R9]};
  long call = (int)registers[REG_RAX]; /* the kernel takes no more of it */
  hands_back = 0;
  if (info->si_code != kByDispatch) { /* somebody has sent it: as if nobody handled it */
    own_calls_leave();
    raw_call(SYS_tgkill, raw_call(SYS_getpid), raw_call(SYS_gettid), SIGSYS);
    return;
  }
  int passes = may_pass(info->si_call_addr);
  int sets_mask = call == SYS_rt_sigprocmask && words[0] >= SIG_BLOCK && words[0] <= SIG_SETMASK;
  if (passes && is_on && sets_mask) {
    registers[REG_RAX] = mask_instead(words, frame);
  } else {
    if (!passes) note(call, words, info);
    if (!passes && only_program_can_make(call)) own_calls_leave();
    if (is_on)
      registers[REG_RAX] =
          raw_call6(call, words[0], words[1], words[2], words[3], words[4], words[5]);
    else
      registers[REG_RIP] -= kCallBytes; /* its number is still in place */
  }
  hands_back = (char)is_on;
  errno = failure;
}

void own_calls_watch(void) {
  struct dl_find_object libc;
  struct sigaction action;
  if (state.is_ahead || program_has_traps() || program_is_go()) return;
  /* A sanitizer makes all of its calls by itself. */
  if (any_symbol("__sanitizer_set_report_path") != NULL) return;
  if (_dl_find_object((void *)(uintptr_t)REAL(syscall), &libc) != 0) return;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_call;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (REAL(sigaction)(SIGSYS, &action, NULL) != 0) return;
  uintptr_t start = (uintptr_t)libc.dlfo_map_start, end = (uintptr_t)libc.dlfo_map_end;
  is_on = 1;
  if (raw_call(SYS_prctl, kDispatch, kDispatchOn, start, end - start, &hands_back) != 0)
    own_calls_leave();
  hands_back = (char)is_on;
}

#else

void own_calls_watch(void) {}

void own_calls_leave(void) {}

int own_calls_are_watched(void) {
  return 0;
}

#endif
