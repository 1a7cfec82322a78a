/* See clean.h. */
#include "calls/clean.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <linux/audit.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

#include "calls/calls_by_number.h"
#include "calls/passed_calls.h"
#include "calls/real_calls.h"
#include "rewind/engine.h"
#include "rewind/other_threads.h"
#include "rewind/parked_threads.h"
#include "rewind/threads_missing.h"
#include "static/traps.h"

static int is_handled(const struct signal_action *action) {
  return action->handler != SIG_DFL && action->handler != SIG_IGN;
}

long call_by_libc(long number, long a, long b, long c, long d, long e, long f) {
  if (!state.hands_back) return raw_call6(number, a, b, c, d, e, f);
  int before = errno;
  long result = REAL(syscall)(number, a, b, c, d, e, f);
  if (result == -1) {
    result = -errno;
    errno = before;
  }
  return result;
}

int is_own_descriptor(long fd) {
  return state.role == ROLE_ANSWERING && state.reset == RESET_REWIND &&
         fd >= state.engine->first_own_fd;
}

/* ---- calls that are handed back ---- */

#if defined(__x86_64__)

enum { kMaskBytes = 8, kCallBytes = 2, kNoCall = -1 };
enum { kAnsweredMost = 64 }; /* in a request; after that, its calls are not handed back */
static const uint64_t kOurSignal = 1ull << (SIGSYS - 1);

/* A newer one may have functions that are not classified. */
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
static const char kLibcVersion[] = TEXT(__GLIBC__) "." TEXT(__GLIBC_MINOR__);

struct code {
  uintptr_t inside; /* an address in it */
  struct address_range range;
};

static int find_code(struct dl_phdr_info *library, size_t bytes, void *found) {
  (void)bytes;
  struct code *code = found;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &library->dlpi_phdr[i];
    uintptr_t start = library->dlpi_addr + part->p_vaddr;
    if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0 ||
        code->inside - start >= part->p_memsz) {
      continue;
    }
    code->range = (struct address_range){start, start + part->p_memsz};
    return 1;
  }
  return 0;
}

static void act(const struct signal_action *action) {
  raw_call(SYS_rt_sigaction, SIGSYS, action, NULL, kMaskBytes);
}

/* One that somebody has sent ends the program, as it would without us. */
static void signal_was_sent(void) {
  call_touch(TOUCHED_SIGSYS);
  act(&state.engine->kernel.actions[SIGSYS]); /* also where no request is under way */
  raw_call(SYS_tgkill, raw_call(SYS_getpid), raw_call(SYS_gettid), SIGSYS);
}

/* Calls that only read something, at once: those that the vDSO falls back to, and some that runtime
 * libraries make by themselves. */
static int only_tells(long number) {
  switch (number) {
    case SYS_clock_gettime:
    case SYS_clock_getres:
    case SYS_gettimeofday:
    case SYS_time:
    case SYS_getcpu:
    case SYS_getrandom:
    case SYS_getpid:
    case SYS_gettid:
    case SYS_getuid:
    case SYS_geteuid:
    case SYS_getgid:
    case SYS_getegid:
      return 1;
    default:
      return 0;
  }
}

/* All that a process can do without our knowing. */
static void expect_anything(unsigned and_touched) {
  __atomic_store_n(&state.touched_signals, ~0ull, __ATOMIC_SEQ_CST);
  call_touch((kTouchedUnseen & ~(unsigned)TOUCHED_THREADS) | TOUCHED_RESERVED | and_touched);
}

/* What cannot be made in the handler: it would change the signals or the stack to which the handler
 * returns, or return twice. */
static int only_program_can_make(long number, const long *words, const void *frame) {
  switch (number) {
    case SYS_rt_sigreturn:
    case SYS_rt_sigaction:
    case SYS_rt_sigprocmask:
    case SYS_sigaltstack:
    case SYS_rt_sigsuspend:
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork:
    case SYS_exit:
      return 1;
    case SYS_ppoll: /* with a mask */
      return words[3] != 0;
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
      return words[4] != 0;
    case SYS_pselect6:
      return words[5] != 0;
    case SYS_mmap:
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_mremap:
      return (uintptr_t)frame - (uintptr_t)words[0] < (uintptr_t)words[1];
    default:
      return 0;
  }
}

/* What the kernel may take at any later time would be taken from a later request. */
static long make(long number, const long *words) {
  int frees = number == SYS_madvise && words[2] == MADV_FREE;
  return call_by_libc(number, words[0], words[1], frees ? MADV_DONTNEED : words[2], words[3],
                      words[4], words[5]);
}

/* Notes a call of the program's. */
static void note_call(long number, const long *words, int is_of_64_bits) {
  if (state.is_clean) expect_anything(0);
  call_note_number(is_of_64_bits ? number : kNoCall, words);
  if (!is_of_64_bits) call_doubt(RETIRED_CALL, "a system call of 32 bits");
}

