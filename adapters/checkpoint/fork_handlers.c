/* pthread_atfork(): libc keeps the handlers for its own fork(); ours needs them too, because
 * libraries (TLS, allocators) reseed and unlock there. */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "checkpoint.h"

typedef void handler(void);
typedef int register_function(handler *, handler *, handler *, void *);

struct fork_handlers {
  handler *prepare, *parent, *child;
  void *library; /* where they come from: a library may be unloaded, and another loaded in its place
                  */
  int is_loaded; /* as found by prepare, which runs before the others */
};

enum { kHandlersMax = 128 };
static struct fork_handlers handlers[kHandlersMax];
static size_t handler_count;
static int leaves_out_pools;

void fork_handlers_leave_out_pools(int on) {
  leaves_out_pools = on;
}

static void *library_of(const struct fork_handlers *one) {
  Dl_info info;
  void *code = one->prepare  ? (void *)(uintptr_t)one->prepare
               : one->parent ? (void *)(uintptr_t)one->parent
                             : (void *)(uintptr_t)one->child;
  return code != NULL && dladdr(code, &info) != 0 ? info.dli_fbase : NULL;
}

INTERPOSED int __register_atfork(handler *prepare, handler *parent, handler *child, void *dso) {
  register_function *real = (register_function *)dlsym(RTLD_NEXT, "__register_atfork");
  if (real == NULL) return ENOSYS;
  int result = real(prepare, parent, child, dso);
  if (result != 0 || state.role == ROLE_ANSWERING) return result;
  if (leaves_out_pools && prepare == NULL && parent == NULL) return result;
  if (handler_count == kHandlersMax) return ENOMEM;
  struct fork_handlers one = {prepare, parent, child, NULL, 1};
  one.library = library_of(&one);
  handlers[handler_count++] = one;
  return 0;
}

void fork_handlers_add_own(handler *child) {
  register_function *real = (register_function *)dlsym(RTLD_NEXT, "__register_atfork");
  if (real != NULL) real(NULL, NULL, child, NULL);
}

static int is_loaded(const struct fork_handlers *one) {
  return one->library != NULL && library_of(one) == one->library;
}

void fork_handlers_prepare(void) {
  for (size_t i = handler_count; i-- > 0;) {
    handlers[i].is_loaded = is_loaded(&handlers[i]);
    if (handlers[i].prepare && handlers[i].is_loaded) handlers[i].prepare();
  }
}

void fork_handlers_parent(void) {
  for (size_t i = 0; i < handler_count; ++i) {
    if (handlers[i].parent && handlers[i].is_loaded) handlers[i].parent();
  }
}

void fork_handlers_child(void) {
  for (size_t i = 0; i < handler_count; ++i) {
    if (handlers[i].child && handlers[i].is_loaded) handlers[i].child();
  }
}
