#include "load/load_watch.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calls/passed_calls.h"
#include "calls/rare_calls.h"
#include "load/load_effects.h"
#include "load/trial.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/inherited.h"
#include "rewind/threads_missing.h"

static const struct {
  const char *name, *does;
} kKinds[IMPURITIES] = {{"random", "draws random numbers"},
                        {"time", "asks for the time"},
                        {"pid", "asks for its process id"},
                        {"input", "reads its input"},
                        {"output", "prints"},
                        {"children", "starts a process"},
                        {"sockets", "opens a connection"},
                        {"files", "changes files"},
                        {"seed", "seeds random numbers"},
                        {"others", "acts on another process"},
                        {"unseen", "calls what cannot be watched"},
                        {"restless", "looks at a file that changes all the time"}};

void load_watch_accept(const char *list, size_t bytes) {
  const char *end = list + bytes;
  while (list < end) {
    size_t length = strcspn(list, ", ");
    if (length > (size_t)(end - list)) length = (size_t)(end - list);
    for (int kind = 0; kind < IMPURITIES; ++kind) {
      if (strlen(kKinds[kind].name) == length && memcmp(list, kKinds[kind].name, length) == 0) {
        state.load.accepted |= 1u << kind;
      }
    }
    list += length + 1;
  }
}

int load_watch_accepts(const char *name) {
  for (int kind = 0; kind < IMPURITIES; ++kind) {
    if (strcmp(kKinds[kind].name, name) == 0) return (int)(state.load.accepted >> kind & 1);
  }
  return 0;
}

void load_watch_begin(const char *renewed) {
  state.load.is_on = 1;
  state.load.found[0] = '\0';
  strncpy(state.load.renewed, renewed, sizeof state.load.renewed - 1);
  load_left_begin();
  python_clocks_watch();
}

/* ---- standard output ---- */

enum { kOutputBytes = 1024 * 1024 }; /* that are printed before the checkpoint; more has to wait */

static int is_pipe(int fd, ino_t inode) {
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode) && status.st_ino == inode;
}

static void catch_stream(struct caught_stream *stream, int fd, int end) {
  struct stat status;
  int kept = fcntl(fd, F_DUPFD_CLOEXEC, descriptor_least_own());
  if (kept >= 0 && fstat(end, &status) == 0 && dup2(end, fd) >= 0) {
    stream->kept = kept;
    stream->inode = status.st_ino;
  } else if (kept >= 0) {
    close(kept);
  }
}

/* What the program has put in its place stays, to be found. */
static void release_stream(struct caught_stream *stream, int fd) {
  if (stream->kept == 0) return;
  if (is_pipe(fd, stream->inode)) dup2(stream->kept, fd);
  close(stream->kept);
  stream->kept = 0;
}

static int has_byte; /* standard input, until it is read */

/* Pipes, as a request has them: libraries look at their streams when they are loaded. A process
 * that will itself answer a request keeps what it has. */
void load_watch_catch_streams(void) {
  int in[2], out[2];
  if (state.is_ahead) return;
  int error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, descriptor_least_own());
  if (error >= 0) state.load.error.kept = error;
  if (pipe2(in, O_CLOEXEC) != 0) return;
  if (state.level == LEVEL_LINKED) has_byte = raw_call(SYS_write, in[1], "\n", 1) == 1;
  catch_stream(&state.load.input, STDIN_FILENO, in[0]);
  close(in[0]);
  close(in[1]);
  if (pipe2(out, O_CLOEXEC) != 0) return;
  fcntl(out[1], F_SETPIPE_SZ, kOutputBytes);
  state.load.printed = fcntl(out[0], F_DUPFD_CLOEXEC, descriptor_least_own());
  if (state.load.printed >= 0) catch_stream(&state.load.output, STDOUT_FILENO, out[1]);
  close(out[0]);
  close(out[1]);
}

/* libc prints by internal calls, which cannot be interposed. */
void load_watch_count_output(void) {
  state.load.counts_output = 1;
}

static int has_printed(void) {
  int bytes = 0;
  return state.load.counts_output && state.load.output.kept > 0 &&
         ioctl(state.load.printed, FIONREAD, &bytes) == 0 && bytes > 0;
}

