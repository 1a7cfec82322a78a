/* pthread_getattr_np() of the main thread: libc reads /proc/self/maps for it, and Rust's library
 * calls it at each start. Except for the limit, exec has fixed the answer, so the zygote asks
 * once. */
#include <pthread.h>
#include <unistd.h>

#include "calls/real_calls.h"
#include "java_launcher.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/threads_missing.h"

void main_stack_remember(struct engine *engine) {
  pthread_attr_t attributes;
  if (REAL(pthread_getattr_np) == NULL) return;
  if (REAL(pthread_getattr_np)(pthread_self(), &attributes) != 0) return;
  if (pthread_attr_getstack(&attributes, &engine->main_stack, &engine->main_stack_bytes) == 0 &&
      pthread_attr_getguardsize(&attributes, &engine->main_stack_guard) == 0) {
    engine->main_thread = pthread_self();
  }
  pthread_attr_destroy(&attributes);
}

static int describe(pthread_attr_t *attributes, void *stack, size_t bytes, size_t guard) {
  int failed = pthread_attr_init(attributes);
  if (failed == 0) failed = pthread_attr_setstack(attributes, stack, bytes);
  return failed == 0 ? pthread_attr_setguardsize(attributes, guard) : failed;
}

/* Whose stack the thread of Java's launcher is on. */
static int is_on_launchers(pthread_t thread, void **stack, size_t *bytes) {
  return java_launcher_stack(stack, bytes) && getpid() == raw_call(SYS_gettid) &&
         pthread_equal(thread, pthread_self());
}

INTERPOSED int pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes) {
  const struct engine *engine = state.engine;
  void *stack;
  size_t bytes;
  threads_see_thread(thread);
  if (is_on_launchers(thread, &stack, &bytes)) return describe(attributes, stack, bytes, 0);
  if (engine == NULL || state.role != ROLE_ANSWERING || engine->main_thread == 0 ||
      !pthread_equal(thread, engine->main_thread) || (state.touched & TOUCHED_LIMITS) != 0) {
    return REAL(pthread_getattr_np)(thread, attributes);
  }
  return describe(attributes, engine->main_stack, engine->main_stack_bytes,
                  engine->main_stack_guard);
}
