/* Python's generators are its own: random.seed() and random.Random() with a seed end in a method of
 * its module `_random`. As soon as a request has asked for its process id, the table of that
 * module's methods holds the function below, until the request's memory is put back. */
#include <string.h>

#include "calls/passed_calls.h"
#include "load/load_watch.h"
#include "load/python_functions.h"
#include "rewind/engine.h"

enum { kOneWord = 8, kFast = 0x80, kWordsOfDescriptor = 10 };

static method *real_seed;
static int flags_of_seed;

/* Without a seed Python draws one from the kernel. */
static int is_given(void *words, long count) {
  if (flags_of_seed == kOneWord) return words != python.none;
  return flags_of_seed != kFast || (count > 0 && *(void **)words != python.none);
}

static void *noted_seed(void *self, void *words, long count, void *names) {
  if (is_given(words, count)) seeds_made_of_number("random.seed");
  return real_seed(self, words, count, names);
}

/* The descriptor begins with what all objects have, which differs between kinds of Python; some
 * words later comes the entry's address. */
static struct method_of_python *entry_of(void *descriptor) {
  for (size_t i = 0; i < kWordsOfDescriptor; ++i) {
    struct method_of_python entry, *at = NULL;
    char name[8];
    if (!load_place_read((struct method_of_python **)descriptor + i, &at, sizeof at)) return NULL;
    if (!load_place_read(at, &entry, sizeof entry)) continue;
    if (!load_place_read(entry.name, name, sizeof "seed")) continue;
    if (memcmp(name, "seed", sizeof "seed") == 0) return at;
  }
  return NULL;
}

static void replace(struct method_of_python *entry) {
  if (entry == NULL || entry->function == noted_seed) return;
  real_seed = entry->function;
  flags_of_seed = entry->flags;
  entry->function = noted_seed;
}

static int is_python(const void *caller) {
  const char *library = load_watch_library_of(caller);
  return library != NULL &&
         (strncmp(library, "python3", 7) == 0 || strncmp(library, "libpython3", 10) == 0);
}

static void watch(void) {
  void *module = python_module("_random"), *type = NULL, *descriptor = NULL;
  if (module != NULL) type = python.attribute(module, "Random");
  if (type != NULL) descriptor = python.attribute(type, "seed");
  if (descriptor != NULL) replace(entry_of(descriptor));
  void *const objects[] = {descriptor, type, module};
  for (size_t i = 0; i < sizeof objects / sizeof *objects; ++i) {
    if (objects[i] != NULL) python.give_back(objects[i]);
  }
  python.clear_error();
}

int python_seeds_watch(const void *caller) {
  if (!is_python(caller)) return 1;
  if (state.call.phase == CALL_ADAPTER) return 0; /* its adapter asks */
  if (python_functions_find() && python.is_held()) watch();
  return 1;
}
