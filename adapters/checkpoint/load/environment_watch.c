/* getenv(), watched until the checkpoint: a constructor or an interpreter's module that reads a
 * variable of the request before that would freeze one request's answer into all others. Any other
 * variable that is read is reported to the bridge, which gives such a zygote only requests that
 * bring the value of its launch. What libc reads by itself passes through no function of ours: the
 * locale is seen by the calls that ask for it, the time zone by what libc has made of it. */
#include <dlfcn.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "calls/rare_calls.h"
#include "checkpoint.h"
#include "load/note_lock.h"
#include "load/trial.h"

typedef char *getenv_function(const char *);
typedef char *setlocale_function(int, const char *);
typedef locale_t newlocale_function(int, const char *, locale_t);

static getenv_function *real_getenv, *real_secure_getenv;
static setlocale_function *real_setlocale;
static newlocale_function *real_newlocale;
static const char *zone_at_start; /* what tzname[0] points at before anybody has called tzset() */

void environment_watch_begin(void) {
  real_getenv = (getenv_function *)dlsym(RTLD_NEXT, "getenv");
  real_secure_getenv = (getenv_function *)dlsym(RTLD_NEXT, "secure_getenv");
  real_setlocale = (setlocale_function *)dlsym(RTLD_NEXT, "setlocale");
  real_newlocale = (newlocale_function *)dlsym(RTLD_NEXT, "newlocale");
  zone_at_start = tzname[0];
}

/* ---- what constructors change ---- */

enum { kEntriesMax = 1024, kChangesMax = 32, kNameMax = 255 };
/* The launch's pointers, and NULL: a name that is set again is another entry, wherever it is. */
static char *launched[kEntriesMax + 1];
static uint64_t launched_sums[kEntriesMax]; /* of their texts, which a program may overwrite */
static size_t launched_count;
static struct {
  const char *entry; /* the constructor's "NAME=value"; the launch's, if it is removed */
  int is_set, was_there;
} changes[kChangesMax];
static size_t change_count;

static uint64_t sum_of(const char *text) { /* FNV-1a */
  uint64_t sum = 0xcbf29ce484222325;
  for (; *text != '\0'; ++text) sum = (sum ^ (unsigned char)*text) * 0x100000001b3;
  return sum;
}

void environment_watch_remember(char **envp) {
  environ = envp; /* libc does so, too, when it starts */
  while (envp[launched_count] != NULL && launched_count < kEntriesMax) {
    launched[launched_count] = envp[launched_count];
    launched_sums[launched_count] = sum_of(envp[launched_count]);
    ++launched_count;
  }
}

char **environment_launched(void) {
  return launched_count < kEntriesMax ? launched : NULL;
}

static int is_launched(const char *entry) {
  if (entry[0] == '\0') return 1; /* go/linked.c */
  for (size_t i = 0; i < launched_count; ++i) {
    if (launched[i] == entry) return 1;
  }
  return 0;
}

static int has_name_of(char **entries, const char *like) {
  size_t length = strcspn(like, "=");
  for (; *entries != NULL; ++entries) {
    if (strncmp(*entries, like, length) == 0 && (*entries)[length] == '=') return 1;
  }
  return 0;
}

static int note_change(const char *entry, int is_set) {
  size_t length = strcspn(entry, "=");
  if (change_count == kChangesMax || entry[length] != '=' || length > kNameMax) return -1;
  changes[change_count].entry = entry;
  changes[change_count].is_set = is_set;
  changes[change_count++].was_there = has_name_of(launched, entry);
  return 0;
}

int environment_note_changes(void) {
  int is_cleared = environ == NULL || (environ[0] == NULL && launched_count > 0);
  if (is_cleared || launched_count == kEntriesMax) return -1;
  for (char **entry = environ; *entry != NULL; ++entry) {
    if (!is_launched(*entry) && note_change(*entry, 1) != 0) return -1;
  }
  for (size_t i = 0; i < launched_count; ++i) {
    if (!has_name_of(environ, launched[i]) && note_change(launched[i], 0) != 0) return -1;
  }
  return 0;
}

int environment_change_again(void) {
  for (size_t i = 0; i < change_count; ++i) {
    const char *entry = changes[i].entry;
    if (changes[i].is_set && !changes[i].was_there && has_name_of(environ, entry)) return -1;
  }
  for (size_t i = 0; i < change_count; ++i) {
    char name[kNameMax + 1];
    size_t length = strcspn(changes[i].entry, "=");
    memcpy(name, changes[i].entry, length);
    name[length] = '\0';
    if (changes[i].is_set) {
      setenv(name, changes[i].entry + length + 1, 1);
    } else {
      unsetenv(name);
    }
  }
  return 0;
}

static int has_sum(uint64_t sum) {
  for (size_t i = 0; i < launched_count; ++i) {
    if (launched_sums[i] == sum) return 1;
  }
  return 0;
}

/* A shell sets these for itself, and each program that is a shell script has them. */
static int is_of_shell(const char *entry) {
  static const char *const kNames[] = {"PWD=", "OLDPWD=", "SHLVL=", "_="};
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    if (strncmp(entry, kNames[i], strlen(kNames[i])) == 0) return 1;
  }
  return 0;
}

