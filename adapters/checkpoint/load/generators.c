/* Functions of generators that a program finds by the loader, with a handle of their library:
 * ctypes, Fiddle, a plugin's table of functions. */
#include "load/generators.h"

#include <dlfcn.h>
#include <string.h>

#include "calls/passed_calls.h"
#include "rewind/engine.h"

#define DECLARE(function, may_touch, why, how) extern struct passed_call passed_##function;
CALLS_OF_GENERATORS(DECLARE)

#define PLACE(function, may_touch, why, how) &passed_##function,
static struct passed_call *const kCalls[] = {CALLS_OF_GENERATORS(PLACE)};

static struct passed_call *call_of(const char *name) {
  for (size_t i = 0; name != NULL && i < sizeof kCalls / sizeof *kCalls; ++i) {
    if (strcmp(kCalls[i]->name, name) == 0) return kCalls[i];
  }
  return NULL;
}

#define NAME(function, may_touch, why, how) #function,

int load_calls_have(const char *name) {
  static const char *const kNames[] = {CALLS_OF_A_LOAD(NAME) CALLS_OF_GENERATORS(NAME)};
  for (size_t i = 0; name != NULL && i < sizeof kNames / sizeof *kNames; ++i) {
    if (strcmp(kNames[i], name) == 0) return 1;
  }
  return 0;
}

int generators_have(const char *name) {
  return call_of(name) != NULL;
}

/* Who calls ours then need not have the library in its scope: it is found as the first that has the
 * function. If that is another one, this counts as a draw. */
void *generators_instead(const char *name, void *found, const void *caller) {
  struct passed_call *call =
      state.role == ROLE_ZYGOTE && state.load.is_on && found != NULL ? call_of(name) : NULL;
  if (call == NULL || is_of_this_library(caller)) return found;
  void *ours = dlsym(RTLD_DEFAULT, name);
  if (is_of_this_library(ours) && passed_call_find(call, found) == found &&
      any_symbol(name) == found) {
    return ours;
  }
  load_watch_note(IMPURE_RANDOM, call->name, caller);
  return found;
}

void *generators_offer(const char *name, void *ours, const void *caller) {
  struct passed_call *call = call_of(name);
  return call == NULL || passed_call_find(call, caller) != NULL ? ours : NULL;
}

void *next_for_caller(const char *name, void *caller) {
  Dl_info info;
  void *real = dlsym(RTLD_NEXT, name), *library = NULL;
  if (real == NULL && dladdr(caller, &info) != 0)
    library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library != NULL) real = dlsym(library, name);
  if (real == NULL) give_up(70);
  return real;
}
