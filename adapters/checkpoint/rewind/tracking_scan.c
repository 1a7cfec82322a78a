/* Tracking by userfaultfd and PAGEMAP_SCAN (Linux 6.7): pages are write-protected, a write removes
 * the protection without asking anybody, and one call reports which pages were written. The same
 * call shows whether all the snapshot's mappings are still there. */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/mman.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/pagemap_scan.h"

/* From linux/userfaultfd.h as of Linux 6.7; Debian 12's is older. */
enum { kUserModeOnly = 1 };
#define FEATURE_WP_UNPOPULATED (1ull << 13)
#define FEATURE_WP_ASYNC (1ull << 15)
#define MAKE_BY_DEVICE _IO(0xaa, 0) /* USERFAULTFD_IOC_NEW */

/* A page that was written is left writable, and copied each time without a comparison, because a
 * fault costs more than ten copies; its heat is the number of looks for which this continues. */
enum { kHeatMax = 4 };
#define ADDRESSES_END 0x7ffffffff000ull

static int covers_all(struct engine *engine);

static int protect(const struct engine *engine, uintptr_t start, size_t bytes) {
  struct uffdio_writeprotect call = {.range = {start, bytes}, .mode = UFFDIO_WRITEPROTECT_MODE_WP};
  return (int)raw_call(SYS_ioctl, engine->tracking_fd, UFFDIO_WRITEPROTECT, &call);
}

/* A blank region is registered, which proves that it is still there, and not protected. */
static int watch_pages(const struct engine *engine, const struct region *region, uintptr_t start,
                       uintptr_t end) {
  struct uffdio_register call = {.range = {start, end - start}, .mode = UFFDIO_REGISTER_MODE_WP};
  if (raw_call(SYS_ioctl, engine->tracking_fd, UFFDIO_REGISTER, &call) != 0) return -1;
  return region->is_blank ? 0 : protect(engine, start, end - start);
}

int scan_begin_anew(struct engine *engine) {
  hot_pages_forget(engine);
  for (size_t i = 0; i < engine->region_count; ++i) {
    const struct region *region = &engine->regions[i];
    if (watch_pages(engine, region, region->start, region->end) != 0) return -1;
  }
  memset(engine->page_heat, 0, engine->page_count);
  return 0;
}

static int fill_again(struct engine *engine, const struct region *region, uintptr_t start,
                      uintptr_t end) {
  if ((region->prot & PROT_WRITE) == 0) return -1;
  raw_call(SYS_madvise, start, end - start, MADV_NOHUGEPAGE); /* as in snapshot_take() */
  for (uintptr_t at = start; at < end && !region->is_blank; at += kPageSize) {
    uint32_t page = page_number(region, at);
    const char *then = page_saved(engine, page);
    engine->page_heat[page] = 0;
    if (then != NULL) page_put_back(engine, region, (char *)at, then);
  }
  return watch_pages(engine, region, start, end);
}

int scan_fill_again(struct engine *engine, uintptr_t start, uintptr_t end) {
  hot_pages_forget(engine);
  for (size_t i = 0; i < engine->region_count; ++i) {
    const struct region *region = &engine->regions[i];
    uintptr_t from = start > region->start ? start : region->start;
    uintptr_t to = end < region->end ? end : region->end;
    if (from < to && fill_again(engine, region, from, to) != 0) return -1;
  }
  return 0;
}

/* A container's filter refuses the call; with the device no call is needed. */
static long open_by_device(void) {
  long device = raw_call(SYS_openat, AT_FDCWD, "/dev/userfaultfd", O_RDWR | O_CLOEXEC, 0);
  if (device < 0) return -1;
  long fd = raw_call(SYS_ioctl, device, MAKE_BY_DEVICE, O_CLOEXEC | kUserModeOnly);
  raw_call(SYS_close, device);
  return fd;
}

/* A descriptor that records writes by itself, or -1: before Linux 6.7, or not allowed. */
static long open_noting(void) {
  struct uffdio_api api = {.api = UFFD_API, .features = FEATURE_WP_ASYNC | FEATURE_WP_UNPOPULATED};
  long fd = raw_call(SYS_userfaultfd, O_CLOEXEC | kUserModeOnly);
  if (fd < 0) fd = open_by_device();
  if (fd < 0) return -1;
  if (raw_call(SYS_ioctl, fd, UFFDIO_API, &api) == 0) return fd;
  raw_call(SYS_close, fd);
  return -1;
}