int environment_is_as_launched(char *const envp[], char *what, size_t bytes) {
  size_t count = 0, wanted = 0;
  for (; envp != NULL && *envp != NULL; ++envp) {
    if (is_of_shell(*envp)) continue;
    ++count;
    if (has_sum(sum_of(*envp))) continue;
    snprintf(what, bytes, "sets %.*s", (int)strcspn(*envp, "="), *envp);
    return 0;
  }
  for (size_t i = 0; i < launched_count; ++i) wanted += !is_of_shell(launched[i]);
  if (count == wanted) return 1;
  snprintf(what, bytes, "removes variables");
  return 0;
}

/* ---- who reads ---- */

/* Variables that differ between two requests for one program. */
int environment_is_of_request(const char *name) {
  static const char *const kWhole[] = {"QUERY_STRING", "PATH_INFO", "PATH_TRANSLATED",
                                       "AUTH_TYPE",    "HTTPS",     "DOCUMENT_URI",
                                       "UNIQUE_ID",    "SCRIPT_URI"};
  static const char *const kBegin[] = {"REQUEST_", "HTTP_", "REMOTE_", "CONTENT_", "REDIRECT_"};
  for (size_t i = 0; i < sizeof kWhole / sizeof *kWhole; ++i) {
    if (strcmp(name, kWhole[i]) == 0) return 1;
  }
  for (size_t i = 0; i < sizeof kBegin / sizeof *kBegin; ++i) {
    if (strncmp(name, kBegin[i], strlen(kBegin[i])) == 0) return 1;
  }
  return 0;
}

/* Another thread may run here at the same time: Node's. */
static void note_name(const char *name) {
  struct names_read *read = &state.names_read;
  size_t length = strlen(name);
  if (length == 0 || strchr(name, '\n') != NULL) return;
  uint64_t mask;
  if (note_lock_take(&read->is_held, &mask) != 0) return;
  int is_known = 0;
  for (const char *at = read->lines; *at != '\0' && !is_known; at += strcspn(at, "\n") + 1) {
    is_known = strncmp(at, name, length) == 0 && at[length] == '\n';
  }
  int has_room = read->bytes + length + 2 <= sizeof read->lines;
  if (!is_known && !has_room) read->is_full = 1;
  if (!is_known && has_room) {
    memcpy(read->lines + read->bytes, name, length);
    read->bytes += length + 1;
    read->lines[read->bytes - 1] = '\n';
  }
  note_lock_give_back(&read->is_held, &mask);
}

void environment_watch_note(const char *name) {
  if (state.role != ROLE_ZYGOTE) return;
  /* It is there during a trial only, and nobody knows it who does not look at all. */
  if (trial_is_on() && strcmp(name, TRIAL_VARIABLE) == 0) trial_end("looks at all variables");
  if (!environment_is_of_request(name)) return note_name(name);
  if (trial_is_on()) trial_end("asks for a request's variable");
  if (state.request_variable[0] == '\0') {
    strncpy(state.request_variable, name, sizeof state.request_variable - 1);
  }
}

/* The names by which a locale of "" is chosen, and where its files are found. */
static void watch_locale(const char *locale) {
  static const char *const kNames[] = {
      "LANG",       "LC_ALL",       "LC_CTYPE",       "LC_NUMERIC",        "LC_TIME",
      "LC_COLLATE", "LC_MONETARY",  "LC_MESSAGES",    "LC_PAPER",          "LC_NAME",
      "LC_ADDRESS", "LC_TELEPHONE", "LC_MEASUREMENT", "LC_IDENTIFICATION", "LOCPATH"};
  if (state.role != ROLE_ZYGOTE || locale == NULL || locale[0] != '\0') return;
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) note_name(kNames[i]);
}

void environment_watch_tell(void) {
  struct names_read *read = &state.names_read;
  if (tzname[0] != zone_at_start) {
    note_name("TZ");
    note_name("TZDIR");
  }
  if (read->is_full) checkpoint_refuse("reads too many variables of the environment");
  if (read->bytes > 0) channel_note(NOTE_READ, read->lines, read->bytes);
}

/* For calls that come before our constructor, from where dlsym() must not be called. */
static char *search(const char *name) {
  size_t length = strlen(name);
  for (char **entry = environ; entry != NULL && *entry != NULL; ++entry) {
    if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  }
  return NULL;
}

INTERPOSED char *getenv(const char *name) {
  environment_watch_note(name);
  return real_getenv != NULL ? real_getenv(name) : search(name);
}

INTERPOSED char *secure_getenv(const char *name) {
  environment_watch_note(name);
  if (real_secure_getenv != NULL) return real_secure_getenv(name);
  return getauxval(AT_SECURE) ? NULL : search(name);
}

INTERPOSED char *setlocale(int category, const char *locale) {
  watch_locale(locale);
  if (locale != NULL) note_locale();
  return real_setlocale != NULL ? real_setlocale(category, locale) : NULL;
}

INTERPOSED locale_t newlocale(int categories, const char *locale, locale_t base) {
  watch_locale(locale);
  note_locale();
  return real_newlocale != NULL ? real_newlocale(categories, locale, base) : (locale_t)0;
}

/* libstdc++'s name for it. */
INTERPOSED locale_t __newlocale(int categories, const char *locale, locale_t base) {
  return newlocale(categories, locale, base);
}
