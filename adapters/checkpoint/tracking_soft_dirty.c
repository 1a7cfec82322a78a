/* Tracking by soft-dirty bits (CONFIG_MEM_SOFT_DIRTY, Debian's kernels): a write to clear_refs
 * protects all pages, a write to one of them sets its bit in pagemap. */
#include <fcntl.h>
#include <string.h>

#include "engine.h"
#include "raw_call.h"

int soft_dirty_begin_anew(struct engine *engine) {
  return raw_call(SYS_pwrite64, engine->tracking_fd, "4", 1, 0) == 1 ? 0 : -1;
}

/* Kernels without it take the write, too. */
static int works(struct engine *engine) {
  static char probe[kPageSize] __attribute__((aligned(4096)));
  *(volatile char *)probe = 0;
  if (soft_dirty_begin_anew(engine) != 0) return 0;
  if (pages_read_entries(engine, (uintptr_t)probe, 1) != 0) return 0;
  int before = (engine->entries[0] & kPageSoftDirty) != 0;
  *(volatile char *)probe = 0;
  if (pages_read_entries(engine, (uintptr_t)probe, 1) != 0) return 0;
  return !before && (engine->entries[0] & kPageSoftDirty) != 0;
}

int soft_dirty_begin(struct engine *engine) {
  long fd = raw_call(SYS_openat, AT_FDCWD, "/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  raw_call(SYS_dup3, fd, engine->tracking_fd, O_CLOEXEC);
  raw_call(SYS_close, fd);
  if (works(engine)) return 0;
  soft_dirty_end(engine);
  return -1;
}

void soft_dirty_end(struct engine *engine) {
  raw_call(SYS_dup3, engine->pagemap_fd, engine->tracking_fd, O_CLOEXEC);
}

/* A page that is not there any more was dropped, whatever its bit says. */
static int is_dirty(const struct region *region, uint64_t entry, const char *then) {
  int is_there = (entry & (kPagePresent | kPageSwapped)) != 0;
  return is_there ? (entry & kPageSoftDirty) != 0 : then != NULL && region->is_anonymous;
}

long soft_dirty_put_back(struct engine *engine) {
  long restored = pages_put_back(engine, is_dirty);
  return soft_dirty_begin_anew(engine) == 0 ? restored : -1;
}
