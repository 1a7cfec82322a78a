/* What a Go program does before main.main(); see program.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calls/rare_calls.h"
#include "go/map_seed.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "static/traps.h"

#if defined(__x86_64__)

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

/* ---- what is left to the requests ---- */

/* runtime.main() initializes all packages in the first thread; it never leaves it meanwhile. */
static int is_main_goroutine(const ucontext_t *context) {
  enum { kFramesMax = 1000 };
  const struct go_table *table = &state.executable.go.places.table;
  struct go_function function;
  struct walk walk = walk_begin(context);
  if (raw_call(SYS_gettid) != state.pid) return 0;
  for (int frames = 0; frames < kFramesMax; ++frames) {
    if (go_table_function_at(table, walk.address, &function) == 0 &&
        strcmp(function.name, "runtime.main") == 0) {
      return 1;
    }
    if (walk_on(&walk) != 0) return 0;
  }
  return 0;
}

/* Whether nothing has been found before: else it is too late to be stopped. */
static int is_first(void) {
  return !state.is_ahead && state.load.found[0] == '\0' && state.request_variable[0] == '\0' &&
         state.executable.go.refused == NULL;
}

/* Whether the program is to be stopped here, before it does what would be the same for everybody:
 * this, or what the watch has just found; NULL: nothing else. was_first: is_first(), before. What
 * it does is told to the operator. */
static int is_left_to_requests(const char *does, int was_first, const ucontext_t *context) {
  struct go_program *go = &state.executable.go;
  char place[kFoundMax / 2];
  int is_found = state.load.found[0] != '\0';
  if (!was_first || (does == NULL && !is_found) || !is_main_goroutine(context)) return 0;
  if (is_found) {
    strcpy(go->left, state.load.found);
    state.load.found[0] = '\0';
    return 1;
  }
  noted = context;
  go_place(place, sizeof place);
  noted = NULL;
  snprintf(go->left, sizeof go->left, "%s%s", does, place);
  return 1;
}

/* ---- functions ---- */

static void note(enum impurity kind, const char *what, const ucontext_t *context) {
  noted = context;
  load_watch_note(kind, what, (const void *)context->uc_mcontext.gregs[REG_RIP]);
  noted = NULL;
}

/* The answer of a function that returns a string and whether there is one: in three registers, to
 * its caller. */
static void answer_variable(const char *value, ucontext_t *context) {
  greg_t *registers = context->uc_mcontext.gregs;
  registers[REG_RAX] = (greg_t)value;
  registers[REG_RBX] = value == NULL ? 0 : (greg_t)strlen(value);
  registers[REG_RCX] = value != NULL;
  memcpy(&registers[REG_RIP], (const char *)registers[REG_RSP], sizeof(greg_t));
  registers[REG_RSP] += (greg_t)sizeof(greg_t);
}

/* The standard library would make a map of all variables, which would be the same for all requests.
 * So this is answered in its place. A Go string is in two registers. NULL, or what only a request
 * knows. */
static const char *give_variable(ucontext_t *context) {
  char name[256];
  const greg_t *registers = context->uc_mcontext.gregs;
  size_t length = (size_t)registers[REG_RBX];
  if (length >= sizeof name) return "asks for a variable of a long name";
  if (copy_in(name, registers[REG_RAX], length) != 0) return "asks for an unreadable variable";
  name[length] = '\0';
  if (environment_is_of_request(name)) return "asks for a request's variable";
  environment_watch_note(name);
  answer_variable(go_program_variable(name), context);
  return NULL;
}

/* Packages by way of which others ask. */
static int passes_on(const char *name) {
  return is_of_runtime(name) || starts_with(name, "time.") || starts_with(name, "math/rand");
}

/* Who calls a function of the runtime's: itself; the code of a map, on a stack; package time, for
 * the start that is renewed (renewal.c). */
static int is_runtimes_business(const struct go_mark *mark, const struct go_function *caller,
                                uintptr_t after) {
  if (is_of_runtime(caller->name) || strcmp(caller->name, "time.init") == 0) return 1;
  if (strcmp(mark->name, "runtime.rand") == 0)
    return go_is_map_seed(caller, after, sizeof(uint64_t));
  return strcmp(mark->name, "runtime.fastrand") == 0 &&
         go_is_map_seed(caller, after, sizeof(uint32_t));
}

/* Packages of Go's own that ask for something and keep it to themselves: a time to measure from,
 * the seed of a hash. */
static int is_kept(const struct go_mark *mark, const ucontext_t *context) {
  static const struct {
    enum go_watched kind;
    const char *asks;
  } kKept[] = {{GO_TIME, "crypto/internal/"},
               {GO_TIME, "sync.runtime_nanotime"},
               {GO_TIME, "internal/sync.runtime_nanotime"},
               {GO_RANDOM, "internal/sync."},
               {GO_RANDOM, "internal/concurrent."},
               {GO_RANDOM, "unique."}};
  const struct go_table *table = &state.executable.go.places.table;
  struct walk walk = walk_begin(context);
  struct go_function function = {.name = ""};
  if (go_table_function_at(table, walk.address, &function) != 0) return 0;
  if (starts_with(mark->name, "runtime.") && is_runtimes_business(mark, &function, walk.address))
    return 1;
  if (starts_with(function.name, "runtime.gcMarkTermination"))
    return mark->kind == GO_TIME && !state.executable.go.places.tells_collections;
  while (passes_on(function.name)) {
    if (walk_on(&walk) != 0 || go_table_function_at(table, walk.address, &function) != 0) return 0;
  }
  for (size_t i = 0; i < sizeof kKept / sizeof *kKept; ++i) {
    if (mark->kind == kKept[i].kind && starts_with(function.name, kKept[i].asks)) return 1;
  }
  return 0;
}

