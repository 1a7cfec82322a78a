/* Searches memory for libc's locks; see thread_locks.h. Only the words that its ABI fixes are
 * looked at: an id alone may be any number, in a container a small one. */
#include "rewind/thread_locks.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/parked_threads.h"

/* pthread_mutex_t and pthread_rwlock_t, by 32-bit words. */
enum { kMutexLock = 0, kMutexOwner = 2, kMutexUsers = 3, kMutexKind = 4, kMutexWords = 5 };
enum {
  kReaders = 0,
  kPhase = 2,
  kWriters = 3,
  kPadding = 4,
  kWriter = 6,
  kShared = 7,
  kReadWriteWords = 8
};
enum { kKindMost = 0x3ff, kUsersMost = 0xffff, kHeldForWriting = 3 };
enum { kIdIsLock = 0x30 }; /* of a kind: robust, or with priority inheritance */

struct search {
  struct mapping mappings[kMappingsMax];
  char maps_text[16 * 1024];
};

static int is_held_mutex(const uint32_t *words) {
  uint32_t lock = words[kMutexLock];
  int is_by_id = (words[kMutexKind] & kIdIsLock) != 0;
  int is_locked = is_by_id ? (lock & FUTEX_TID_MASK) == words[kMutexOwner] : lock == 1 || lock == 2;
  return is_locked && words[kMutexUsers] - 1 < kUsersMost && words[kMutexKind] <= kKindMost &&
         parked_thread_of((pid_t)words[kMutexOwner]) != NULL;
}

/* 1, and 2 if somebody waits. */
static int is_taken(uint32_t word) {
  return word == 1 || word == 3;
}

static int is_held_read_write_lock(const uint32_t *words) {
  return (words[kReaders] & kHeldForWriting) == kHeldForWriting && is_taken(words[kPhase]) &&
         is_taken(words[kWriters]) && words[kPadding] == 0 && words[kPadding + 1] == 0 &&
         words[kShared] <= 1 && parked_thread_of((pid_t)words[kWriter]) != NULL;
}

/* Locks are aligned like a long. */
static int run_has_lock(const struct address_range *run) {
  const uint32_t *words = (const uint32_t *)run->start;
  for (size_t left = (run->end - run->start) / sizeof *words; left >= kMutexWords;
       left -= 2, words += 2) {
    if (is_held_mutex(words)) return 1;
    if (left >= kReadWriteWords && is_held_read_write_lock(words)) return 1;
  }
  return 0;
}

/* 1: found; 0: not; -1: which pages exist is not known. What is on the stack below this function's
 * frame is of calls that are over. */
static int range_has_lock(int pagemap, const struct mapping *mapping) {
  uintptr_t frame = (uintptr_t)__builtin_frame_address(0), page = frame & -(uintptr_t)kPageSize;
  int is_own_stack = mapping->start <= frame && frame < mapping->end;
  struct address_range run = {.end = is_own_stack ? page : mapping->start};
  while (run.end < mapping->end) {
    int found = pages_next_there(pagemap, run.end, mapping->end, &run);
    if (found > 0 && is_own_stack && run.start < frame) run.start = frame;
    if (found <= 0 || run_has_lock(&run)) return found;
  }
  return 0;
}

static int memory_has_lock(struct search *search) {
  long maps = raw_call(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
  long pagemap = raw_call(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  int found = maps < 0 || pagemap < 0 ? -1 : 0;
  long count = found != 0 ? 0
                          : maps_read((int)maps, search->maps_text, sizeof search->maps_text,
                                      search->mappings);
  if (count < 0) found = -1;
  for (long i = 0; found == 0 && i < count; ++i) {
    const struct mapping *mapping = &search->mappings[i];
    int is_private = !mapping->is_shared && mapping->kind != MAPPING_KERNEL;
    if (!is_private || (mapping->prot & PROT_WRITE) == 0 || (mapping->prot & PROT_READ) == 0)
      continue;
    found = range_has_lock((int)pagemap, mapping);
  }
  if (maps >= 0) raw_call(SYS_close, maps);
  if (pagemap >= 0) raw_call(SYS_close, pagemap);
  return found;
}

const char *lock_of_parked_thread(void) {
  long memory = raw_call(SYS_mmap, NULL, sizeof(struct search), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory < 0 && memory > -4096) return "no memory to look for locks of its threads";
  int found = memory_has_lock((struct search *)memory);
  raw_call(SYS_munmap, memory, sizeof(struct search));
  if (found < 0) return "its memory cannot be searched for locks of its threads";
  return found ? "one of its threads holds a lock while it waits" : NULL;
}
