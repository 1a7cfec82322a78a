/* See java_launcher.h. */
#include "java_launcher.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "checkpoint.h"
#include "raw_call.h"

static struct {
  void *stack;
  size_t stack_bytes;
  void *(*run)(void *);
  void *argument, *result;
  ucontext_t outside, inside;
} launch;

static int is_launcher(const void *caller) {
  Dl_info library;
  if (state.role != ROLE_ZYGOTE || state.level != LEVEL_BOOTED ||
      state.call.phase != CALL_UNOPENED || launch.stack != NULL || dladdr(caller, &library) == 0) {
    return 0;
  }
  const char *slash = strrchr(library.dli_fname, '/');
  return strcmp(slash != NULL ? slash + 1 : library.dli_fname, "libjli.so") == 0;
}

static void run_inside(void) {
  launch.result = launch.run(launch.argument);
}

/* As libc maps one. The launcher asks for no guard: the virtual machine has its own. */
static int map_stack(const pthread_attr_t *attributes) {
  pthread_attr_t usual;
  if (attributes == NULL) {
    pthread_attr_init(&usual);
    attributes = &usual;
  }
  if (pthread_attr_getstacksize(attributes, &launch.stack_bytes) != 0) return -1;
  void *stack = mmap(NULL, launch.stack_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) return -1;
  launch.stack = stack;
  return 0;
}

int java_launcher_runs(const void *caller, const pthread_attr_t *attributes, void *(*run)(void *),
                       void *argument, void **result) {
  if (!is_launcher(caller) || map_stack(attributes) != 0) return 0;
  launch.run = run;
  launch.argument = argument;
  getcontext(&launch.inside);
  launch.inside.uc_stack.ss_sp = launch.stack;
  launch.inside.uc_stack.ss_size = launch.stack_bytes;
  launch.inside.uc_link = &launch.outside;
  makecontext(&launch.inside, run_inside, 0);
  swapcontext(&launch.outside, &launch.inside);
  *result = launch.result;
  munmap(launch.stack, launch.stack_bytes);
  launch.stack = NULL;
  return 1;
}

int java_launcher_stack(void **start, size_t *bytes) {
  if (launch.stack == NULL) return 0;
  *start = launch.stack;
  *bytes = launch.stack_bytes;
  return 1;
}