/* Constructors find one byte there, and whoever takes it away has read, by whatever call. */
static int has_read(void) {
  int bytes = 0;
  return has_byte && state.load.input.kept > 0 && is_pipe(STDIN_FILENO, state.load.input.inode) &&
         ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 && bytes == 0;
}

int load_watch_is_output(const struct stat *status) {
  return S_ISFIFO(status->st_mode) && state.load.output.inode != 0 &&
         status->st_ino == state.load.output.inode;
}

void load_watch_end(void) {
  state.load.is_on = 0;
  perl_generator_leave();
  python_clocks_leave();
  load_watch_release_streams();
}

void load_watch_release_streams(void) {
  release_stream(&state.load.input, STDIN_FILENO);
  if (state.load.output.kept > 0) close(state.load.printed);
  release_stream(&state.load.output, STDOUT_FILENO);
  release_stream(&state.load.error, STDERR_FILENO);
}

void load_watch_put_back_streams(void) {
  const int kept[] = {state.load.input.kept, state.load.output.kept, state.load.error.kept};
  for (int fd = 0; fd < 3; ++fd) {
    if (kept[fd] > 0) dup2(kept[fd], fd);
  }
}

/* ---- who it was ---- */

static const char *name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

/* The file name of the object that has this code, or NULL. dladdr() would look through all of its
 * symbols, of which Node has very many. */
const char *load_watch_library_of(const void *code) {
  struct dl_find_object found;
  if (_dl_find_object((void *)(uintptr_t)code, &found) != 0) return NULL;
  const char *path = found.dlfo_link_map->l_name;
  return name_of(path[0] != '\0' ? path : program_invocation_name);
}

/* By its file name, among paths after "LD_PRELOAD=". What the operator preloads is the operator's
 * decision. */
static int is_preloaded(const char *library) {
  size_t length = strlen(library);
  for (const char *at = state.preload_text; (at = strstr(at, library)) != NULL; ++at) {
    int begins = at > state.preload_text && strchr("=/: ", at[-1]) != NULL;
    if (begins && strchr(": ", at[length]) != NULL) return 1; /* or the text's end */
  }
  return 0;
}

static int has_name_of(const char *library, const char *const *names) {
  for (; *names != NULL; ++names) {
    if (strncmp(library, *names, strlen(*names)) == 0) return 1;
  }
  return 0;
}

/* Generators that notice a fork: each request is a fork to them. What a program gets from them is
 * watched (generators.h); for a seed they ask for these three. Allocators, and V8, keep what they
 * ask for to themselves. Two libraries ask for the time as they start: GLib because of its
 * allocator, libxml2 for the seed of its hashes. */
static int renews_itself(const char *library, enum impurity kind) {
  static const char *const kGenerators[] = {"libcrypto.so", "libssl.so",    "libgnutls.so",
                                            "libgcrypt.so", "libnss3.so",   "libfreebl",
                                            "libsoftokn3",  "libnettle.so", NULL};
  static const char *const kOthers[] = {"libjemalloc", "libmimalloc", "libtcmalloc", "node", NULL};
  static const char *const kAskTheTime[] = {"libglib-2.0.so", "libxml2.so", NULL};
  /* Debian's Node has libuv as a separate library, and asks through it. */
  int is_by_way = strncmp(library, "libuv.so", strlen("libuv.so")) == 0;
  const char *name = is_by_way ? name_of(program_invocation_name) : library;
  int is_of_a_seed = kind == IMPURE_RANDOM || kind == IMPURE_TIME || kind == IMPURE_PID;
  if (has_name_of(name, kOthers) || (is_of_a_seed && has_name_of(name, kGenerators))) return 1;
  /* Python 3.13 contains mimalloc. What its modules do comes after main() has begun. */
  int is_python = strncmp(name, "python3", 7) == 0 || strncmp(name, "libpython3", 10) == 0;
  if (is_python && state.level == LEVEL_LINKED) return 1;
  return (kind == IMPURE_TIME && has_name_of(library, kAskTheTime)) || is_preloaded(library);
}

/* libnuma's constructor reads the masks of processors and memory nodes there, and nothing else.
 * libgfortran's and libLLVM's look at what kind of files 0, 1 and 2 are. */
