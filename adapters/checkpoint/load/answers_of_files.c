/* What links, listings and the status of files tell a load: see answers.h. A file of the kernel's
 * is known by its file system and its place there, whatever name led to it. */
#include "load/answers.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "calls/passed_calls.h"
#include "raw_call.h"
#include "rewind/engine.h"

static int is_asked(void) {
  return state.role == ROLE_ZYGOTE && state.load.is_on;
}

static long open_place(int directory, const char *path, int flags) {
  return raw_call(SYS_openat, directory, path, O_PATH | O_CLOEXEC | flags, 0);
}

/* ---- what an open file is ---- */

enum place { PLACE_ELSEWHERE, PLACE_OF_KERNEL, PLACE_OF_PROCESS, PLACE_OF_ALL, PLACE_OF_PIPE };

/* PLACE_OF_PROCESS: of any process, or its threads. PLACE_OF_ALL: /proc itself. PLACE_OF_PIPE: of a
 * pipe or socket without a name. */
static enum place place_of(int fd) {
  char path[PATH_MAX];
  struct statfs system;
  if (raw_call(SYS_fstatfs, fd, &system) != 0) return PLACE_ELSEWHERE;
  if (system.f_type == PIPEFS_MAGIC || system.f_type == SOCKFS_MAGIC) return PLACE_OF_PIPE;
  if (path_of_open_file(fd, path, sizeof path) <= 0) return PLACE_ELSEWHERE;
  if (strncmp(path, "/memfd:", 7) == 0) return PLACE_OF_PIPE;
  if (system.f_type != PROC_SUPER_MAGIC) return PLACE_ELSEWHERE;
  const char *place = kernel_file_place(path);
  if (isdigit((unsigned char)*place)) return PLACE_OF_PROCESS;
  if (strcmp(place, "self") == 0 || strcmp(place, "thread-self") == 0) return PLACE_OF_PROCESS;
  return *place == '\0' ? PLACE_OF_ALL : PLACE_OF_KERNEL;
}

static enum place place_named(int directory, const char *path, int flags) {
  long fd = open_place(directory, path, flags);
  if (fd < 0) return PLACE_ELSEWHERE;
  enum place place = place_of((int)fd);
  raw_call(SYS_close, fd);
  return place;
}

/* ---- status: times, and the numbers of files ---- */

/* A file of /proc takes no room; this spares a closer look at most others. */
static int may_be_kernels(const struct stat *status) {
  if (S_ISFIFO(status->st_mode) || S_ISSOCK(status->st_mode)) return 1;
  return major(status->st_dev) == 0 && status->st_blocks == 0;
}

static void note_status(const char *name, enum place place, const void *caller) {
  int is_constructors = state.level == LEVEL_LINKED;
  if (place == PLACE_OF_PROCESS) {
    load_watch_note(IMPURE_PID, name, caller);
    load_watch_note(IMPURE_TIME, name, caller); /* at which somebody first looked */
  }
  if (place == PLACE_OF_PIPE) load_watch_note(IMPURE_RANDOM, name, caller);
  if ((place == PLACE_OF_ALL || place == PLACE_OF_KERNEL) && is_constructors)
    load_watch_note(IMPURE_TIME, name, caller);
}

/* Interpreters ask about each file that they open, and 0, 1 and 2 are open in all of them. */
static void see_status_of(const char *name, long fd, const void *caller) {
  struct stat status;
  if (!is_asked() || raw_call(SYS_fstat, (int)fd, &status) != 0) return;
  int is_named = S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
  if ((fd <= 2 || is_named) && state.level != LEVEL_LINKED) return;
  if (fd >= 0 && fd <= 2) return load_watch_note(IMPURE_RANDOM, name, caller);
  if (may_be_kernels(&status)) note_status(name, place_of((int)fd), caller);
}

void answers_see_status(const char *name, int directory, const char *path, int flags,
                        const void *caller) {
  struct stat status;
  if (!is_asked()) return;
  if (path == NULL || (may_be_memory(path) && *path == '\0' && (flags & AT_EMPTY_PATH) != 0))
    return see_status_of(name, directory, caller);
  if (!may_be_memory(path)) return;
  flags &= AT_SYMLINK_NOFOLLOW;
  if (raw_call(SYS_newfstatat, directory, path, &status, flags) != 0) return;
  if (!may_be_kernels(&status)) return;
  int follow = flags != 0 ? O_NOFOLLOW : 0;
  note_status(name, place_named(directory, path, follow), caller);
}

void *look_at_status_of(const struct passed_call *call, const long *arguments) {
  see_status_of(call->name, (int)arguments[0], caller_of(arguments));
  return NULL;
}

void *look_at_old_status_of(const struct passed_call *call, const long *arguments) {
  see_status_of(call->name, (int)arguments[1], caller_of(arguments));
  return NULL;
}

void *look_at_status(const struct passed_call *call, const long *arguments) {
  answers_see_status(call->name, AT_FDCWD, (const char *)arguments[0], AT_SYMLINK_NOFOLLOW,
                     caller_of(arguments));
  lookups_see_look(AT_FDCWD, (const char *)arguments[0], caller_of(arguments));
  return NULL;
}

