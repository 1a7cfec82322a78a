/* A Go program's way to its checkpoint, and from there into a request; see program.h. */
#include "go/program.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/other_threads.h"
#include "rewind/parked_threads.h"
#include "rewind/threads.h"
#include "static/traps.h"

int program_is_go(void) {
  return state.executable.go.is_go;
}

int go_program_level(void) {
  return state.executable.go.left[0] == '\0' ? LEVEL_COMPILED : LEVEL_BOOTED;
}

void go_image_read(struct go_image *image, const Elf64_Phdr *segments, unsigned count,
                   uintptr_t base) {
  struct go_program *go = &state.executable.go;
  memset(image, 0, sizeof *image);
  go->data_count = 0;
  for (unsigned i = 0; i < count; ++i) {
    const Elf64_Phdr *segment = &segments[i];
    if (segment->p_type != PT_LOAD) continue;
    uintptr_t start = base + segment->p_vaddr;
    const struct byte_range in_file = {start, start + segment->p_filesz};
    if ((segment->p_flags & PF_X) != 0) image->code = in_file;
    if ((segment->p_flags & PF_R) != 0 && image->readable_count < kGoSegmentsMax)
      image->readable[image->readable_count++] = in_file;
    if ((segment->p_flags & PF_W) != 0 && go->data_count < kGoDataMax)
      go->data[go->data_count++] = (struct byte_range){start, start + segment->p_memsz};
  }
}

#if defined(__x86_64__)

enum { kCannotEnter = 74, kStackBytes = 256 * 1024, kMaskBytes = 8 };
enum { kPreemptSignal = SIGURG }; /* by which the runtime interrupts a thread (sigPreempt) */

int go_program_find(const struct go_image *image, const char **reason) {
  struct go_program *go = &state.executable.go;
  go->is_go = go_places_find(&go->places, image, reason) == 0;
  if (!go->is_go) return -1;
  go->code = image->code;
  void *stack = mmap(NULL, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *reason = "no memory for a stack";
  if (stack == MAP_FAILED) return -1;
  go->stack = stack;
  *reason = "its functions cannot be marked";
  return go_marks_set();
}

static char *copy_of_strings(char **strings, size_t *bytes) {
  *bytes = 0;
  for (char **string = strings; *string != NULL; ++string) *bytes += strlen(*string) + 1;
  char *copy = mmap(NULL, *bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) give_up(kCannotEnter);
  char *to = copy;
  for (char **string = strings; *string != NULL; ++string) to = stpcpy(to, *string) + 1;
  return copy;
}

void go_program_enter(int argc, char **argv, char **envp) {
  struct go_program *go = &state.executable.go;
  go->argc = argc;
  go->argv = argv;
  go->envp = envp;
  go->variables = copy_of_strings(envp, &go->variables_bytes);
}

/* The first of that name counts, and none has an empty one. */
const char *go_program_variable(const char *name) {
  const struct go_program *go = &state.executable.go;
  size_t length = strlen(name);
  if (length == 0) return NULL;
  const char *at = go->variables, *end = at + go->variables_bytes;
  for (; at < end; at += strlen(at) + 1) {
    if (strncmp(at, name, length) == 0 && at[length] == '=') return at + length + 1;
  }
  return NULL;
}

/* ---- signals of the runtime ---- */

/* The first thread is stopped, and would get it only in a request, which then gets it. */
static int is_put_off(const long *words) {
  struct go_program *go = &state.executable.go;
  if (state.role != ROLE_ZYGOTE || go->stage != GO_STANDS) return 0;
  if (words[1] != state.pid || words[2] != kPreemptSignal) return 0;
  __atomic_store_n(&go->is_called, 1, __ATOMIC_SEQ_CST);
  return 1;
}

static pid_t id_now(pid_t id) {
  if (id == state.executable.go.first_id) return state.pid;
  const struct parked_thread *thread = parked_thread_of(id);
  return thread != NULL && thread->id_again != 0 ? thread->id_again : id;
}

long go_program_tgkill(const long *words) {
  if (is_put_off(words)) return 0;
  long result = raw_call(SYS_tgkill, words[0], words[1], words[2]);
  if (result != -ESRCH || words[0] != state.pid) return result;
  if (parked_thread_of((pid_t)words[1]) != NULL) go_threads_see_wait();
  return raw_call(SYS_tgkill, words[0], id_now((pid_t)words[1]), words[2]);
}

/* Takes one that came before signals were put off, or from a thread that saw this too late: by now
 * each of them rests. Left pending, it would be lost by the fork, and the runtime sends no second
 * one before the first has come. */
static void take_pending_signals(void) {
  uint64_t preempt = 1ull << (kPreemptSignal - 1);
  const struct timespec at_once = {0, 0};
  while (raw_call(SYS_rt_sigtimedwait, &preempt, NULL, &at_once, kMaskBytes) == kPreemptSignal) {
    state.executable.go.is_called = 1;
  }
}

/* ---- at the checkpoint ---- */

/* What the runtime reads for itself, without any function that could be watched. */
static void note_variables_of_runtime(void) {
  static const char *const kNames[] = {"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT",
                                       "GOTRACEBACK"};
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) environment_watch_note(kNames[i]);
}

