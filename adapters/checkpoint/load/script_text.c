/* See script_text.h. */
#include "load/script_text.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "calls/rare_calls.h"
#include "raw_call.h"
#include "rewind/engine.h"

static int is_wanted(void) {
  return state.reset == RESET_REWIND && (state.load.accepted >> IMPURE_PID & 1) == 0;
}

static int is_called(const char *name, const char *interpreter) {
  size_t length = strlen(interpreter);
  return strncmp(name, interpreter, length) == 0 &&
         (name[length] == '\0' || strchr("-.0123456789", name[length]) != NULL);
}

static int is_shell_or_awk(void) {
  static const char *const kNames[] = {"ash",   "bash", "busybox", "csh",  "dash", "fish",
                                       "gawk",  "ksh",  "lksh",    "mksh", "oksh", "posh",
                                       "rbash", "rc",   "tcsh",    "yash", "zsh"};
  char path[PATH_MAX];
  if (program_is_static()) {
    strcpy(path, state.executable.path);
  } else {
    long length = raw_call(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = '\0';
  }
  const char *name = strrchr(path, '/');
  for (size_t i = 0; name != NULL && i < sizeof kNames / sizeof *kNames; ++i) {
    if (is_called(name + 1, kNames[i])) return 1;
  }
  return 0;
}

/* The first of these that is in the text; where: its place. */
static const char *find_one(const char *const *words, const char *text, size_t bytes,
                            const char **where) {
  const char *first = NULL;
  for (; *words != NULL; ++words) {
    const char *found = (const char *)memmem(text, bytes, *words, strlen(*words));
    if (found == NULL || (first != NULL && found >= *where)) continue;
    first = *words;
    *where = found;
  }
  return first;
}

/* Whether it is NAME= before the id, and the id is not in a path: see named_files.h. */
static int is_assigned(const char *line, size_t bytes) {
  size_t word = bytes;
  while (word > 0 && strchr(" \t\"=", line[word - 1]) == NULL) --word;
  if (memchr(line + word, '/', bytes - word) != NULL) return 0;
  for (size_t i = 1; i < bytes; ++i) {
    if (line[i] == '=' && (isalnum((unsigned char)line[i - 1]) || line[i - 1] == '_')) return 1;
  }
  return 0;
}

/* How the line names the id, if that may become a seed or a name: NULL, if it does not. */
static const char *id_in_line(const char *line, size_t bytes) {
  static const char *const kIds[] = {"$$",      "${$}",     "BASHPID", "sysparams",
                                     ".sh.pid", "fish_pid", NULL};
  static const char *const kOthers[] = {"RANDOM",  "rand", "seed", "date", "EPOCH",
                                        "SECONDS", "time", "%(",   "sum",  "sha",
                                        "md5",     "uuid", NULL};
  static const char *const kOfAwk[] = {"PROCINFO[\"pid", NULL};
  const char *where = NULL, *other = NULL, *id = find_one(kOfAwk, line, bytes, &where);
  if (id != NULL) return id;
  id = find_one(kIds, line, bytes, &where);
  if (id == NULL) return NULL;
  int is_made_of_more = find_one(kOthers, line, bytes, &other) != NULL;
  return is_made_of_more || is_assigned(line, (size_t)(where - line)) ? id : NULL;
}

static const char *id_in_text(const char *text, size_t bytes) {
  for (const char *line = text, *end = text + bytes; line < end;) {
    const char *newline = (const char *)memchr(line, '\n', (size_t)(end - line));
    const char *next = newline != NULL ? newline : end;
    const char *id = id_in_line(line, (size_t)(next - line));
    if (id != NULL) return id;
    line = next + 1;
  }
  return NULL;
}

enum { kTextMost = 4 * 1024 * 1024 };

static const char *id_in_file(const char *path) {
  struct stat status;
  const char *id = NULL;
  long fd = raw_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return NULL;
  if (raw_call(SYS_fstat, fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    size_t bytes = status.st_size < kTextMost ? (size_t)status.st_size : kTextMost;
    /* Not the file itself: whoever cuts that would end the zygote. */
    const int protection = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
    long text = raw_call(SYS_mmap, NULL, bytes, protection, kind, -1L, 0L);
    if (text > 0) {
      long got = raw_call(SYS_pread64, fd, text, bytes, 0L);
      if (got > 0) id = id_in_text((const char *)text, (size_t)got);
      raw_call(SYS_munmap, text, bytes);
    }
  }
  raw_call(SYS_close, fd);
  return id;
}

static int reads_scripts; /* and none that it was launched with asks */

void script_text_look(int count, char *const words[]) {
  if (!is_wanted() || !is_shell_or_awk()) return;
  for (int i = 1; i < count; ++i) {
    const char *id = id_in_text(words[i], strlen(words[i]));
    if (id == NULL) id = id_in_file(words[i]);
    if (id == NULL) continue;
    snprintf(state.weaker, sizeof state.weaker, "its text makes something of the process id (%s)",
             id);
    state.reset = RESET_FORK;
    return;
  }
  reads_scripts = 1;
}

/* Of 10,000 bytes, which a shell reads in each of its requests, this takes some 10 us. */
static int may_name_id(const char *text, size_t bytes) {
  return memmem(text, bytes, "$$", 2) != NULL || memmem(text, bytes, "${$}", 4) != NULL ||
         memmem(text, bytes, "BASHPID", 7) != NULL;
}

void script_text_see(int fd, const char *text, ssize_t bytes) {
  if (!reads_scripts || fd == 0 || bytes <= 0 || state.role != ROLE_ANSWERING) return;
  if (state.doubt != RETIRED_NOT || !may_name_id(text, (size_t)bytes)) return;
  if (memchr(text, '\0', (size_t)bytes) != NULL) return; /* zsh's digests of all its functions */
  if (id_in_text(text, (size_t)bytes) != NULL) call_doubt(RETIRED_CALL, "$$ for a seed or a name");
}
