#include "calls/real_calls.h"

#include <dlfcn.h>
#include <stddef.h>

#define REAL_CALL_NAME(function) #function,
static const char *const kNames[kRealCalls] = {REAL_CALLS(REAL_CALL_NAME)};
static void *addresses[kRealCalls];

void *real_call(enum real_call call) {
  if (addresses[call] == NULL) addresses[call] = dlsym(RTLD_NEXT, kNames[call]);
  return addresses[call];
}

void real_calls_find(void) {
  for (int call = 0; call < kRealCalls; ++call) {
    if (real_call((enum real_call)call) == NULL) dlerror(); /* the program may ask for its own */
  }
}