int scan_is_offered(void) {
  long fd = open_noting();
  if (fd >= 0) raw_call(SYS_close, fd);
  return fd >= 0;
}

int scan_begin(struct engine *engine) {
  long fd = open_noting();
  if (fd < 0) return -1;
  long own = raw_call(SYS_dup3, fd, engine->tracking_fd, O_CLOEXEC);
  raw_call(SYS_close, fd);
  if (own < 0) return -1;
  if (scan_begin_anew(engine) == 0 && covers_all(engine)) return 0;
  scan_end(engine);
  return -1;
}

/* The registrations end with the last descriptor, whose number is kept for another way. */
void scan_end(struct engine *engine) {
  raw_call(SYS_dup3, engine->pagemap_fd, engine->tracking_fd, O_CLOEXEC);
}

/* Also in a child that shares the memory, but not the descriptors (vfork). */
void scan_leave(const struct engine *engine) {
  for (size_t i = 0; i < engine->region_count; ++i) {
    const struct region *region = &engine->regions[i];
    struct uffdio_range range = {region->start, region->end - region->start};
    raw_call(SYS_ioctl, engine->tracking_fd, UFFDIO_UNREGISTER, &range);
  }
}

/* A protected page is there, or has a mark in place of a page that is swapped out. What is neither
 * was dropped (MADV_DONTNEED); if it was read since, there is a page of zeros, without protection.
 * In a file's mapping a mark stays in any case, so all its pages are compared. */
static const uint64_t kThere = PAGE_THERE | PAGE_SWAPPED;
static const uint64_t kNotDropped = PAGE_WRITTEN | PAGE_THERE | PAGE_SWAPPED;

static long scan_from(struct engine *engine, uint64_t start, uint64_t *walked, int says_there) {
  uint64_t returned = PAGE_WRITE_PROTECTABLE | (says_there ? kNotDropped : PAGE_WRITTEN);
  struct scan call = {.size = sizeof call,
                      .start = start,
                      .end = ADDRESSES_END,
                      .runs = (uintptr_t)engine->runs,
                      .runs_max = kScanMax,
                      .all_of = PAGE_WRITE_PROTECTABLE,
                      .returned = returned};
  long count = raw_call(SYS_ioctl, engine->pagemap_fd, PAGEMAP_SCAN_CALL, &call);
  *walked = call.walk_end;
  return count;
}

struct walk {
  size_t region;
  uintptr_t at; /* how far the runs cover the region */
  uint32_t restored;
  int looks;        /* hot pages are compared this time */
  int with_dropped; /* pages may be gone */
  int with_dropped_of_files;
  enum { WALK_LOOKS_ONLY, WALK_PUTS_BACK } what;
};

static void put_back_one(struct engine *engine, const struct region *region, uintptr_t address,
                         struct walk *walk) {
  uint32_t page = page_number(region, address);
  const char *then = page_saved(engine, page);
  char *now = (char *)address;
  uint8_t *heat = &engine->page_heat[page];
  if (walk->looks && *heat > 0 && !page_is_changed(now, then)) {
    if (--*heat == 0) {
      protect(engine, address, kPageSize);
    } else {
      hot_page_note(engine, region, address);
    }
    return;
  }
  *heat = kHeatMax;
  hot_page_note(engine, region, address);
  page_put_back(engine, region, now, then);
  ++walk->restored;
}

/* Gives many contiguous pages that were not there at the checkpoint back to the kernel. Returns how
 * many pages from address on it gave back. */
static uint32_t drop_new(struct engine *engine, const struct region *region, uintptr_t address,
                         uintptr_t end) {
  uint32_t first = page_number(region, address);
  uint32_t most = (uint32_t)((end - address) / kPageSize), count = 0;
  if (most < kDropPages || !region->is_anonymous) return 0;
  while (count < most && engine->page_slots[first + count] == kZeroSlot) ++count;
  if (count < kDropPages) return 0;
  size_t bytes = (size_t)count * kPageSize;
  if (raw_call(SYS_madvise, address, bytes, MADV_DONTNEED) != 0) return 0;
  protect(engine, address, bytes);
  memset(engine->page_heat + first, 0, count);
  return count;
}

