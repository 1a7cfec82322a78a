/* The processor's counter of cycles, which counts as a clock and as a seed: rdtsc and rdtscp. While
 * constructors run, the kernel makes these instructions fail (PR_SET_TSC), so that they are noted
 * by a handler of SIGSEGV. This ends with the first that is noted, and wherever the failure could
 * reach somebody who is not prepared for it: a child or another program, a thread, a program's own
 * handler or mask. The vDSO reads the counter for libc's clocks, which are watched as functions. */
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include "calls/passed_calls.h"
#include "load/own_calls.h"
#include "raw_call.h"
#include "rewind/engine.h"

#if defined(__x86_64__)

static volatile sig_atomic_t is_on;

static void make_fail(int fails) {
  raw_call(SYS_prctl, PR_SET_TSC, fails ? PR_TSC_SIGSEGV : PR_TSC_ENABLE, 0, 0, 0);
}

static void leave(void) {
  enum { kMaskBytes = 8 };
  const struct signal_action standard = {0};
  is_on = 0;
  make_fail(0);
  if (raw_call(SYS_getpid) == state.pid)
    raw_call(SYS_rt_sigaction, SIGSEGV, &standard, NULL, kMaskBytes);
}

void cycles_leave(void) {
  own_calls_leave();
  if (is_on) leave();
}

enum instruction { READS_NOT, READS_COUNTER, READS_COUNTER_AND_PROCESSOR };

static enum instruction instruction_at(const unsigned char *code) {
  if (code[0] == 0x0f && code[1] == 0x31) return READS_COUNTER;
  int is_other = code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9;
  return is_other ? READS_COUNTER_AND_PROCESSOR : READS_NOT;
}

static int is_of_vdso(const void *code) {
  struct dl_find_object found;
  return _dl_find_object((void *)(uintptr_t)code, &found) == 0 &&
         (uintptr_t)found.dlfo_map_start == getauxval(AT_SYSINFO_EHDR);
}

static void read_for_program(greg_t *registers, enum instruction instruction) {
  unsigned low, high, processor = 0;
  make_fail(0);
  if (instruction == READS_COUNTER)
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  else
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(processor));
  make_fail(1);
  registers[REG_RAX] = low;
  registers[REG_RDX] = high;
  if (instruction == READS_COUNTER_AND_PROCESSOR) registers[REG_RCX] = processor;
  registers[REG_RIP] += instruction == READS_COUNTER ? 2 : 3;
}

/* Any other fault comes again after this, as if nobody had handled it. */
static void on_fault(int number, siginfo_t *info, void *frame) {
  (void)number;
  int failure = errno;
  greg_t *registers = ((ucontext_t *)frame)->uc_mcontext.gregs;
  const unsigned char *code = (const unsigned char *)registers[REG_RIP];
  enum instruction instruction = info->si_code == SI_KERNEL ? instruction_at(code) : READS_NOT;
  if (!is_on || instruction == READS_NOT) {
    leave(); /* a child with this memory may have left for itself */
  } else if (is_of_vdso(code)) {
    read_for_program(registers, instruction);
  } else {
    load_watch_note(IMPURE_TIME, "rdtsc", code);
    if (is_on) read_for_program(registers, instruction);
  }
  errno = failure;
}

void cycles_watch(void) {
  struct sigaction action;
  int now = PR_TSC_SIGSEGV;
  if (state.is_ahead || program_has_traps() || program_is_go()) return;
  /* A sanitizer handles the signal by a system call of its own. */
  if (any_symbol("__sanitizer_set_report_path") != NULL) return;
  if (raw_call(SYS_prctl, PR_GET_TSC, &now, 0, 0, 0) != 0 || now != PR_TSC_ENABLE) return;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (sigaction(SIGSEGV, &action, NULL) != 0) return;
  is_on = 1;
  make_fail(1);
}

void cycles_note_mask(const sigset_t *mask) {
  if (is_on && mask != NULL && sigismember(mask, SIGSEGV) == 1) leave();
  if (own_calls_are_watched() && mask != NULL && sigismember(mask, SIGSYS) == 1) own_calls_leave();
}

void cycles_note_action(int number) {
  if (is_on && number == SIGSEGV) leave();
  if (number == SIGSYS) own_calls_leave();
}

#else

void cycles_leave(void) {}

void cycles_watch(void) {}

void cycles_note_mask(const sigset_t *mask) {
  (void)mask;
}

void cycles_note_action(int number) {
  (void)number;
}

#endif