/* Other signals may come meanwhile, as they may during a call. */
static void on_call(int number, siginfo_t *info, void *frame) {
  (void)number;
  if (info->si_code != kByDispatch) return signal_was_sent();
  greg_t *registers = ((ucontext_t *)frame)->uc_mcontext.gregs;
  const long words[6] = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                         registers[REG_R10], registers[REG_R8],  registers[REG_R9]};
  long call = (int)registers[REG_RAX]; /* the kernel takes no more of it */
  int is_of_64_bits = info->si_arch == AUDIT_ARCH_X86_64;
  int is_known = is_of_64_bits && only_tells(call) &&
                 (!state.is_clean || ++state.engine->clean.answered < kAnsweredMost);
  int is_ours = is_of_this_library(info->si_call_addr);
  if (!is_known && !is_ours) note_call(call, words, is_of_64_bits);
  int is_copied = is_of_64_bits && child_is_plain_copy(call, words);
  if (is_of_64_bits && child_by_number(call) && !is_copied) child_note_other(call, words);
  if (only_program_can_make(call, words, frame)) expect_anything(TOUCHED_SIGSYS | TOUCHED_THREADS);
  if (is_copied) { /* which returns from here, too */
    registers[REG_RAX] = child_make_by_number(call, words);
  } else if (state.hands_back) {
    registers[REG_RAX] = make(call, words);
  } else {
    registers[REG_RIP] -= kCallBytes; /* its number is still in place */
  }
}

/* The program's own action for the signal cannot be imitated, and the signal may be blocked only
 * while none of the program's code runs. */
static int signal_is_free(const struct engine *engine) {
  return engine->kernel.actions[SIGSYS].handler == SIG_DFL &&
         (engine->signal_mask & kOurSignal) == 0;
}

/* So a handler that blocks every signal while it runs does not block ours. */
static void open_masks_of_handlers(struct engine *engine) {
  for (int signal = 1; signal < kSignalsMax; ++signal) {
    struct signal_action *action = &engine->kernel.actions[signal];
    if (!is_handled(action) || (action->mask & kOurSignal) == 0) continue;
    action->mask &= ~kOurSignal;
    engine->clean.opened_masks |= 1ull << (signal - 1);
    raw_call(SYS_rt_sigaction, signal, action, NULL, kMaskBytes);
  }
}

static void nothing(int number) {
  (void)number;
}

/* Where libc has a handler return to: its call is not handed back either. */
static void *restorer_of_libc(void) {
  struct sigaction wanted = {.sa_handler = nothing}, before;
  struct signal_action now = {0};
  if (REAL(sigaction)(SIGSYS, &wanted, &before) != 0) return NULL;
  raw_call(SYS_rt_sigaction, SIGSYS, NULL, &now, kMaskBytes);
  REAL(sigaction)(SIGSYS, &before, NULL);
  return (void *)(uintptr_t)now.restorer;
}

void clean_find_libc(struct engine *engine) {
  struct code code = {.inside = (uintptr_t)REAL(syscall)};
  if (program_has_traps() || state.goes_by || strcmp(gnu_get_libc_version(), kLibcVersion) != 0) {
    return;
  }
  dl_iterate_phdr(find_code, &code);
  engine->clean.code = code.range;
  engine->clean.restorer = (uintptr_t)restorer_of_libc();
}

static long dispatch(const struct engine *engine) {
  uintptr_t start = engine->clean.code.start, bytes = engine->clean.code.end - start;
  return raw_call(SYS_prctl, kDispatch, kDispatchOn, start, bytes, &state.hands_back);
}

static int hand_back_calls(struct engine *engine) {
  struct signal_action *action = &engine->clean.action;
  uintptr_t start = engine->clean.code.start, bytes = engine->clean.code.end - start;
  if (engine->clean.restorer - start >= bytes || !signal_is_free(engine)) return -1;
  if (dispatch(engine) != 0) return -1;
  open_masks_of_handlers(engine);
  memset(action, 0, sizeof *action);
  action->handler = (void (*)(int))(uintptr_t)on_call;
  action->flags = SA_SIGINFO | SA_NODEFER | kWithRestorer;
  action->restorer = (void (*)(void))engine->clean.restorer;
  act(action);
  return 0;
}

static void leave_action(void) {
  act(&state.engine->kernel.actions[SIGSYS]);
  __atomic_fetch_or(&state.touched_signals, kOurSignal, __ATOMIC_SEQ_CST);
}

static int has_our_signal(const sigset_t *mask) {
  return sigismember(mask, SIGSYS) == 1;
}

#else

void clean_find_libc(struct engine *engine) {
  (void)engine;
}

static int hand_back_calls(struct engine *engine) {
  (void)engine;
  return -1;
}

static long dispatch(const struct engine *engine) {
  (void)engine;
  return 0;
}

static void leave_action(void) {}

static int has_our_signal(const sigset_t *mask) {
  (void)mask;
  return 0;
}

#endif

/* ---- a request ---- */

static int has_handlers(const struct engine *engine) {
  for (int signal = 1; signal < kSignalsMax; ++signal) {
    if (is_handled(&engine->kernel.actions[signal])) return 1;
  }
  return 0;
}

