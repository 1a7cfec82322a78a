/* See call.h. */
#include "call.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kOwnWords = 2, kWordsBytesMax = 1 << 16 }; /* -agentpath and one more: language.cc */

static char secret[64];
static char launched[kWordsBytesMax], requested[kWordsBytesMax];
static size_t launched_bytes; /* 0: too many */
static char read_at_start[kWordsBytesMax];

int call_open(void) {
  ssize_t length = readlink("/.cgibridge/open", secret, sizeof secret - 1);
  if (length < 0) return -1;
  secret[length] = '\0';
  return 0;
}

ssize_t call_library(const char *what, char *answer, size_t size) {
  char path[kPathMax + sizeof secret];
  snprintf(path, sizeof path, "%s%s", secret, what);
  ssize_t length = readlink(path, answer, size - 1);
  if (length >= 0) answer[length] = '\0';
  return length;
}

static const char *after_words(const char *at, const char *end, int count) {
  while (count-- > 0 && at < end) at += strlen(at) + 1;
  return at;
}

/* The first word is the interpreter; the next are ours. */
static void remember_words(void) {
  int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  size_t bytes = 0;
  ssize_t got = -1;
  while (file >= 0 && bytes < sizeof launched &&
         (got = read(file, launched + bytes, sizeof launched - bytes)) > 0) {
    bytes += (size_t)got;
  }
  if (file >= 0) close(file);
  if (got != 0 || bytes == 0 || launched[bytes - 1] != '\0') return;
  const char *end = launched + bytes;
  char *ours = launched + strlen(launched) + 1;
  const char *rest = after_words(ours, end, kOwnWords);
  launched_bytes = (size_t)(ours - launched) + (size_t)(end - rest);
  memmove(ours, rest, (size_t)(end - rest));
}

/* ---- variables ---- */

static int is_read_at_start(const char *variable) {
  static const char *const kStarts[] = {
      "LC_",       "JAVA_", "_JAVA_",     "JDK_JAVA_",        "LANG=",
      "LANGUAGE=", "TZ=",   "CLASSPATH=", "LD_LIBRARY_PATH=", "HOME="};
  for (size_t i = 0; i < sizeof kStarts / sizeof *kStarts; ++i) {
    if (strncmp(variable, kStarts[i], strlen(kStarts[i])) == 0) return 1;
  }
  return 0;
}

/* How many of the variables that are read at the start are in this list; -1: one of them was not
 * there at the launch, or had another value. */
static int count_same(const char *variables, const char *end) {
  int count = 0;
  for (; variables < end; variables += strlen(variables) + 1) {
    if (!is_read_at_start(variables)) continue;
    const char *known = read_at_start;
    while (*known != '\0' && strcmp(known, variables) != 0) known += strlen(known) + 1;
    if (*known == '\0') return -1;
    ++count;
  }
  return count;
}

static int launched_count = -1; /* too many */

static void remember_variables(void) {
  size_t at = 0;
  int count = 0;
  for (char **variable = environ; *variable != NULL; ++variable) {
    size_t bytes = strlen(*variable) + 1;
    if (!is_read_at_start(*variable)) continue;
    if (bytes > sizeof read_at_start - 1 - at) return;
    memcpy(read_at_start + at, *variable, bytes);
    at += bytes;
    ++count;
  }
  launched_count = count;
}

/* ---- the folder, which is a property that relative paths begin with ---- */

static char launched_in[kWordsBytesMax];

static int is_in_same_folder(void) {
  return launched_in[0] != '\0' && getcwd(requested, sizeof requested) != NULL &&
         strcmp(requested, launched_in) == 0;
}

/* ---- all of them ---- */

void launch_remember(void) {
  if (getcwd(launched_in, sizeof launched_in) == NULL) launched_in[0] = '\0';
  remember_words();
  remember_variables();
}

const char *launch_differs(void) {
  ssize_t bytes = call_library("whole/argv", requested, sizeof requested);
  if (launched_bytes == 0 || bytes != (ssize_t)launched_bytes ||
      memcmp(requested, launched, launched_bytes) != 0) {
    return "has words that the program was not launched with";
  }
  if (!is_in_same_folder()) return "runs in a folder that the program was not launched in";
  bytes = call_library("whole/env", requested, sizeof requested);
  if (bytes < 0 || bytes >= (ssize_t)sizeof requested - 1 || launched_count < 0 ||
      count_same(requested, requested + bytes) != launched_count) {
    return "has other values of variables that Java reads once, when it starts";
  }
  return NULL;
}