void *look_at_old_status(const struct passed_call *call, const long *arguments) {
  int flags = strncmp(call->name, "__l", 3) == 0 ? AT_SYMLINK_NOFOLLOW : 0;
  answers_see_status(call->name, AT_FDCWD, (const char *)arguments[1], flags, caller_of(arguments));
  lookups_see_look(AT_FDCWD, (const char *)arguments[1], caller_of(arguments));
  return NULL;
}

static void see_status_in(const char *name, int directory, const char *path, int flags,
                          const void *caller) {
  answers_see_status(name, directory, path, flags, caller);
  lookups_see_look(directory, path, caller);
}

/* statx() has its flags as the third word, and name_to_handle_at() has others. */
void *look_at_status_in(const struct passed_call *call, const long *arguments) {
  int flags = (int)arguments[3];
  if (strcmp(call->name, "statx") == 0) flags = (int)arguments[2];
  if (strcmp(call->name, "name_to_handle_at") == 0) {
    flags = (int)arguments[4] & AT_EMPTY_PATH;
    if (((int)arguments[4] & AT_SYMLINK_FOLLOW) == 0) flags |= AT_SYMLINK_NOFOLLOW;
  }
  see_status_in(call->name, (int)arguments[0], (const char *)arguments[1], flags,
                caller_of(arguments));
  return NULL;
}

void *look_at_old_status_in(const struct passed_call *call, const long *arguments) {
  see_status_in(call->name, (int)arguments[1], (const char *)arguments[2], (int)arguments[4],
                caller_of(arguments));
  return NULL;
}

/* ---- free room ---- */

/* The kernel's own file systems have none; libselinux's constructor asks whether one is there. */
static void see_room(const char *name, long number, long file, const void *caller) {
  struct statfs system;
  if (!is_asked() || raw_call(number, file, &system) != 0) return;
  if (system.f_blocks != 0) load_watch_note(IMPURE_TIME, name, caller);
}

void *look_at_room(const struct passed_call *call, const long *arguments) {
  see_room(call->name, SYS_statfs, arguments[0], caller_of(arguments));
  lookups_see_look(AT_FDCWD, (const char *)arguments[0], caller_of(arguments));
  return NULL;
}

void *look_at_room_of(const struct passed_call *call, const long *arguments) {
  see_room(call->name, SYS_fstatfs, (int)arguments[0], caller_of(arguments));
  return NULL;
}

void *look_at_setting(const struct passed_call *call, const long *arguments) {
  if (is_asked() && arguments[0] == _SC_AVPHYS_PAGES)
    load_watch_note(IMPURE_TIME, call->name, caller_of(arguments));
  return NULL;
}

/* ---- links, and the paths that lead through them ---- */

/* A link's text that may be a number of the kernel's: "41", "41/task/42", "pipe:[41]",
 * "/proc/41/fd". */
static int has_number(const char *text) {
  static const char *const kBegin[] = {"pipe:[", "socket:[", "/"};
  for (size_t i = 0; i < sizeof kBegin / sizeof *kBegin; ++i) {
    if (strncmp(text, kBegin[i], strlen(kBegin[i])) == 0)
      return strpbrk(text, "0123456789") != NULL;
  }
  return isdigit((unsigned char)*text);
}

/* A link of /proc with the number of a process or a pipe as its text; or a path with a process's
 * number. Other links are somebody's text. */
static void note_link(const char *name, enum place of_link, const char *text, const void *caller) {
  if (text[0] == '/') {
    if (place_named(AT_FDCWD, text, 0) == PLACE_OF_PROCESS)
      load_watch_note(IMPURE_PID, name, caller);
  } else if (of_link == PLACE_OF_PROCESS) {
    int is_process = isdigit((unsigned char)text[0]);
    load_watch_note(is_process ? IMPURE_PID : IMPURE_RANDOM, name, caller);
  }
}

/* Without a path it is the descriptor's own. */
void answers_see_link(const char *name, int directory, const char *path, const void *caller) {
  char text[PATH_MAX];
  if (!is_asked() || !may_be_memory(path)) return;
  long length = raw_call(SYS_readlinkat, directory, path, text, sizeof text - 1);
  if (length <= 0) return;
  text[length] = '\0';
  if (!has_number(text)) return;
  enum place of_link =
      *path == '\0' ? place_of(directory) : place_named(directory, path, O_NOFOLLOW);
  note_link(name, of_link, text, caller);
}

/* As far as the path exists: what does not exist beyond it is an error that tells the rest. */
void *look_at_place(const struct passed_call *call, const long *arguments) {
  char path[PATH_MAX];
  const char *given = (const char *)arguments[0];
  if (!is_asked() || !may_be_memory(given) || strlen(given) >= sizeof path) return NULL;
  strcpy(path, given);
  char *end = path + strlen(path);
  long fd = open_place(AT_FDCWD, path, 0);
  while (fd < 0 && (end = strrchr(path, '/')) != NULL && end > path) {
    *end = '\0';
    fd = open_place(AT_FDCWD, path, 0);
  }
  if (fd < 0) return NULL;
  if (place_of((int)fd) == PLACE_OF_PROCESS)
    load_watch_note(IMPURE_PID, call->name, caller_of(arguments));
  raw_call(SYS_close, fd);
  return NULL;
}

