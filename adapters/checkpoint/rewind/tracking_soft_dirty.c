/* Tracking by soft-dirty bits (CONFIG_MEM_SOFT_DIRTY, Debian's kernels): a write to clear_refs
 * protects all pages, a write to one of them sets its bit in pagemap. */
#include <fcntl.h>
#include <string.h>

#include "raw_call.h"
#include "rewind/engine.h"

/* All pages are protected again once this many more had to be compared than had changed. */
enum { kIdleMax = 64 };

static int protect_all(int clear_fd) {
  return raw_call(SYS_pwrite64, clear_fd, "4", 1, 0) == 1 ? 0 : -1;
}

int soft_dirty_begin_anew(struct engine *engine) {
  engine->is_protected = 1;
  return protect_all(engine->tracking_fd);
}

static int is_written(int pagemap_fd, const char *page) {
  uint64_t entry = 0;
  long at = (long)((uintptr_t)page / kPageSize * sizeof entry);
  if (raw_call(SYS_pread64, pagemap_fd, &entry, sizeof entry, at) != sizeof entry) return -1;
  return (entry & kPageSoftDirty) != 0;
}

/* Kernels without it accept the write to clear_refs, too. */
static int works(int clear_fd, int pagemap_fd) {
  static char probe[kPageSize] __attribute__((aligned(4096)));
  *(volatile char *)probe = 0;
  if (protect_all(clear_fd) != 0 || is_written(pagemap_fd, probe) != 0) return 0;
  *(volatile char *)probe = 0;
  return is_written(pagemap_fd, probe) == 1;
}

static int open_own(const char *path, int flags) {
  return (int)raw_call(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC);
}

int soft_dirty_is_offered(void) {
  int clear = open_own("/proc/self/clear_refs", O_WRONLY);
  int pagemap = open_own("/proc/self/pagemap", O_RDONLY);
  int is_offered = clear >= 0 && pagemap >= 0 && works(clear, pagemap);
  if (clear >= 0) raw_call(SYS_close, clear);
  if (pagemap >= 0) raw_call(SYS_close, pagemap);
  return is_offered;
}

int soft_dirty_begin(struct engine *engine) {
  int fd = open_own("/proc/self/clear_refs", O_WRONLY);
  if (fd < 0) return -1;
  raw_call(SYS_dup3, fd, engine->tracking_fd, O_CLOEXEC);
  raw_call(SYS_close, fd);
  if (works(engine->tracking_fd, engine->pagemap_fd)) return soft_dirty_begin_anew(engine);
  soft_dirty_end(engine);
  return -1;
}

void soft_dirty_end(struct engine *engine) {
  raw_call(SYS_dup3, engine->pagemap_fd, engine->tracking_fd, O_CLOEXEC);
}

/* A page that is not there any more was dropped, whatever its bit says: it would be zeros, or what
 * its file has. One that was dropped and then read has no bit; tracking_may_miss() knows about
 * those. */
static int is_dirty(const struct region *region, uint64_t entry, const char *then) {
  int is_there = (entry & (kPagePresent | kPageSwapped)) != 0;
  return is_there ? (entry & kPageSoftDirty) != 0 : then != NULL || !region->is_anonymous;
}

/* Pages that were written stay writable and are compared each time, because a fault costs more than
 * a copy, until too many of them no longer change. */
long soft_dirty_put_back(struct engine *engine) {
  long restored = pages_put_back(engine, is_dirty);
  engine->faults = engine->is_protected ? (uint32_t)restored : 0;
  engine->is_protected = 0;
  if (engine->suspects <= 2 * (uint32_t)restored + kIdleMax) return restored;
  return soft_dirty_begin_anew(engine) == 0 ? restored : -1;
}