void clean_watch(struct engine *engine) {
  engine->clean.has_handlers = has_handlers(engine);
  /* A test that leaves parts out of the reset would also leave out what this needs. */
  if (engine->left_out != 0) return;
  if (parked_threads.count != 0 && !parked_threads.can_be_missing) return;
  engine->clean.hands_back_calls = !program_has_traps() && hand_back_calls(engine) == 0;
  engine->clean.knows_calls = engine->clean.hands_back_calls || program_is_static();
}

int clean_watch_again(const struct engine *engine) {
  return dispatch(engine) == 0 ? 0 : -1;
}

void clean_leave(void) {
  if (!state.is_clean) return;
  state.is_clean = 0;
  threads_needed();
}

void calls_pass(void) {
  if (!state.hands_back) return;
  state.hands_back = 0;
  leave_action();
}

int clean_opened_mask_of(int number) {
  return state.role == ROLE_ANSWERING && state.reset == RESET_REWIND && number > 0 &&
         number < kSignalsMax && (state.touched_signals >> (number - 1) & 1) == 0 &&
         (state.engine->clean.opened_masks >> (number - 1) & 1) != 0;
}

void clean_note_mask(int how, const sigset_t *mask) {
  if (mask == NULL) return;
  if (how != SIG_UNBLOCK) cycles_note_mask(mask);
  state.sets_mask = 1;
  if (how != SIG_UNBLOCK) threads_needed();
  if (!state.is_clean && !state.hands_back) return;
  if (how != SIG_UNBLOCK && has_our_signal(mask)) call_touch(TOUCHED_SIGSYS);
}

void clean_note_waiting_mask(const sigset_t *mask) {
  if (may_be_memory(mask)) cycles_note_mask(mask);
  if ((!state.is_clean && !state.hands_back) || !may_be_memory(mask)) return;
  if (has_our_signal(mask)) call_touch(TOUCHED_SIGSYS);
}

/* /proc/self/stat and its like show which signals are handled. */
void clean_note_path(const char *path) {
  if ((!state.is_clean && !state.hands_back) || !may_be_memory(path)) return;
  threads_see_path(path);
  if (strncmp(path, "/proc/", 6) != 0) return;
  const char *name = strrchr(path, '/');
  if (strcmp(name, "/stat") == 0 || strcmp(name, "/status") == 0) call_touch(TOUCHED_SIGSYS);
}

void clean_begin(void) {
  state.is_clean = state.engine->clean.knows_calls && !state.goes_by;
  state.hands_back = state.is_clean && state.engine->clean.hands_back_calls;
}

void clean_end(void) {
  struct engine *engine = state.engine;
  engine->was_clean = state.is_clean && state.doubt == RETIRED_NOT;
  engine->was_silent = engine->was_clean && !state.sets_mask && state.touched_signals == 0 &&
                       !engine->clean.has_handlers;
  state.is_clean = state.hands_back = 0;
  engine->clean.answered = 0;
}

/* ---- by number ---- */

/* Of these, openat is noted by note_open(), those on memory by note_memory_by_number(); the heap's
 * end is put back; what is a thread's own is seen to in static/traps.c, or else by
 * cannot_be_undone(). */
static const short kLeaveNothing[] = {
    SYS_read,         SYS_write,      SYS_readv,         SYS_writev,       SYS_pread64,
    SYS_pwrite64,     SYS_preadv,     SYS_pwritev,       SYS_lseek,        SYS_openat,
    SYS_fstat,        SYS_newfstatat, SYS_statx,         SYS_faccessat,    SYS_readlinkat,
    SYS_getdents64,   SYS_getcwd,     SYS_fsync,         SYS_fdatasync,    SYS_ftruncate,
    SYS_unlinkat,     SYS_mkdirat,    SYS_getpid,        SYS_gettid,       SYS_getppid,
    SYS_getuid,       SYS_geteuid,    SYS_getgid,        SYS_getegid,      SYS_uname,
    SYS_sysinfo,      SYS_getrandom,  SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep,
    SYS_gettimeofday, SYS_nanosleep,  SYS_getrusage,     SYS_sched_yield,  SYS_sched_getaffinity,
    SYS_futex,        SYS_mmap,       SYS_munmap,        SYS_mprotect,     SYS_madvise,
    SYS_mremap,       SYS_brk,        SYS_exit_group,    SYS_exit,         SYS_set_tid_address,
    SYS_pipe2,        SYS_socket,     SYS_connect,       SYS_sendto,       SYS_recvfrom,
    SYS_getsockopt,   SYS_openat2,
#if defined(__x86_64__)
    SYS_open,         SYS_stat,       SYS_lstat,         SYS_access,       SYS_readlink,
    SYS_time,         SYS_poll,       SYS_pipe,          SYS_arch_prctl,
#endif
};

int call_leaves_nothing(long number, const long *words) {
  if (number == SYS_close) return !is_own_descriptor(words[0]);
  /* static/trapped_signals.c keeps our signal out of these. */
  if (number == SYS_rt_sigprocmask || number == SYS_rt_sigaction || number == SYS_ppoll)
    return program_is_static();
  for (size_t i = 0; i < sizeof kLeaveNothing / sizeof *kLeaveNothing; ++i) {
    if (number == kLeaveNothing[i]) return 1;
  }
  return 0;
}