static int is_usual(const char *library, const char *function) {
  static const char *const kStreams[] = {"libgfortran.so", "libLLVM", NULL};
  if (has_name_of(library, kStreams)) return strstr(function, "stat") != NULL;
  return strncmp(library, "libnuma.so", 10) == 0 && strcmp(function, "/proc/self/status") == 0;
}

/* In a trial the program's own calls come from Node as well; what its functions would tell the
 * program of these kinds, its adapter watches. */
static int asks_for_itself(const char *library, enum impurity kind) {
  int is_node = strcmp(library, "node") == 0 || strcmp(library, "nodejs") == 0 ||
                strncmp(library, "libnode.so", 10) == 0 || strncmp(library, "libuv.so", 8) == 0;
  if (is_node) return kind == IMPURE_RANDOM || kind == IMPURE_PID;
  int is_addon = strncmp(library, "node", 4) == 0;
  return !is_addon && renews_itself(library, kind);
}

/* place: ", at FILE line N" */
static int is_renewed(const char *place) {
  static const char kAt[] = ", at ";
  if (strncmp(place, kAt, sizeof kAt - 1) != 0) return 0;
  place += sizeof kAt - 1;
  for (const char *line = state.load.renewed; *line != '\0'; line += *line == '\n') {
    size_t length = strcspn(line, "\n");
    const char *rest = strncmp(place, line, length) == 0 ? place + length : NULL;
    if (rest != NULL && (rest[0] == '\0' || strncmp(rest, " line ", 6) == 0)) return 1;
    line += length;
  }
  return 0;
}

/* Such a program's checkpoint is refused at main(); see checkpoint.c. */
static int is_before_main(void) {
  return state.level == LEVEL_LINKED && !state.is_ahead && !program_is_go();
}

/* Whether others than this process would notice it, or could notice what follows it unseen: it
 * would be done once for nobody at each start, if that is not prevented. */
static int has_effect(enum impurity kind) {
  if (!is_before_main() && !load_effects_matter()) return 0;
  return kind == IMPURE_CHILDREN || kind == IMPURE_SOCKETS || kind == IMPURE_FILES ||
         kind == IMPURE_OTHERS || kind == IMPURE_UNSEEN;
}

static void prevent_effect(void) {
  if (is_before_main()) load_watch_refuse();
  load_effects_prevent(state.load.found);
}

void load_watch_note(enum impurity kind, const char *function, const void *caller) {
  struct load_watch *load = &state.load;
  if (kind == IMPURE_CHILDREN) cycles_leave();
  if (state.role != ROLE_ZYGOTE || !load->is_on) return;
  if (load->found[0] != '\0' && !has_effect(kind)) return;
  if ((load->accepted >> kind & 1) != 0 || is_of_this_library(caller)) return;
  if (raw_call(SYS_getpid) != state.pid) return;
  const char *library = load_watch_library_of(caller);
  const char *name = library != NULL ? library : "code that was made";
  int is_interpreters = trial_is_on() ? asks_for_itself(name, kind) : renews_itself(name, kind);
  if (kind != IMPURE_RESTLESS && (is_interpreters || is_usual(name, function))) return;
  load->is_on = 0; /* finding the place may call what is watched */
  char place[kFoundMax / 2];
  if (!load_place(place, sizeof place)) snprintf(place, sizeof place, ", called by %s", name);
  int counts = kind == IMPURE_RESTLESS || !is_renewed(place);
  if (counts && load->found[0] == '\0')
    snprintf(load->found, sizeof load->found, "%s (%s%s)", kKinds[kind].does, function, place);
  load->is_on = 1;
  if (counts && has_effect(kind)) prevent_effect();
  if (load->found[0] != '\0') cycles_leave();
  if (trial_is_on() && load->found[0] != '\0') trial_end(load->found);
}

const char *load_watch_found(void) {
  struct load_watch *load = &state.load;
  int may_print = (load->accepted >> IMPURE_OUTPUT & 1) != 0;
  int may_read = (load->accepted >> IMPURE_INPUT & 1) != 0;
  if (!load->is_on || load->found[0] != '\0') return load->found;
  if (!may_print && has_printed()) {
    strcpy(load->found, kKinds[IMPURE_OUTPUT].does);
  } else if (!may_read && has_read()) {
    strcpy(load->found, kKinds[IMPURE_INPUT].does);
  } else if (lookups_left_folder()) {
    strcpy(load->found, "changes its working folder");
  }
  return load->found;
}