static void put_back_run(struct engine *engine, const struct region *region, uintptr_t start,
                         uintptr_t end, struct walk *walk) {
  for (uintptr_t page = start; page < end;) {
    uint32_t dropped = drop_new(engine, region, page, end);
    walk->restored += dropped;
    page += (uintptr_t)dropped * kPageSize;
    if (dropped > 0) continue;
    put_back_one(engine, region, page, walk);
    page += kPageSize;
  }
}

/* The pages of a run that may have been dropped, and are then zeros or what their file has. */
static void put_back_dropped(struct engine *engine, const struct region *region, uintptr_t start,
                             uintptr_t end, struct walk *walk) {
  for (uintptr_t at = start; at < end; at += kPageSize) {
    uint32_t page = page_number(region, at);
    const char *then = page_saved(engine, page);
    if (region->is_anonymous ? then == NULL : !page_is_changed((const char *)at, then)) continue;
    put_back_one(engine, region, at, walk);
  }
}

static void put_back_some(struct engine *engine, const struct region *region, uintptr_t start,
                          uintptr_t end, uint64_t categories, struct walk *walk) {
  if (walk->what != WALK_PUTS_BACK) return;
  if (region->is_blank) {
    if ((categories & kThere) == 0) return; /* although it may count as written */
    walk->restored += blank_put_back_run(engine, region, start, end);
    if ((end - start) / kPageSize >= kDropPages) return; /* they were given back */
    for (uintptr_t page = start; page < end; page += kPageSize) hot_page_note(engine, region, page);
  } else if ((categories & PAGE_WRITTEN) != 0) {
    put_back_run(engine, region, start, end, walk);
  } else if (region->is_anonymous ? walk->with_dropped && (categories & kNotDropped) == 0
                                  : walk->with_dropped_of_files) {
    put_back_dropped(engine, region, start, end, walk);
  }
}

/* One run of pages in the same state. Returns 0 if the snapshot has no region there. */
static int walk_run(struct engine *engine, const struct page_run *run, struct walk *walk) {
  uintptr_t at = run->start;
  while (at < run->end) {
    if (walk->region == engine->region_count) return 0;
    const struct region *region = &engine->regions[walk->region];
    if (walk->at == 0) walk->at = region->start;
    if (at != walk->at) return 0;
    uintptr_t end = run->end < region->end ? run->end : region->end;
    put_back_some(engine, region, at, end, run->categories, walk);
    at = walk->at = end;
    if (end == region->end) {
      ++walk->region;
      walk->at = 0;
    }
  }
  return 1;
}

/* All runs of registered memory must cover the regions exactly: then no region was unmapped,
 * moved or replaced. Returns 0 if they do not. */
static int walk_all(struct engine *engine, struct walk *walk) {
  uint64_t start = 0;
  int says_there = walk->with_dropped || engine->has_blanks;
  for (;;) {
    long count = scan_from(engine, start, &start, says_there);
    if (count < 0) return 0;
    for (long i = 0; i < count; ++i) {
      if (!walk_run(engine, &engine->runs[i], walk)) return 0;
    }
    if (count < kScanMax || start >= ADDRESSES_END) break;
  }
  return walk->region == engine->region_count;
}

static int covers_all(struct engine *engine) {
  struct walk walk = {.what = WALK_LOOKS_ONLY};
  return walk_all(engine, &walk);
}

long scan_put_back(struct engine *engine) {
  struct walk walk = {.what = WALK_PUTS_BACK,
                      .with_dropped = (engine->touched & (TOUCHED_PAGES | TOUCHED_THREADS)) != 0,
                      .with_dropped_of_files = (engine->touched & TOUCHED_FILE_PAGES) != 0,
                      .looks = pages_look_again(engine)};
  if (!walk.looks && only_hot_pages_changed(engine)) return hot_pages_put_back(engine);
  hot_pages_forget(engine);
  if (!walk_all(engine, &walk)) return -1;
  /* A look gives pages of blank regions back; the next walk shows which ones are left. */
  if (!walk.looks || !engine->has_blanks) hot_pages_are_noted(engine);
  return (long)walk.restored;
}
