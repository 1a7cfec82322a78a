/* Searches memory for libc's locks; see thread_locks.h. Only the words that its ABI fixes are
 * looked at: an id alone may be any number, in a container a small one. */
#include "rewind/thread_locks.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>

#include "fork.h"
#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/parked_threads.h"

/* pthread_mutex_t and pthread_rwlock_t, by 32-bit words. */
enum {
  kMutexLock = 0,
  kMutexCount = 1, /* of a recursive one and one with priorities */
  kMutexOwner = 2,
  kMutexUsers = 3,
  kMutexKind = 4,
  kMutexSpins = 5, /* 16 bits for an adaptive one, 16 for elision */
  kMutexList = 6,  /* of robust ones */
  kMutexWords = 10
};
enum {
  kReaders = 0,
  kPhase = 2,
  kWriters = 3,
  kPadding = 4,
  kWriter = 6,
  kShared = 7,
  kMorePadding = 8,
  kPrefers = 12
};
enum { kTypes = 3, kRecursive = 1, kChecked = 2, kAdaptive = 3 }; /* of a kind */
enum { kInheritsPriority = 0x20, kProtectsPriority = 0x40, kHasPriority = 0x60 };
enum { kIsShared = 0x80, kElision = 0x300, kKinds = kTypes | kHasPriority | kIsShared | kElision };
enum { kUsersMost = 0xffff, kHeldForWriting = 3, kPrefersMost = 2, kBelowCeiling = 0x7ffff };

/* The words from an address on. Those beyond are in pages that nobody has touched, so zero. */
struct words {
  const uint32_t *at;
  size_t left;
};

struct search {
  struct mapping mappings[kMappingsMax];
  char maps_text[16 * 1024];
};

static uint32_t word(struct words words, size_t index) {
  return index < words.left ? words.at[index] : 0;
}

static int are_zero(struct words words, size_t index, size_t end) {
  for (; index < end; ++index) {
    if (word(words, index) != 0) return 0;
  }
  return 1;
}

static int is_locked(struct words words, uint32_t kind) {
  uint32_t lock = word(words, kMutexLock);
  if ((kind & kInheritsPriority) != 0) return (lock & FUTEX_TID_MASK) == word(words, kMutexOwner);
  if ((kind & kProtectsPriority) != 0) lock &= kBelowCeiling;
  return lock == 1 || lock == 2;
}

/* The first thread's id is another one in each copy, which would not be taken for the owner. */
static int is_id_of_first(uint32_t owner) {
  return (pid_t)owner == state.pid;
}

static int asks_for_owner(uint32_t kind) {
  return (kind & kTypes) == kRecursive || (kind & kTypes) == kChecked || (kind & kHasPriority) != 0;
}

/* Whether this is a mutex that is held, with the rest as pthread_mutex_init() left it. A robust one
 * is in its thread's list. */
static int is_held_mutex(struct words words) {
  uint32_t kind = word(words, kMutexKind), spins = word(words, kMutexSpins);
  int is_counted = (kind & kTypes) == kRecursive || (kind & kHasPriority) != 0;
  if ((kind & ~(uint32_t)kKinds) != 0) return 0;
  if ((kind & kTypes) == kAdaptive) spins &= 0xffff0000;
  if ((kind & kElision) != 0) spins &= 0xffff;
  return is_locked(words, kind) && spins == 0 && (word(words, kMutexCount) != 0) == is_counted &&
         word(words, kMutexUsers) - 1 < kUsersMost && are_zero(words, kMutexList, kMutexWords) &&
         (parked_thread_of((pid_t)word(words, kMutexOwner)) != NULL ||
          (asks_for_owner(kind) && is_id_of_first(word(words, kMutexOwner))));
}

/* 1, and 2 if somebody waits. */
static int is_taken(uint32_t word) {
  return word == 1 || word == 3;
}

static int is_held_read_write_lock(struct words words) {
  return (word(words, kReaders) & kHeldForWriting) == kHeldForWriting &&
         is_taken(word(words, kPhase)) && is_taken(word(words, kWriters)) &&
         are_zero(words, kPadding, kWriter) && word(words, kShared) <= 1 &&
         are_zero(words, kMorePadding, kPrefers) && word(words, kPrefers) <= kPrefersMost &&
         (parked_thread_of((pid_t)word(words, kWriter)) != NULL ||
          is_id_of_first(word(words, kWriter)));
}

/* Locks are aligned like a long. */
static int run_has_lock(const struct address_range *run) {
  struct words words = {(const uint32_t *)run->start, (run->end - run->start) / sizeof(uint32_t)};
  for (; words.left >= 2; words.left -= 2, words.at += 2) {
    if (is_held_mutex(words) || is_held_read_write_lock(words)) return 1;
  }
  return 0;
}

/* 1: found; 0: not; -1: which pages exist is not known. The stack below this function's frame
 * belongs to calls that are over. */
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
                                      search->mappings, NULL);
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

static int any_holds_robust_mutex(void) {
  for (size_t i = 0; i < parked_threads.count; ++i) {
    if (clone_robust_list_has_mutex(parked_threads.list[i].robust_list)) return 1;
  }
  return 0;
}

const char *lock_of_parked_thread(void) {
  long memory = raw_call(SYS_mmap, NULL, sizeof(struct search), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory < 0 && memory > -4096) return "no memory to look for locks of its threads";
  int found = any_holds_robust_mutex() ? 1 : memory_has_lock((struct search *)memory);
  raw_call(SYS_munmap, memory, sizeof(struct search));
  if (found < 0) return "its memory cannot be searched for locks of its threads";
  return found ? "one of its threads holds a lock" : NULL;
}
