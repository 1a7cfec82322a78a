/* Calls on memory whose effect the pages do not show; see rare_calls.c. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "calls/clean.h"
#include "calls/real_calls.h"
#include "java_launcher.h"
#include "raw_call.h"
#include "rewind/engine.h"

/* Whether the advice changes pages' contents, which are compared, or is kept in the mapping. */
static int is_on_pages(int advice) {
  return advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_WILLNEED ||
         advice == MADV_COLD || advice == MADV_PAGEOUT || advice == MADV_NORMAL;
}

/* Whether it drops contents. Those of pages that are never written are in no snapshot: a table of
 * addresses that the loader filled would be its file's again. */
static int loses_contents(int advice) {
  return advice == MADV_DONTNEED || advice == MADV_FREE;
}

void note_madvise(const void *start, size_t bytes, int advice) {
  call_touch(TOUCHED_PAGES);
  if (!is_on_pages(advice)) return note_advice(start, bytes, RETIRED_MAPPINGS, "madvise");
  if (!loses_contents(advice)) return;
  unsigned stood = memory_stood(start, bytes);
  if ((stood & STOOD_FILE) != 0) call_touch(TOUCHED_FILE_PAGES);
  if ((stood & STOOD_CONSTANT) != 0)
    call_doubt(RETIRED_MAPPINGS, "madvise, which drops what is only read");
}

/* The ranges are in the program's own memory, and may be anywhere. */
void note_process_madvise(int advice) {
  call_touch(kTouchedAllPages);
  if (!is_on_pages(advice) || loses_contents(advice))
    call_doubt(RETIRED_MAPPINGS, "process_madvise");
}

/* What the kernel may take at any later time (MADV_FREE) is given back at once: that could be
 * during a later request. */
long madvise_watched(void *start, size_t bytes, int advice) {
  if (advice == MADV_DONTNEED && memory_stays(start, bytes)) return 0;
  note_madvise(start, bytes, advice);
  long result = libc_call(SYS_madvise, start, bytes, advice);
  if (result == 0 && advice == MADV_FREE && (memory_stood(start, bytes) & STOOD_SAVED) != 0) {
    result = libc_call(SYS_madvise, start, bytes, MADV_DONTNEED);
  }
  return call_result(result);
}

INTERPOSED int madvise(void *start, size_t bytes, int advice) {
  return (int)madvise_watched(start, bytes, advice);
}

INTERPOSED int malloc_trim(size_t pad) {
  call_touch(TOUCHED_PAGES);
  return REAL(malloc_trim) != NULL ? REAL(malloc_trim)(pad) : 0;
}

static void *return_argument(void *argument) {
  return argument;
}

INTERPOSED int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                              void *(*run)(void *), void *argument) {
  call_touch(TOUCHED_THREADS);
  load_left_thread(__builtin_return_address(0));
  void *result_here;
  if (java_launcher_runs(__builtin_return_address(0), attributes, run, argument, &result_here))
    return REAL(pthread_create)(thread, attributes, return_argument, result_here);
  if (!program_is_linked_go()) return REAL(pthread_create)(thread, attributes, run, argument);
  struct go_thread_start *start = go_linked_thread(run, argument);
  int result = REAL(pthread_create)(thread, attributes, go_linked_thread_run, start);
  if (result != 0) go_linked_thread_drop(start);
  return result;
}

INTERPOSED int mlock(const void *start, size_t bytes) {
  call_touch(TOUCHED_MEMORY_LOCKS);
  return (int)call_result(libc_call(SYS_mlock, start, bytes));
}

INTERPOSED int mlock2(const void *start, size_t bytes, unsigned flags) {
  call_touch(TOUCHED_MEMORY_LOCKS);
  return (int)call_result(libc_call(SYS_mlock2, start, bytes, flags));
}

INTERPOSED int mlockall(int flags) {
  call_touch(TOUCHED_MEMORY_LOCKS);
  return (int)call_result(libc_call(SYS_mlockall, flags));
}
