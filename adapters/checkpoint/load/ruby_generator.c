/* Ruby's generators are its own, so no call of libc's shows that a request seeds one. But libruby
 * defines its methods by functions that it exports: those that tell the process id, and those that
 * take a seed, are replaced as they are defined, by functions that note it and go on to Ruby's own;
 * no program can see the difference. (Calls of getpid() would not do: Ruby makes some itself, and
 * since 3.3 remembers the number. Nor does the time that Ruby asks for tell what becomes of it.)
 * An interpreter that contains libruby does not come by here. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "checkpoint.h"
#include "load/generators.h"
#include "load/load_watch.h"
#include "raw_call.h"

typedef uintptr_t value;
typedef value method(int count, const value *words, value self);
typedef value method_without_words(value self);
typedef value getter(value name, value *data);
typedef void define(value owner, const char *name, method *code, int words);
typedef void define_everywhere(const char *name, method *code, int words);
typedef void define_variable(const char *name, getter *get, void *set);

enum { kAnyWords = -1 };

static method *real_srand, *real_srand_of_class, *real_initialize, *real_pid;
static getter *real_number;
static int is_base_next; /* the next `initialize` is that of the generators' class */
static uint64_t number_asked_by;

void ruby_generator_begin(void) {
  number_asked_by = 0;
}

static void seed(int count, const char *call) {
  if (count > 0 && number_asked_by == state.request.id) seeds_made_of_number(call);
}

static value noted_srand(int count, const value *words, value self) {
  seed(count, "srand");
  return real_srand(count, words, self);
}

static value noted_srand_of_class(int count, const value *words, value self) {
  seed(count, "Random.srand");
  return real_srand_of_class(count, words, self);
}

static value noted_initialize(int count, const value *words, value self) {
  seed(count, "Random.new");
  return real_initialize(count, words, self);
}

static value noted_pid(value self) {
  number_asked_by = state.request.id;
  return ((method_without_words *)(void *)real_pid)(self);
}

static value noted_number(value name, value *data) {
  number_asked_by = state.request.id;
  return real_number(name, data);
}

/* The first of each name is Ruby's own: it is defined before any library is loaded. */
static method *replaced(method *code, method **real, method *ours) {
  if (*real != NULL || state.role == ROLE_NONE) return code;
  *real = code;
  return ours;
}

INTERPOSED void rb_define_global_function(const char *name, method *code, int words) {
  static define_everywhere *real;
  if (real == NULL)
    real = (define_everywhere *)next_for_caller("rb_define_global_function",
                                                __builtin_return_address(0));
  if (words == kAnyWords && strcmp(name, "srand") == 0) {
    is_base_next = real_srand == NULL;
    code = replaced(code, &real_srand, noted_srand);
  }
  real(name, code, words);
}

INTERPOSED void rb_define_method(value owner, const char *name, method *code, int words) {
  static define *real;
  if (real == NULL)
    real = (define *)next_for_caller("rb_define_method", __builtin_return_address(0));
  if (is_base_next && strcmp(name, "initialize") == 0) {
    is_base_next = 0;
    if (words == kAnyWords) code = replaced(code, &real_initialize, noted_initialize);
  }
  real(owner, name, code, words);
}

INTERPOSED void rb_define_singleton_method(value owner, const char *name, method *code, int words) {
  static define *real;
  if (real == NULL)
    real = (define *)next_for_caller("rb_define_singleton_method", __builtin_return_address(0));
  /* Kernel's own comes by here as well, and is replaced already. */
  if (words == kAnyWords && code != noted_srand && strcmp(name, "srand") == 0)
    code = replaced(code, &real_srand_of_class, noted_srand_of_class);
  real(owner, name, code, words);
}

INTERPOSED void rb_define_module_function(value owner, const char *name, method *code, int words) {
  static define *real;
  if (real == NULL)
    real = (define *)next_for_caller("rb_define_module_function", __builtin_return_address(0));
  if (words == 0 && strcmp(name, "pid") == 0)
    code = replaced(code, &real_pid, (method *)(void *)noted_pid);
  real(owner, name, code, words);
}

INTERPOSED void rb_define_virtual_variable(const char *name, getter *get, void *set) {
  static define_variable *real;
  if (real == NULL)
    real = (define_variable *)next_for_caller("rb_define_virtual_variable",
                                              __builtin_return_address(0));
  if (strcmp(name, "$$") == 0 && real_number == NULL && state.role != ROLE_NONE) {
    real_number = get;
    get = noted_number;
  }
  real(name, get, set);
}
