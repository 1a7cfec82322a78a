/* The two variables that the bridge starts a zygote with. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint.h"
#include "rewind/kept_at_exec.h"

static const char kLibraryName[] = "libcgibridge_checkpoint.so";

static char *value_of(char *entry, const char *name) {
  size_t length = strlen(name);
  return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1 : NULL;
}

static int is_word(const char *text, size_t length, const char *word) {
  return length == strlen(word) && memcmp(text, word, length) == 0;
}

static int is_in_list(const char *list, size_t list_length, const char *word) {
  size_t length = strlen(word);
  for (size_t at = 0; at + length <= list_length; ++at) {
    if (memcmp(list + at, word, length) == 0) return 1;
  }
  return 0;
}

/* "without=memory,signals": what a test leaves out of the reset. */
static void parse_left_out(const char *list, size_t length) {
  static const char *const kParts[] = {"memory", "brk",   "mappings",  "descriptors",
                                       "cwd",    "umask", "signals",   "timers",
                                       "limits", "name",  "libraries", "heap"};
  for (size_t i = 0; i < sizeof kParts / sizeof *kParts; ++i) {
    if (is_in_list(list, length, kParts[i])) state.left_out |= 1u << i;
  }
}

/* "DEVICE:INODE" of the folder in which a wrapper was started. */
static void parse_folder(const char *text) {
  char *end = NULL;
  state.folder.st_dev = strtoull(text, &end, 16);
  state.folder.st_ino = *end == ':' ? strtoull(end + 1, NULL, 16) : 0;
}

/* "fd=N level=NAME reset=NAME tracking=NAME"; words that are unknown here are for others. "changed"
 * comes from a wrapper. */
static int parse_checkpoint(const char *text) {
  state.channel = -1;
  state.level = 0;
  state.reset = RESET_FORK;
  const char *behind_fd = strchr(text, ' ');
  if (behind_fd != NULL) strncpy(state.launch_words, behind_fd + 1, kLaunchWordsMax - 1);
  while (*text != '\0') {
    size_t length = strcspn(text, " ");
    if (strncmp(text, "from=", 5) == 0) parse_folder(text + 5);
    if (strncmp(text, "fd=", 3) == 0) state.channel = atoi(text + 3);
    if (is_word(text, length, "level=linked")) state.level = LEVEL_LINKED;
    if (is_word(text, length, "level=booted")) state.level = LEVEL_BOOTED;
    if (is_word(text, length, "level=compiled")) state.level = LEVEL_COMPILED;
    if (is_word(text, length, "reset=rewind")) state.reset = RESET_REWIND;
    if (is_word(text, length, "reset=none")) state.reset = RESET_NONE;
    if (is_word(text, length, "ahead")) state.is_ahead = 1;
    if (is_word(text, length, "changed")) kept_doubt_start();
    if (is_word(text, length, "learn=all")) state.learn = LEARN_ALL;
    if (is_word(text, length, "learn=none")) state.learn = LEARN_NONE;
    if (is_word(text, length, "tracking=compare")) state.tracking = TRACKING_COMPARE;
    if (is_word(text, length, "tracking=scan")) state.tracking = TRACKING_SCAN;
    if (is_word(text, length, "tracking=soft-dirty")) state.tracking = TRACKING_SOFT_DIRTY;
    if (strncmp(text, "accept=", 7) == 0) load_watch_accept(text + 7, length - 7);
    if (strncmp(text, "ignored=", 8) == 0) state.ignored = strtoull(text + 8, NULL, 16);
    if (strncmp(text, "restless=", 9) == 0) lookups_mind_restless(text + 9);
    if (strncmp(text, "name=", 5) == 0) { /* the last word, to the end */
      strncpy(state.name, text + 5, sizeof state.name - 1);
      break;
    }
    if (strncmp(text, "without=", 8) == 0) parse_left_out(text + 8, length - 8);
    text += length;
    text += strspn(text, " ");
  }
  return state.channel > 2 && state.level != 0 ? 0 : -1;
}

static int names_this_library(const char *word, size_t length) {
  size_t name_length = sizeof kLibraryName - 1;
  return length >= name_length &&
         memcmp(word + length - name_length, kLibraryName, name_length) == 0;
}

/* Leaves the operator's own libraries in the list; returns whether any is left. */
static int drop_this_library(char *list) {
  char *out = list;
  for (char *word = list; *word != '\0';) {
    size_t length = strcspn(word, ": ");
    char *next = word + length + strspn(word + length, ": ");
    if (length > 0 && !names_this_library(word, length)) {
      if (out != list) *out++ = ':';
      memmove(out, word, length);
      out += length;
    }
    word = next;
  }
  *out = '\0';
  return out != list;
}

void launch_variables_take(char **envp) {
  char *checkpoint = NULL;
  for (char **entry = envp; *entry != NULL && checkpoint == NULL; ++entry) {
    checkpoint = value_of(*entry, MESSAGE_CHECKPOINT_VARIABLE);
  }
  if (checkpoint == NULL || parse_checkpoint(checkpoint) != 0) return;
  state.role = ROLE_ZYGOTE;
  char **out = envp;
  for (char **entry = envp; *entry != NULL; ++entry) {
    char *preload = value_of(*entry, "LD_PRELOAD");
    if (preload != NULL && strlen(*entry) < sizeof state.preload_text) {
      strcpy(state.preload_text, *entry);
    }
    if (value_of(*entry, MESSAGE_CHECKPOINT_VARIABLE) != NULL) continue;
    char *executable = value_of(*entry, MESSAGE_STATIC_VARIABLE);
    if (executable != NULL) {
      strncpy(state.executable.path, executable, sizeof state.executable.path - 1);
      continue;
    }
    if (preload != NULL && !drop_this_library(preload)) continue;
    if (value_of(*entry, "LD_BIND_NOW") != NULL) {
      state.binds_early = 1; /* the zygote alone */
      continue;
    }
    *out++ = *entry;
  }
  *out = NULL;
}
