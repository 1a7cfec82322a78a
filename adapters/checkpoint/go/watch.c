/* What a Go program does before main.main(); see program.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calls/rare_calls.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "static/traps.h"

#if defined(__x86_64__)

static const unsigned char kCall[] = {0x0f, 0x05}; /* syscall */
_Static_assert(sizeof kCall == sizeof((struct go_mark *)NULL)->code, "one takes the other's place");

/* ---- marks ---- */

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

int go_marks_set(void) {
  struct go_places *places = &state.executable.go.places;
  for (size_t i = 0; i < places->mark_count; ++i) {
    struct go_mark *mark = &places->marks[i];
    memcpy(mark->code, (const char *)mark->place, sizeof mark->code);
    if (write_code(mark->place, kCall) != 0) return -1;
    mark->is_set = 1;
  }
  return 0;
}

int go_marks_take_away(void) {
  struct go_places *places = &state.executable.go.places;
  int result = 0;
  for (size_t i = 0; i < places->mark_count; ++i) {
    struct go_mark *mark = &places->marks[i];
    if (mark->is_set) result |= write_code(mark->place, mark->code);
    mark->is_set = 0;
  }
  return result;
}

/* ---- who it was ---- */

static const ucontext_t *noted; /* where the program is while something is noted */

static int starts_with(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

static int is_of_runtime(const char *name) {
  return starts_with(name, "runtime.") || starts_with(name, "runtime/") ||
         starts_with(name, "internal/runtime/");
}

static int is_initializer(const char *name) {
  const char *dot = strrchr(name, '/');
  dot = strchr(dot != NULL ? dot : name, '.');
  return dot != NULL && (strcmp(dot, ".init") == 0 || starts_with(dot, ".init."));
}

/* The functions on the stack, the innermost first, by the frame pointers that Go code has. */
struct walk {
  uintptr_t address, frame;
};

static struct walk walk_begin(const ucontext_t *context) {
  struct walk walk = {0, (uintptr_t)context->uc_mcontext.gregs[REG_RBP]};
  copy_in(&walk.address, context->uc_mcontext.gregs[REG_RSP], sizeof walk.address);
  return walk;
}

static int walk_on(struct walk *walk) {
  uintptr_t pair[2];
  if (copy_in(pair, (long)walk->frame, sizeof pair) != 0 || pair[0] <= walk->frame) return -1;
  *walk = (struct walk){.address = pair[1], .frame = pair[0]};
  return 0;
}

/* libc's strstr() is written in C, and so looks for its stack guard in libc's thread block, which
 * is not there in a static program. */
static int contains(const char *text, const char *part) {
  size_t length = strlen(part);
  for (; *text != '\0'; ++text) {
    if (strncmp(text, part, length) == 0) return 1;
  }
  return 0;
}

/* Whether the runtime makes this call for itself: its own code, or a function of it that makes
 * calls for others as well. */
static int is_runtimes_own(uintptr_t place, const ucontext_t *context) {
  const struct go_table *table = &state.executable.go.places.table;
  struct go_function function;
  struct walk walk = walk_begin(context);
  if (go_table_function_at(table, place, &function) != 0 || !is_of_runtime(function.name)) return 0;
  if (!contains(function.name, "/syscall")) return 1;
  return go_table_function_at(table, walk.address, &function) == 0 && is_of_runtime(function.name);
}

int go_place(char *place, size_t bytes) {
  enum { kFramesMax = 100 };
  const struct go_table *table = &state.executable.go.places.table;
  struct go_function function;
  const char *name = NULL;
  if (noted == NULL) return 0;
  struct walk walk = walk_begin(noted);
  for (int frames = 0; frames < kFramesMax; ++frames) {
    if (go_table_function_at(table, walk.address, &function) == 0 &&
        !is_of_runtime(function.name)) {
      name = function.name;
      if (is_initializer(name)) break;
    }
    if (walk_on(&walk) != 0) break;
  }
  snprintf(place, bytes, ", called by %s", name == NULL ? "its runtime" : name);
  return 1;
}

/* ---- functions ---- */

static void note(enum impurity kind, const char *what, const ucontext_t *context) {
  noted = context;
  load_watch_note(kind, what, (const void *)context->uc_mcontext.gregs[REG_RIP]);
  noted = NULL;
}

/* A Go string: its first byte and its length, in the first two registers. */
static void note_variable(const ucontext_t *context) {
  char name[256];
  size_t length = (size_t)context->uc_mcontext.gregs[REG_RBX];
  state.executable.go.asked_for_variable = 1;
  if (length == 0) return;
  if (length >= sizeof name || copy_in(name, context->uc_mcontext.gregs[REG_RAX], length) != 0) {
    state.executable.go.refused = "asks for a variable of a long name before main.main()";
    return;
  }
  name[length] = '\0';
  environment_watch_note(name);
}

/* Packages of Go's own that ask for something and keep it to themselves: a time to measure from,
 * the seed of a hash. */
static int is_kept(const struct go_mark *mark, const ucontext_t *context) {
  static const struct {
    const char *asked, *asks;
  } kKept[] = {{"time.", "crypto/internal/"},
               {"math/rand", "internal/concurrent."},
               {"math/rand", "internal/sync."},
               {"math/rand", "unique."}};
  const struct go_table *table = &state.executable.go.places.table;
  struct walk walk = walk_begin(context);
  struct go_function function = {.name = ""};
  for (size_t i = 0; i < sizeof kKept / sizeof *kKept; ++i) {
    if (!starts_with(mark->name, kKept[i].asked)) continue;
    /* Finds who asks, skipping the functions of the package that is asked. */
    while (go_table_function_at(table, walk.address, &function) == 0 &&
           starts_with(function.name, kKept[i].asked) && walk_on(&walk) == 0) {
    }
    if (starts_with(function.name, kKept[i].asks)) return 1;
  }
  return 0;
}

static void note_function(const struct go_mark *mark, const ucontext_t *context) {
  if (is_kept(mark, context)) return;
  struct visit visit = libc_enter();
  switch (mark->kind) {
    case GO_VARIABLE:
      note_variable(context);
      break;
    case GO_VARIABLES:
      state.executable.go.refused = "asks for all variables before main.main()";
      break;
    case GO_CHANGES_VARIABLES:
      state.executable.go.refused = "changes the environment before main.main()";
      break;
    case GO_TIME:
    case GO_TIMER:
      note(IMPURE_TIME, mark->name, context);
      break;
    case GO_RANDOM:
      note(IMPURE_RANDOM, mark->name, context);
      break;
    case GO_MAIN:
      break;
  }
  libc_leave(&visit);
}

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
    case GO_BEGINNINGS:
      break;
  }
  registers[REG_RIP] = (greg_t)(mark->place + bytes);
}