/* Leaves by the frame, which holds all registers; the present stack is not needed any more. */
static _Noreturn void leave_for_program(const ucontext_t *context) {
  __asm__ volatile("mov %0, %%rsp\n  mov $15, %%eax\n  syscall\n" : : "r"(context) : "memory");
  __builtin_unreachable();
}

/* Back into the program, by the frame of the mark. */
static _Noreturn void go_on(void) {
  struct go_program *go = &state.executable.go;
  if (go->is_called) raw_call(SYS_tgkill, state.pid, state.pid, kPreemptSignal);
  go->is_called = 0;
  if (traps_of_thread(1) != 0) give_up(kCannotEnter);
  thread_becomes(&state.executable.theirs);
  leave_for_program(go->context);
}

/* The frame of the mark is where the handler of a signal would have its own. */
static void block_signals(void) {
  uint64_t all = ~0ull;
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, kMaskBytes);
}

static int show_variables_to_libc(void) {
  if (program_is_static()) return 0;
  environ = state.request.envp;
  return environment_change_again();
}

/* What other goroutines do before they rest is still seen. */
static void await_other_threads(void) {
  char reason[kReasonMax];
  if (threads_of_process() > 1) threads_rest(reason, sizeof reason);
}

static void refuse_if_needed(void) {
  struct go_program *go = &state.executable.go;
  char reason[kReasonMax];
  if (go->refused != NULL) {
    snprintf(reason, sizeof reason, "what runs before main.main() %s", go->refused);
    checkpoint_refuse(reason);
  }
  if (go_renewal_find() != 0) checkpoint_refuse("has its variables in an unknown place");
  if (go->first_id != state.pid) checkpoint_refuse("reaches main.main() in another thread");
  if (go_renewal_find_threads() != 0) checkpoint_refuse("has threads that Go did not make");
}

static void tell_what_is_left(void) {
  char reason[kFoundMax + 64];
  const char *left = state.executable.go.left;
  if (left[0] == '\0') return;
  int length = snprintf(reason, sizeof reason, "what runs before main.main() %s", left);
  channel_note(NOTE_LEVEL, reason, (size_t)length);
}

static void stand(void) {
  struct static_executable *executable = &state.executable;
  struct go_program *go = &executable->go;
  executable->theirs = thread_now();
  traps_end();
  thread_becomes(&executable->ours);
  go->first_id = (pid_t)raw_call(SYS_gettid);
  go->context->uc_mcontext.gregs[REG_RIP] = (greg_t)go->stop;
  await_other_threads();
  take_pending_signals();
  if (go_marks_take_away() != 0) give_up(kCannotEnter);
  refuse_if_needed();
  note_variables_of_runtime();
  tell_what_is_left();
  checkpoint_stand();
  block_signals(); /* a forked worker has them as the zygote had */
  go_threads_tell(GO_GOES_ON);
  if (show_variables_to_libc() != 0 || go_renew() != 0) {
    start_anew(&state.request);
    give_up(kCannotEnter);
  }
  go_threads_expect();
  go_on();
}

void go_program_stand(uintptr_t place, ucontext_t *context) {
  struct go_program *go = &state.executable.go;
  block_signals();
  go_threads_tell(GO_STANDS);
  go->context = context;
  go->stop = place;
  context_call_on(go->stack + kStackBytes, stand);
}

#else

int go_program_find(const struct go_image *image, const char **reason) {
  (void)image;
  *reason = "it is stopped at main.main() on x86-64 only";
  return -1;
}

#endif
