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

static uint32_t put_back_stretch(struct engine *engine, const struct region *region, uint32_t first,
                                 uint32_t count) {
  uintptr_t address = region->start + (uintptr_t)first * kPageSize;
  uint32_t restored = 0;
  for (uint32_t i = 0; i < count; ++i, address += kPageSize) {
    const char *then = page_saved(engine, region->first_page + first + i);
    uint64_t entry = engine->entries[i];
    int is_there = (entry & (kPagePresent | kPageSwapped)) != 0;
    /* A page that is not there any more was dropped, whatever its bit says. */
    int is_suspect =
        is_there ? (entry & kPageSoftDirty) != 0 : then != NULL && region->is_anonymous;
    if (!is_suspect || !page_is_changed((const char *)address, then)) continue;
    page_put_back(engine, (char *)address, then);
    ++restored;
  }
  return restored;
}

long soft_dirty_put_back(struct engine *engine) {
  long restored = 0;
  for (size_t i = 0; i < engine->region_count; ++i) {
    const struct region *region = &engine->regions[i];
    uint32_t pages = (uint32_t)((region->end - region->start) / kPageSize);
    for (uint32_t first = 0; first < pages; first += kEntriesMax) {
      uint32_t count = pages - first < kEntriesMax ? pages - first : kEntriesMax;
      uintptr_t address = region->start + (uintptr_t)first * kPageSize;
      if (pages_read_entries(engine, address, count) != 0) return -1;
      restored += put_back_stretch(engine, region, first, count);
    }
  }
  return soft_dirty_begin_anew(engine) == 0 ? restored : -1;
}