int go_mark_reached(uintptr_t place, ucontext_t *context) {
  struct go_places *places = &state.executable.go.places;
  for (size_t i = 0; i < places->mark_count; ++i) {
    const struct go_mark *mark = &places->marks[i];
    if (mark->place != place) continue;
    if (mark->kind == GO_MAIN) go_program_stand(context);
    note_function(mark, context);
    go_mark_pass(mark, context);
    return 1;
  }
  return 0;
}

/* ---- calls ---- */

static void look_at_listed_folder(long file, const void *caller) {
  char link[32], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%ld", file);
  long length = raw_call(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
  if (length <= 0) return;
  path[length] = '\0';
  lookups_see_folder(path, caller);
}

static void note_file(int directory, const char *path, int flags, const void *caller) {
  note_open_of_load("open", path, flags, caller);
  lookups_see_open(directory, path, flags, caller);
}

static void note_call(long number, const long *words, const void *caller) {
  switch (number) {
    case SYS_read:
    case SYS_pread64:
    case SYS_readv:
      if (words[0] == STDIN_FILENO) load_watch_note(IMPURE_INPUT, "read", caller);
      return;
    case SYS_write:
    case SYS_writev:
      if (words[0] == STDOUT_FILENO || words[0] == STDERR_FILENO)
        load_watch_note(IMPURE_OUTPUT, "write", caller);
      return;
    case SYS_open:
      return note_file(AT_FDCWD, (const char *)words[0], (int)words[1], caller);
    case SYS_openat:
      return note_file((int)words[0], (const char *)words[1], (int)words[2], caller);
    case SYS_stat:
    case SYS_lstat:
    case SYS_access:
    case SYS_readlink:
      return lookups_see_look(AT_FDCWD, (const char *)words[0], caller);
    case SYS_newfstatat:
    case SYS_statx:
    case SYS_faccessat:
    case SYS_faccessat2:
    case SYS_readlinkat:
      return lookups_see_look((int)words[0], (const char *)words[1], caller);
    case SYS_getdents64:
      return look_at_listed_folder(words[0], caller);
    case SYS_unlink:
    case SYS_unlinkat:
    case SYS_rename:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_mkdir:
    case SYS_mkdirat:
    case SYS_rmdir:
    case SYS_link:
    case SYS_linkat:
    case SYS_symlink:
    case SYS_symlinkat:
    case SYS_truncate:
    case SYS_chmod:
    case SYS_fchmodat:
    case SYS_chown:
    case SYS_fchownat:
    case SYS_utimensat:
      return load_watch_note(IMPURE_FILES, "a change", caller);
    case SYS_clone3:
      if ((((const struct clone_args *)words[0])->flags & CLONE_THREAD) == 0)
        load_watch_note(IMPURE_CHILDREN, "clone", caller);
      return;
    default:
      return load_watch_note_number(number, words, caller);
  }
}

void go_watch_call(long number, const long *words, ucontext_t *context) {
  uintptr_t place = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
  if (state.role != ROLE_ZYGOTE || !state.load.is_on || state.executable.go.stage != GO_STARTS)
    return;
  int prints = number == SYS_write && (words[0] == STDOUT_FILENO || words[0] == STDERR_FILENO);
  if (!prints && is_runtimes_own(place - sizeof kCall, context)) return;
  struct visit visit = libc_enter();
  noted = context;
  note_call(number, words, (const void *)place);
  noted = NULL;
  libc_leave(&visit);
}

#else

int go_place(char *place, size_t bytes) {
  (void)place;
  (void)bytes;
  return 0;
}

#endif
