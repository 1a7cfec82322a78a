/* See other_threads.h. */
#include "rewind/other_threads.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "raw_call.h"
#include "static/executable.h"

enum { kListBytes = 4096 };

void thread_pause(long nanoseconds) {
  struct timespec moment = {0, nanoseconds};
  raw_call(SYS_nanosleep, &moment, NULL);
}

/* Directories are listed by their number; "." and ".." are not numbers. */
static long number_of(const char *name) {
  long number = 0;
  for (; *name >= '0' && *name <= '9'; ++name) number = number * 10 + (*name - '0');
  return number;
}

long threads_visit(thread_visit *visit, void *context) {
  _Alignas(struct dirent64) char list[kListBytes];
  long own = raw_call(SYS_gettid), count = 0, got;
  long folder =
      raw_call(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -1;
  while ((got = raw_call(SYS_getdents64, folder, list, sizeof list)) > 0) {
    for (long at = 0; at < got;) {
      const struct dirent64 *entry = (const struct dirent64 *)(list + at);
      long thread = number_of(entry->d_name);
      at += entry->d_reclen;
      if (thread == 0 || thread == own) continue;
      visit((pid_t)thread, context);
      ++count;
    }
  }
  raw_call(SYS_close, folder);
  return got < 0 ? -1 : count;
}

#if defined(__x86_64__)

__asm__(
    ".text\n.globl threads_return\n.hidden threads_return\n.type threads_return, @function\n"
    "threads_return:\n  mov $15, %eax\n  syscall\n" /* rt_sigreturn */
    ".size threads_return, . - threads_return\n");

#endif

int threads_handle(thread_handler *handler, struct signal_action *replaced) {
  struct signal_action action;
  memset(&action, 0, sizeof action);
  action.handler = (void (*)(int))(uintptr_t)handler;
  action.mask = ~0ull;
  action.flags = SA_SIGINFO | SA_RESTART;
  if (program_has_small_stacks()) action.flags |= SA_ONSTACK;
#if defined(__x86_64__)
  action.flags |= kWithRestorer;
  action.restorer = threads_return;
#endif
  return raw_call(SYS_rt_sigaction, kThreadSignal, &action, replaced, 8) == 0 ? 0 : -1;
}

char *thread_restartable(void *block) {
  const ptrdiff_t *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
  const unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");
  if (offset == NULL || size == NULL || *size == 0) return NULL;
  return (char *)block + *offset;
}
