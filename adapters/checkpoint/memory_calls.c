/* Calls on memory whose effect the pages do not show; see rare_calls.c. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "engine.h"
#include "raw_call.h"

INTERPOSED void *mmap(void *start, size_t bytes, int prot, int flags, int fd, off_t offset) {
  if (fd >= 0) call_touch(TOUCHED_FILES);
  return (void *)call_result(raw_call(SYS_mmap, start, bytes, prot, flags, fd, offset));
}

INTERPOSED void *mmap64(void *start, size_t bytes, int prot, int flags, int fd, off_t offset) {
  return mmap(start, bytes, prot, flags, fd, offset);
}

INTERPOSED void *shmat(int id, const void *start, int flags) {
  call_touch(TOUCHED_FILES);
  return (void *)call_result(raw_call(SYS_shmat, id, start, flags));
}

/* Whether [start, start + bytes) is part of what stood at the checkpoint; only what could be
 * written there is put back. */
static int stood(const void *start, size_t bytes, int only_constants) {
  const struct engine *engine = state.engine;
  uintptr_t from = (uintptr_t)start, to = from + bytes;
  if (engine == NULL || state.role != ROLE_ANSWERING) return 0;
  for (size_t i = 0; i < engine->mapping_count; ++i) {
    const struct mapping *mapping = &engine->mappings[i];
    if (mapping->end <= from || mapping->start >= to) continue;
    if (!only_constants || (mapping->prot & PROT_WRITE) == 0) return 1;
  }
  return 0;
}

/* Whether the advice is on pages' contents, which are compared, or one that a mapping keeps. */
static int is_on_pages(int advice) {
  return advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_WILLNEED ||
         advice == MADV_COLD || advice == MADV_PAGEOUT || advice == MADV_NORMAL;
}

void note_madvise(const void *start, size_t bytes, int advice) {
  call_touch(TOUCHED_PAGES);
  if (!is_on_pages(advice) && stood(start, bytes, 0)) call_doubt(RETIRED_MAPPINGS, "madvise");
}

INTERPOSED int madvise(void *start, size_t bytes, int advice) {
  note_madvise(start, bytes, advice);
  return (int)call_result(raw_call(SYS_madvise, start, bytes, advice));
}

void note_mprotect(const void *start, size_t bytes, int prot) {
  call_touch(TOUCHED_MAPPINGS);
  if ((prot & PROT_WRITE) != 0 && stood(start, bytes, 1)) {
    call_doubt(RETIRED_MAPPINGS, "mprotect to write to constants");
  }
}

INTERPOSED int mprotect(void *start, size_t bytes, int prot) {
  note_mprotect(start, bytes, prot);
  return (int)call_result(raw_call(SYS_mprotect, start, bytes, prot));
}

INTERPOSED int malloc_trim(size_t pad) {
  static int (*real)(size_t);
  call_touch(TOUCHED_PAGES);
  if (real == NULL) real = (int (*)(size_t))dlsym(RTLD_NEXT, "malloc_trim");
  return real != NULL ? real(pad) : 0;
}

INTERPOSED int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                              void *(*run)(void *), void *argument) {
  static __typeof__(&pthread_create) real;
  call_touch(TOUCHED_THREADS);
  if (real == NULL) real = (__typeof__(real))dlsym(RTLD_NEXT, "pthread_create");
  return real(thread, attributes, run, argument);
}

INTERPOSED int mlock(const void *start, size_t bytes) {
  call_touch(TOUCHED_MEMORY_LOCKS);
  return (int)call_result(raw_call(SYS_mlock, start, bytes));
}

INTERPOSED int mlock2(const void *start, size_t bytes, unsigned flags) {
  call_touch(TOUCHED_MEMORY_LOCKS);
  return (int)call_result(raw_call(SYS_mlock2, start, bytes, flags));
}

INTERPOSED int mlockall(int flags) {
  call_touch(TOUCHED_MEMORY_LOCKS);
  return (int)call_result(raw_call(SYS_mlockall, flags));
}
