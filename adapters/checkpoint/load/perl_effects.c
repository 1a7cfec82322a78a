#include "load/perl_effects.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

/* Of perl's own interface (perlapi): a perl without threads is not told which interpreter. */
typedef void *evaluate(void *perl, const char *code, int dies);
typedef void *evaluate_in_one(const char *code, int dies);

static int has_begun;

void perl_effects_begin(void) {
  has_begun = 1;
}

int perl_effects_matter(void) {
  return has_begun;
}

void perl_effects_see(void) {
  static const char kCode[] = "CGIBridge::before_effect()";
  void *eval = has_begun ? dlsym(RTLD_DEFAULT, "Perl_eval_pv") : NULL;
  const pthread_key_t *key = (const pthread_key_t *)dlsym(RTLD_DEFAULT, "PL_thr_key");
  if (eval == NULL) return;
  has_begun = 0; /* what follows is not the program's */
  if (key == NULL) {
    ((evaluate_in_one *)eval)(kCode, 0);
  } else if (pthread_getspecific(*key) != NULL) {
    ((evaluate *)eval)(pthread_getspecific(*key), kCode, 0);
  }
  has_begun = 1;
}