/* Notes what is found, answers what can be answered, or returns what only a request can do. */
static const char *function_of_request(const struct go_mark *mark, ucontext_t *context) {
  switch (mark->kind) {
    case GO_VARIABLE:
      return give_variable(context);
    case GO_VARIABLES:
      return "asks for all variables";
    case GO_CHANGES_VARIABLES:
      return "changes the environment";
    case GO_PLUGIN:
      return "opens a plugin";
    case GO_TIME:
    case GO_TIMER:
      note(IMPURE_TIME, mark->name, context);
      return NULL;
    case GO_RANDOM:
      note(IMPURE_RANDOM, mark->name, context);
      return NULL;
    case GO_MAIN:
      break;
  }
  return NULL;
}

/* Does not return if the program is stopped here. */
static void see_function(const struct go_mark *mark, ucontext_t *context) {
  if (is_kept(mark, context)) return go_mark_pass(mark, context);
  int was_first = is_first();
  struct visit visit = libc_enter();
  const char *does = function_of_request(mark, context);
  int is_left = is_left_to_requests(does, was_first, context);
  if (!is_left && does != NULL) state.executable.go.refused = does;
  libc_leave(&visit);
  if (is_left) go_program_stand(mark->place, context);
  int is_answered = mark->kind == GO_VARIABLE && does == NULL;
  if (!is_answered) go_mark_pass(mark, context);
}

int go_mark_reached(uintptr_t place, ucontext_t *context) {
  struct go_places *places = &state.executable.go.places;
  for (size_t i = 0; i < places->mark_count; ++i) {
    const struct go_mark *mark = &places->marks[i];
    if (mark->place != place) continue;
    if (mark->kind == GO_MAIN) go_program_stand(place, context);
    see_function(mark, context);
    return 1;
  }
  return 0;
}

/* ---- calls ---- */

static void look_at_listed_folder(long file, const void *caller) {
  char path[PATH_MAX];
  if (path_of_open_file(file, path, sizeof path) > 0) lookups_see_folder(path, caller);
}

static void note_file(int directory, const char *path, int flags, const void *caller) {
  note_open_of_load("open", directory, path, flags, caller);
  lookups_see_open(directory, path, flags, caller);
}

static void note_call(long number, const long *words, const void *caller) {
  switch (number) {
    case SYS_gettid:
      return load_watch_note(IMPURE_PID, "gettid", caller);
    case SYS_clock_gettime: /* any clock: a seed may be made of it */
      return load_watch_note(IMPURE_TIME, "clock_gettime", caller);
    case SYS_times:
      return load_watch_note(IMPURE_TIME, "times", caller);
    case SYS_getrusage:
      return load_watch_note(IMPURE_TIME, "getrusage", caller);
    case SYS_sysinfo:
      return load_watch_note(IMPURE_TIME, "sysinfo", caller);
    case SYS_read:
    case SYS_pread64:
    case SYS_readv:
      return answers_see_input("read", words[0], caller);
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
      answers_see_number(number, words, caller);
      return lookups_see_look(AT_FDCWD, (const char *)words[0], caller);
    case SYS_getdents64:
      answers_see_number(number, words, caller);
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

/* What is undone later, if at all, and not found then. */
static const char *call_of_request(long number) {
  switch (number) {
    case SYS_chdir:
    case SYS_fchdir:
      return "changes its working folder";
    case SYS_socket:
      return load_watch_accepts("sockets") ? NULL : "opens a socket";
    default:
      return NULL;
  }
}

/* Of others than the main goroutine, and after what they have done: the program is not stopped, and
 * what it changes outside from here on would be changed for nobody. */
static void refuse_what_is_too_late(int is_left) {
  if (is_left || state.is_ahead || state.load.found[0] == '\0') return;
  traps_end();
  load_watch_refuse();
}

void go_watch_call(long number, const long *words, ucontext_t *context) {
  enum { kCallBytes = 2 };
  uintptr_t after = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
  if (state.role != ROLE_ZYGOTE || !state.load.is_on || state.executable.go.stage == GO_GOES_ON)
    return;
  int prints = number == SYS_write && (words[0] == STDOUT_FILENO || words[0] == STDERR_FILENO);
  if (!prints && is_runtimes_own(after - kCallBytes, context)) return;
  int was_first = is_first();
  struct visit visit = libc_enter();
  noted = context;
  note_call(number, words, (const void *)after);
  noted = NULL;
  int is_left = is_left_to_requests(call_of_request(number), was_first, context);
  refuse_what_is_too_late(is_left);
  libc_leave(&visit);
  if (is_left) go_program_stand(after - kCallBytes, context);
}

#else

int go_place(char *place, size_t bytes) {
  (void)place;
  (void)bytes;
  return 0;
}

#endif