void load_watch_refuse(void) {
  char reason[kFoundMax + 32];
  snprintf(reason, sizeof reason, "what runs before main() %s", state.load.found);
  checkpoint_refuse(reason);
}

/* ---- the functions that are watched ---- */

#define LOOK(kind, look)                                              \
  void *look(const struct passed_call *call, const long *arguments) { \
    load_watch_note(kind, call->name, caller_of(arguments));          \
    return NULL;                                                      \
  }
LOOK(IMPURE_RANDOM, look_at_random)
LOOK(IMPURE_CHILDREN, look_at_child)

void *look_at_change(const struct passed_call *call, const long *arguments) {
  int is_second = strcmp(call->name, "rename") == 0;
  if (load_effects_is_cache((const char *)arguments[is_second])) return NULL;
  load_watch_note(IMPURE_FILES, call->name, caller_of(arguments));
  return NULL;
}

/* Of no name, to find out whether links can be made: it fails (path_resolution(7)). */
void *look_at_link(const struct passed_call *call, const long *arguments) {
  const char *from = (const char *)arguments[0], *to = (const char *)arguments[1];
  int is_try = may_be_memory(from) && may_be_memory(to) && (from[0] == '\0' || to[0] == '\0');
  return is_try ? NULL : look_at_maker(call, arguments);
}

void *look_at_time(const struct passed_call *call, const long *arguments) {
  if (call != &passed_time) seeds_see_moment();
  load_watch_note(IMPURE_TIME, call->name, caller_of(arguments));
  return NULL;
}

void *look_at_pid(const struct passed_call *call, const long *arguments) {
  seeds_see_number(caller_of(arguments));
  load_watch_note(IMPURE_PID, call->name, caller_of(arguments));
  return NULL;
}

/* Allocators and others measure the machine by it; only constructors would keep its moment. */
void *look_at_machine(const struct passed_call *call, const long *arguments) {
  return state.level == LEVEL_LINKED ? look_at_time(call, arguments) : NULL;
}

/* The kernel's own random numbers for a new process. */
void *look_at_auxiliary(const struct passed_call *call, const long *arguments) {
  return arguments[0] == AT_RANDOM ? look_at_random(call, arguments) : NULL;
}

/* Only what others notice. */
void *look_at_fcntl(const struct passed_call *call, const long *arguments) {
  note_fcntl(arguments[0], arguments[1], arguments[2]);
  if (arguments[1] == F_SETLK || arguments[1] == F_SETLKW) inherited_let_go(arguments[0]);
  static const int kNoticed[] = {F_SETLK,      F_SETLKW,   F_OFD_SETLK,
                                 F_OFD_SETLKW, F_SETLEASE, F_NOTIFY};
  for (size_t i = 0; i < sizeof kNoticed / sizeof *kNoticed; ++i) {
    if ((int)arguments[1] == kNoticed[i]) {
      load_watch_note(IMPURE_FILES, call->name, caller_of(arguments));
    }
  }
  return NULL;
}

void *look_at_connection(const struct passed_call *call, const long *arguments) {
  load_watch_note(IMPURE_SOCKETS, call->name, caller_of(arguments));
  return look_at_wait(call, arguments);
}

void *look_at_input(const struct passed_call *call, const long *arguments) {
  go_threads_see_c_call(SYS_read, arguments);
  answers_see_input(call->name, arguments[0], caller_of(arguments));
  return NULL;
}

void *look_at_output(const struct passed_call *call, const long *arguments) {
  go_threads_see_c_call(call == &passed_writev ? SYS_writev : SYS_write, arguments);
  threads_see_descriptor(arguments[0]);
  if ((int)arguments[0] == STDOUT_FILENO || (int)arguments[0] == STDERR_FILENO) {
    load_watch_note(IMPURE_OUTPUT, call->name, caller_of(arguments));
  }
  return NULL;
}
