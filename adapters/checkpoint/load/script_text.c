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

/* ---- files ---- */

enum { kTextMost = 4 * 1024 * 1024, kFilesMost = 32 };

/* What is looked at: the first that makes something of the id, and how it names it. */
struct look {
  const char *id, *folder; /* folder: of the script */
  int files_left;
};

static void look_at_file(struct look *look, const char *path);

/* A file that is sourced, by the words after `.` or `source`. If an expansion says in which folder,
 * it is taken for the script's; if it says which file, it is not known. */
static void look_at_sourced(struct look *look, const char *words, size_t bytes) {
  static const char kEnds[] = " \t;&|)}\"'`";
  while (bytes > 0 && strchr(" \t\"'", *words) != NULL) ++words, --bytes;
  int is_expanded = bytes > 0 && (*words == '$' || *words == '`');
  const char *slash = is_expanded ? (const char *)memrchr(words, '/', bytes) : NULL;
  if (is_expanded && slash == NULL) return;
  if (is_expanded) bytes -= (size_t)(slash + 1 - words), words = slash + 1;
  size_t length = 0;
  while (length < bytes && strchr(kEnds, words[length]) == NULL) ++length;
  if (length == 0 || memchr(words, '$', length) != NULL) return;
  char path[PATH_MAX];
  const char *folder = words[0] == '/' ? "" : look->folder;
  int size = snprintf(path, sizeof path, "%s%.*s", folder, (int)length, words);
  if (size > 0 && (size_t)size < sizeof path) look_at_file(look, path);
}

static int is_blank(char letter) {
  return letter == ' ' || letter == '\t';
}

static void look_at_line(struct look *look, const char *line, size_t bytes) {
  if (look->id == NULL) look->id = id_in_line(line, bytes);
  for (size_t i = 0; look->id == NULL && i < bytes; ++i) {
    if (i > 0 && strchr(" \t;&|({", line[i - 1]) == NULL) continue;
    size_t word = line[i] == '.' ? 1 : bytes - i > 6 && memcmp(line + i, "source", 6) == 0 ? 6 : 0;
    if (word == 0 || i + word >= bytes || !is_blank(line[i + word])) continue;
    look_at_sourced(look, line + i + word, bytes - i - word);
  }
}

static void look_at_text(struct look *look, const char *text, size_t bytes) {
  for (const char *line = text, *end = text + bytes; line < end && look->id == NULL;) {
    const char *newline = (const char *)memchr(line, '\n', (size_t)(end - line));
    const char *next = newline != NULL ? newline : end;
    look_at_line(look, line, (size_t)(next - line));
    line = next + 1;
  }
}

static void look_at_file(struct look *look, const char *path) {
  struct stat status;
  /* What changes all the time is no text of the program's. */
  if (look->files_left-- <= 0 || lookups_are_restless(path)) return;
  long fd = raw_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return;
  if (raw_call(SYS_fstat, fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    size_t bytes = status.st_size < kTextMost ? (size_t)status.st_size : kTextMost;
    /* Not the file itself: whoever cuts that would end the zygote. */
    const int protection = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
    long text = raw_call(SYS_mmap, NULL, bytes, protection, kind, -1L, 0L);
    if (text > 0) {
      long got = raw_call(SYS_pread64, fd, text, bytes, 0L);
      if (got > 0) look_at_text(look, (const char *)text, (size_t)got);
      raw_call(SYS_munmap, text, bytes);
    }
    channel_note(NOTE_FILE, path, strlen(path)); /* it may get such a line later */
  }
  raw_call(SYS_close, fd);
}

void script_text_look(int count, char *const words[]) {
  if (!is_wanted() || !is_shell_or_awk()) return;
  for (int i = 1; i < count; ++i) {
    char folder[PATH_MAX] = "";
    const char *slash = strrchr(words[i], '/');
    if (slash != NULL && slash + 1 - words[i] < PATH_MAX) {
      memcpy(folder, words[i], (size_t)(slash + 1 - words[i]));
    }
    struct look look = {NULL, folder, kFilesMost};
    look_at_text(&look, words[i], strlen(words[i]));
    if (look.id == NULL) look_at_file(&look, words[i]);
    if (look.id == NULL) continue;
    snprintf(state.weaker, sizeof state.weaker, "its text makes something of the process id (%s)",
             look.id);
    state.reset = RESET_FORK;
    return;
  }
}