static void see_working_folder(const char *name, const void *caller) {
  if (is_asked() && place_named(AT_FDCWD, ".", 0) == PLACE_OF_PROCESS)
    load_watch_note(IMPURE_PID, name, caller);
}

void *look_at_working_folder(const struct passed_call *call, const long *arguments) {
  see_working_folder(call->name, caller_of(arguments));
  return NULL;
}

/* ---- listings: who runs, which threads, what is open ---- */

static void note_listing(const char *name, enum place place, const void *caller) {
  if (place == PLACE_OF_PROCESS || place == PLACE_OF_ALL) load_watch_note(IMPURE_PID, name, caller);
}

static void see_folder(const char *name, int directory, const char *path, const void *caller) {
  if (is_asked() && may_be_memory(path))
    note_listing(name, place_named(directory, path, 0), caller);
}

void *look_at_folder(const struct passed_call *call, const long *arguments) {
  see_folder(call->name, AT_FDCWD, (const char *)arguments[0], caller_of(arguments));
  lookups_see_folder((const char *)arguments[0], caller_of(arguments));
  return NULL;
}

void *look_at_folder_in(const struct passed_call *call, const long *arguments) {
  see_folder(call->name, (int)arguments[0], (const char *)arguments[1], caller_of(arguments));
  return NULL;
}

static void see_listing(const char *name, long fd, const void *caller) {
  if (is_asked()) note_listing(name, place_of((int)fd), caller);
}

void *look_at_listing(const struct passed_call *call, const long *arguments) {
  see_listing(call->name, arguments[0], caller_of(arguments));
  return NULL;
}

void *look_at_opened_folder(const struct passed_call *call, const long *arguments) {
  see_listing(call->name, arguments[0], caller_of(arguments));
  return look_at_descriptor(call, arguments);
}

/* What a pattern or a tree begins with: the folder before its first sign. Below the root itself any
 * folder may be meant. */
static void see_listed(const char *name, const char *pattern, const void *caller) {
  char path[PATH_MAX];
  if (!is_asked() || !may_be_memory(pattern)) return;
  size_t plain = strcspn(pattern, "*?[{~\\");
  int has_sign = pattern[plain] != '\0';
  if (plain >= sizeof path - 2) return;
  memcpy(path, pattern, plain);
  path[plain] = '\0';
  if (has_sign) {
    char *slash = strrchr(path, '/');
    if (slash == NULL) return see_folder(name, AT_FDCWD, ".", caller);
    slash[1] = '\0';
    const char *rest = strchr(pattern + plain, '/');
    if (slash == path && rest != NULL) return load_watch_note(IMPURE_UNSEEN, name, caller);
  }
  see_folder(name, AT_FDCWD, path, caller);
}

void *look_at_listed(const struct passed_call *call, const long *arguments) {
  see_listed(call->name, (const char *)arguments[0], caller_of(arguments));
  return NULL;
}

void *look_at_trees(const struct passed_call *call, const long *arguments) {
  const char *const *paths = (const char *const *)arguments[0];
  if (!may_be_memory(paths)) return NULL;
  for (; *paths != NULL; ++paths) see_folder(call->name, AT_FDCWD, *paths, caller_of(arguments));
  return NULL;
}

/* ---- the same by number ---- */

void answers_see_number(long number, const long *words, const void *caller) {
  const char *path = (const char *)words[1];
  switch (number) {
#ifdef SYS_fork
    case SYS_stat:
    case SYS_lstat:
      return answers_see_status("syscall stat", AT_FDCWD, (const char *)words[0],
                                number == SYS_lstat ? AT_SYMLINK_NOFOLLOW : 0, caller);
    case SYS_readlink:
      return answers_see_link("syscall readlink", AT_FDCWD, (const char *)words[0], caller);
    case SYS_getdents:
#endif
    case SYS_getdents64:
      return see_listing("syscall getdents", words[0], caller);
    case SYS_fstat:
      return see_status_of("syscall fstat", words[0], caller);
    case SYS_statfs:
    case SYS_fstatfs:
      return see_room("syscall statfs", number, words[0], caller);
    case SYS_newfstatat:
      return answers_see_status("syscall fstatat", (int)words[0], path, (int)words[3], caller);
    case SYS_statx:
      return answers_see_status("syscall statx", (int)words[0], path, (int)words[2], caller);
    case SYS_name_to_handle_at:
      return answers_see_status("syscall name_to_handle_at", (int)words[0], path,
                                (int)words[4] & AT_EMPTY_PATH, caller);
    case SYS_readlinkat:
      return answers_see_link("syscall readlinkat", (int)words[0], path, caller);
    case SYS_getcwd:
      return see_working_folder("syscall getcwd", caller);
    default:
      return answers_see_number_of_others(number, words, caller);
  }
}
