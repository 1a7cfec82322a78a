/* Perl seeds its generator when a number is first drawn, and cannot be asked whether that has
 * happened. So the generator is left alone, and the two operations that use it are watched: the
 * table of operations is perl's own, and open to libraries. What is compiled while the watch is on
 * keeps the functions below. Of a request, only what it seeds is looked at. */
#include <dlfcn.h>
#include <string.h>

#include "load/load_watch.h"

typedef void *operation(void *perl); /* a perl without threads passes nothing, and takes nothing */

static operation **table;
static size_t rand_at, srand_at; /* 0: no operation of that name */
static operation *real_rand, *real_srand;

static void *noted_rand(void *perl) {
  load_watch_note(IMPURE_RANDOM, "rand", __builtin_return_address(0));
  return real_rand(perl);
}

static void *noted_srand(void *perl) {
  load_watch_note(IMPURE_SEED, "srand", __builtin_return_address(0));
  seeds_see_seed("srand");
  return real_srand(perl);
}

static size_t number_of(const char *const *names, const char *name) {
  for (size_t i = 0; names[i] != NULL && strcmp(names[i], "freed") != 0; ++i) {
    if (strcmp(names[i], name) == 0) return i;
  }
  return 0;
}

void perl_generator_watch(void) {
  const char *const *names = dlsym(RTLD_DEFAULT, "PL_op_name");
  if (table != NULL || names == NULL) return;
  rand_at = number_of(names, "rand");
  srand_at = number_of(names, "srand");
  table = rand_at > 0 && srand_at > 0 ? dlsym(RTLD_DEFAULT, "PL_ppaddr") : NULL;
  if (table == NULL) return;
  real_rand = table[rand_at];
  if (table[srand_at] != noted_srand) real_srand = table[srand_at];
  table[rand_at] = noted_rand;
  table[srand_at] = noted_srand;
}

void perl_generator_leave(void) {
  if (table == NULL) return;
  if (table[rand_at] == noted_rand) table[rand_at] = real_rand;
  table = NULL; /* noted_srand stays */
}
