/* Python reads the clock that counts from the machine's start for each lock that it takes, so what
 * libc is asked does not tell whether a module asked. What a module calls are methods of Python's
 * own module `time`: while the watch is on, the table of these methods holds the function below.
 * Whoever keeps such a method keeps the same object, which afterwards does what it always does. */
#include <string.h>

#include "calls/passed_calls.h"
#include "load/load_watch.h"
#include "load/python_functions.h"
#include "rewind/engine.h"

static const char *const kNames[] = {"monotonic",       "monotonic_ns",  "perf_counter",
                                     "perf_counter_ns", "clock_gettime", "clock_gettime_ns"};
enum { kClocks = sizeof kNames / sizeof *kNames, kWordsOfMethod = 8 };

static struct method_of_python *table[kClocks];
static method *real[kClocks];

#define NOTED(number)                                                            \
  static void *noted##number(void *self, void *words, long count, void *names) { \
    load_watch_note(IMPURE_TIME, kNames[number], __builtin_return_address(0));   \
    return real[number](self, words, count, names);                              \
  }
NOTED(0)
NOTED(1)
NOTED(2)
NOTED(3)
NOTED(4)
NOTED(5)
static method *const kNoted[kClocks] = {noted0, noted1, noted2, noted3, noted4, noted5};

/* The object begins with what all objects have, which differs between kinds of Python; then comes
 * the entry's address. */
static struct method_of_python *entry_of(void *object, const char *name) {
  if (object == NULL) return NULL;
  method *function = python.function_of(object);
  for (size_t i = 0; function != NULL && i < kWordsOfMethod; ++i) {
    struct method_of_python entry, *at = ((struct method_of_python **)object)[i];
    if (!load_place_read(at, &entry, sizeof entry)) continue;
    char text[32];
    if (entry.function != function || !load_place_read(entry.name, text, sizeof text)) continue;
    if (strncmp(text, name, sizeof text) == 0) return at;
  }
  return NULL;
}

void python_clocks_watch(void) {
  if (table[0] != NULL || !python_functions_find() || !python.is_initialized()) return;
  int state_of_lock = python.take();
  void *time = python_module("time");
  for (size_t i = 0; time != NULL && i < kClocks; ++i) {
    void *object = python.attribute(time, kNames[i]);
    table[i] = entry_of(object, kNames[i]);
    python.give_back(object); /* the table is not an object */
    if (table[i] == NULL) continue;
    real[i] = table[i]->function;
    table[i]->function = kNoted[i];
  }
  python.give_back(time);
  python.clear_error();
  python.release(state_of_lock);
}

void python_clocks_leave(void) {
  for (size_t i = 0; i < kClocks; ++i) {
    if (table[i] != NULL && table[i]->function == kNoted[i]) table[i]->function = real[i];
    table[i] = NULL;
  }
}
