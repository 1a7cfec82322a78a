#include "load/load_effects.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "calls/rare_calls.h"
#include "raw_call.h"
#include "rewind/engine.h"

enum { kWordsMax = kFolderMax + 1024 };

static enum { NOTHING, PERL_STARTS_OVER, REFUSES, STARTS_OVER_WITHOUT } answer;
static struct {
  char text[kWordsMax];
  const char *list, *name, *when; /* in text */
} words;

static int is_one_of_three_lines(char *text) {
  char *name = strchr(text, '\n'), *when = name != NULL ? strchr(name + 1, '\n') : NULL;
  if (when == NULL || when == name + 1) return 0;
  *name = *when = '\0';
  words.list = text;
  words.name = name + 1;
  words.when = when + 1;
  return 1;
}

int load_effects_expect(const char *given) {
  static const char kRefuse[] = "/refuse/", kWithout[] = "/without/";
  answer = NOTHING;
  if (given[0] == '\0') {
    answer = PERL_STARTS_OVER;
  } else if (strlen(given) >= sizeof words.text) {
    return -1;
  } else if (strncmp(given, kRefuse, sizeof kRefuse - 1) == 0) {
    words.when = strcpy(words.text, given + sizeof kRefuse - 1);
    answer = REFUSES;
    state.load.found[0] = '\0'; /* the adapter has seen what was found until now */
  } else if (strncmp(given, kWithout, sizeof kWithout - 1) == 0 &&
             is_one_of_three_lines(strcpy(words.text, given + sizeof kWithout - 1))) {
    answer = STARTS_OVER_WITHOUT;
  }
  return answer != NOTHING ? 0 : -1;
}

void load_effects_leave(void) {
  answer = NOTHING;
}

/* Code that Python's own `site` runs, which no adapter can be asked about yet. */
static int is_sites(void) {
  return state.level == LEVEL_COMPILED && state.call.phase == CALL_UNOPENED;
}

int load_effects_matter(void) {
  return answer != NOTHING || is_sites();
}

/* "__pycache__", "X.pyc", and "X.pyc.NUMBER", which gets that name. */
int load_effects_is_cache(const char *path) {
  if (!is_sites() || !may_be_memory(path)) return 0;
  const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
  const char *end = strstr(name, ".pyc");
  if (end == NULL) return strcmp(name, "__pycache__") == 0;
  const char *number = end + strlen(".pyc");
  number += *number == '.';
  return number[strspn(number, "0123456789")] == '\0';
}

/* ---- perl ---- */

/* Of perl's own interface (perlapi): a perl without threads is not told which interpreter. */
typedef void *evaluate(void *perl, const char *code, int dies);
typedef void *evaluate_in_one(const char *code, int dies);

static void ask_perl(void) {
  static const char kCode[] = "CGIBridge::before_effect()";
  void *eval = dlsym(RTLD_DEFAULT, "Perl_eval_pv");
  const pthread_key_t *key = (const pthread_key_t *)dlsym(RTLD_DEFAULT, "PL_thr_key");
  if (eval == NULL) return;
  answer = NOTHING; /* what follows is not the program's */
  if (key == NULL) {
    ((evaluate_in_one *)eval)(kCode, 0);
  } else if (pthread_getspecific(*key) != NULL) {
    ((evaluate *)eval)(pthread_getspecific(*key), kCode, 0);
  }
  answer = PERL_STARTS_OVER;
}

/* ---- all others ---- */

static _Noreturn void refuse(const char *found, const char *when) {
  char reason[kFoundMax + kWordsMax];
  snprintf(reason, sizeof reason, "%s %s", found, when);
  checkpoint_refuse(reason);
}

static _Noreturn void start_without(const char *found) {
  char warning[kFoundMax + kWordsMax];
  int length = snprintf(warning, sizeof warning, "%s is not loaded ahead: it %s %s", words.name,
                        found, words.when);
  channel_note(NOTE_WARNING, warning, (size_t)length);
  start_over_without(words.list, words.name);
  refuse(found, "and it cannot start over");
}

void load_effects_prevent(const char *found) {
  if (load_effects_is_copy()) give_up(0);
  if (is_sites()) refuse(found, "in sitecustomize, usercustomize or a .pth file");
  if (answer == PERL_STARTS_OVER) ask_perl();
  if (answer == REFUSES) refuse(found, words.when);
  if (answer == STARTS_OVER_WITHOUT) start_without(found);
}
