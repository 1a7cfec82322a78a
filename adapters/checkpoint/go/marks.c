/* A system call in the place of the first instruction of functions that are watched, until the
 * checkpoint; see program.h. It changes rcx, so a function that gets an argument there has a
 * breakpoint instead. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/other_threads.h"
#include "static/traps.h"

#if defined(__x86_64__)

enum { kMaskBytes = 8, kBreakpointBytes = 1 };
static const unsigned char kCall[] = {0x0f, 0x05}; /* syscall */
static const unsigned char kBreakpoint = 0xcc;     /* int3 */
_Static_assert(sizeof kCall == sizeof((struct go_mark *)NULL)->code, "one takes the other's place");

/* Another thread may execute the function at this moment: it finds the old bytes or the new ones,
 * because functions are aligned, and its page stays executable throughout. */
static int write_code(uintptr_t place, const unsigned char *code) {
  long memory = raw_call(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC);
  long written = memory < 0 ? -1 : raw_call(SYS_pwrite64, memory, code, sizeof kCall, place);
  if (memory >= 0) raw_call(SYS_close, memory);
  if (written == sizeof kCall) return 0;
  uintptr_t first = place & ~(uintptr_t)(kPageSize - 1);
  size_t bytes = place + sizeof kCall - first;
  if (raw_call(SYS_mprotect, first, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return -1;
  memcpy((char *)place, code, sizeof kCall);
  return raw_call(SYS_mprotect, first, bytes, PROT_READ | PROT_EXEC) == 0 ? 0 : -1;
}

/* ---- the signal of a breakpoint ---- */

static struct signal_action program_action; /* which the program has set for it */
static int is_handled;

static void on_breakpoint(int number, siginfo_t *info, void *context) {
  uintptr_t place = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
  if (state.role == ROLE_ZYGOTE && go_mark_reached(place - kBreakpointBytes, context)) return;
  if (program_action.handler == SIG_IGN) return;
  if (program_action.handler != SIG_DFL)
    return ((void (*)(int, siginfo_t *, void *))(uintptr_t)program_action.handler)(number, info,
                                                                                   context);
  raw_call(SYS_rt_sigaction, number, &program_action, NULL, kMaskBytes);
  raw_call(SYS_tgkill, raw_call(SYS_getpid), raw_call(SYS_gettid), number);
}

static int handle_breakpoints(void) {
  struct signal_action action;
  memset(&action, 0, sizeof action);
  action.handler = (void (*)(int))(uintptr_t)on_breakpoint;
  action.flags = (unsigned long)(SA_SIGINFO | SA_NODEFER | SA_ONSTACK | kWithRestorer);
  action.restorer = threads_return;
  is_handled = raw_call(SYS_rt_sigaction, SIGTRAP, &action, &program_action, kMaskBytes) == 0;
  return is_handled ? 0 : -1;
}

/* What was set by libc's functions has no restorer yet. */
static int give_back_signal(void) {
  is_handled = 0;
  if (program_action.restorer == NULL) {
    program_action.flags |= kWithRestorer;
    program_action.restorer = threads_return;
  }
  return (int)raw_call(SYS_rt_sigaction, SIGTRAP, &program_action, NULL, kMaskBytes);
}

int go_marks_act(int number, const struct signal_action *action, struct signal_action *old) {
  if (!is_handled || number != SIGTRAP) return 0;
  if (old != NULL) *old = program_action;
  if (action != NULL) program_action = *action;
  return 1;
}

/* ---- all of them ---- */

int go_marks_set(void) {
  struct go_places *places = &state.executable.go.places;
  for (size_t i = 0; i < places->mark_count; ++i) {
    struct go_mark *mark = &places->marks[i];
    memcpy(mark->code, (const char *)mark->place, sizeof mark->code);
    const unsigned char breakpoint[] = {kBreakpoint, mark->code[1]};
    if (write_code(mark->place, mark->has_three_words ? breakpoint : kCall) != 0) return -1;
    mark->is_set = 1;
  }
  return handle_breakpoints();
}

int go_marks_take_away(void) {
  struct go_places *places = &state.executable.go.places;
  int result = 0;
  if (is_handled) result |= give_back_signal();
  for (size_t i = 0; i < places->mark_count; ++i) {
    struct go_mark *mark = &places->marks[i];
    if (mark->is_set) result |= write_code(mark->place, mark->code);
    mark->is_set = 0;
  }
  return result;
}

/* ---- a function at a mark ---- */

/* CMPQ SP, 16(R14) */
static void imitate_comparison(greg_t *registers) {
  enum { kLimitAt = 16 };
  const greg_t kFlags = 0x8d5; /* the arithmetic ones */
  const uintptr_t *limit = (const uintptr_t *)(registers[REG_R14] + kLimitAt);
  greg_t flags;
  /* What pushf writes to may hold this function's own variables. */
  __asm__("lea -128(%%rsp), %%rsp\n  cmp %2, %1\n  pushf\n  pop %0\n  lea 128(%%rsp), %%rsp"
          : "=&r"(flags)
          : "r"(registers[REG_RSP]), "r"(*limit));
  registers[REG_EFL] = (registers[REG_EFL] & ~kFlags) | (flags & kFlags);
}

void go_mark_pass(const struct go_mark *mark, ucontext_t *context) {
  greg_t *registers = context->uc_mcontext.gregs;
  size_t bytes = go_beginning_bytes(mark->beginning);
  const signed char *last = (const signed char *)mark->place + bytes - 1;
  int32_t distance;
  switch (mark->beginning) {
    case GO_COMPARES:
      imitate_comparison(registers);
      break;
    case GO_COMPARES_FAR:
      registers[REG_R12] = registers[REG_RSP] + *last;
      break;
    case GO_COMPARES_FARTHER:
      memcpy(&distance, last + 1 - sizeof distance, sizeof distance);
      registers[REG_R12] = registers[REG_RSP] + distance;
      break;
    case GO_COMPARES_HUGE:
      registers[REG_R12] = registers[REG_RSP];
      break;
    case GO_HAS_FRAME:
      registers[REG_RSP] -= (greg_t)sizeof(greg_t);
      memcpy((char *)registers[REG_RSP], &registers[REG_RBP], sizeof(greg_t));
      registers[REG_RBP] = registers[REG_RSP];
      break;
    case GO_MAKES_ROOM:
      registers[REG_RSP] -= *last;
      break;
    case GO_LOADS_THREAD:
    case GO_WAITS_AND_LOADS_THREAD:
      memcpy(&registers[REG_RCX], (const char *)registers[REG_R14] + kThreadAt, sizeof(greg_t));
      break;
    case GO_WAITS_AND_COPIES:
      registers[REG_RCX] = (greg_t)(uint32_t)registers[REG_RAX];
      break;
    case GO_LOADS_ARGUMENT:
      memcpy(&registers[REG_RDI], (const char *)registers[REG_RSP] + 8, sizeof(greg_t));
      break;
    case GO_STORES_ARGUMENT:
      memcpy((char *)registers[REG_RSP] + 8, &registers[REG_RAX], sizeof(uint32_t));
      break;
    case GO_BEGINNINGS:
      break;
  }
  registers[REG_RIP] = (greg_t)(mark->place + bytes);
}

#endif
