/* Pages of the snapshot: whether they changed, and putting them back. */
#include <string.h>
#include <sys/mman.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/pagemap_scan.h"

enum { kPagemapChunk = 512, kLookedAtMax = 1 << 20 };

int page_is_zero(const char *page) {
  return page[0] == 0 && memcmp(page, page + 1, kPageSize - 1) == 0;
}

const char *page_saved(const struct engine *engine, uint32_t page) {
  uint32_t slot = engine->page_slots[page];
  return slot == kZeroSlot ? NULL : engine->saved + (size_t)slot * kPageSize;
}

int page_is_changed(const char *now, const char *then) {
  return then == NULL ? !page_is_zero(now) : memcmp(now, then, kPageSize) != 0;
}

/* ---- what is not writable at rest ---- */

static void protect_opened(struct engine *engine, int prot) {
  const struct region *region = engine->opened;
  if (raw_call(SYS_mprotect, region->start, region->end - region->start, prot) == 0) return;
  engine->opening_failed = 1;
}

static void open_region(struct engine *engine, const struct region *region) {
  if (engine->opened == region) return;
  if (engine->opened != NULL) protect_opened(engine, engine->opened->prot);
  engine->opened = region;
  protect_opened(engine, PROT_READ | PROT_WRITE);
}

int pages_close(struct engine *engine) {
  if (engine->opened != NULL) protect_opened(engine, engine->opened->prot);
  engine->opened = NULL;
  return engine->opening_failed ? -1 : 0;
}

/* ---- one page ---- */

/* The kernel writes a few words of its own (rseq) into the thread's block: they stay as they are.
 */
void page_put_back(struct engine *engine, const struct region *region, char *now,
                   const char *then) {
  if ((engine->left_out & region->part) != 0) return;
  if ((region->prot & PROT_WRITE) == 0) open_region(engine, region);
  if (engine->opening_failed) return;
  char *words = engine->volatile_words;
  char kept[64];
  int holds_words = words != NULL && words >= now && words < now + kPageSize;
  if (holds_words) memcpy(kept, words, engine->volatile_bytes);
  if (then == NULL) {
    memset(now, 0, kPageSize);
  } else {
    memcpy(now, then, kPageSize);
  }
  if (holds_words) memcpy(words, kept, engine->volatile_bytes);
  if ((region->prot & PROT_EXEC) != 0) __builtin___clear_cache(now, now + kPageSize);
}

int pages_read_entries(struct engine *engine, uintptr_t address, uint32_t count) {
  size_t bytes = count * sizeof *engine->entries;
  return raw_call(SYS_pread64, engine->pagemap_fd, engine->entries, bytes,
                  address / kPageSize * sizeof *engine->entries) == (long)bytes
             ? 0
             : -1;
}

int pages_look_again(const struct engine *engine) {
  return engine->rewinds % kLookEvery == kLookEvery - 1;
}

static int next_by_entries(int pagemap_fd, uintptr_t start, uintptr_t end,
                           struct address_range *run) {
  uint64_t entries[kPagemapChunk];
  *run = (struct address_range){end, end};
  for (uintptr_t at = start; at < end; at += kPagemapChunk * kPageSize) {
    size_t count = (end - at) / kPageSize;
    if (count > kPagemapChunk) count = kPagemapChunk;
    long bytes = (long)(count * sizeof *entries), from = (long)(at / kPageSize * sizeof *entries);
    if (raw_call(SYS_pread64, pagemap_fd, entries, bytes, from) != bytes) return -1;
    for (size_t i = 0; i < count; ++i) {
      int is_there = (entries[i] & (kPagePresent | kPageSwapped)) != 0;
      if (is_there && run->start == end) run->start = at + i * kPageSize;
      if (!is_there && run->start < end) {
        run->end = at + i * kPageSize;
        return 1;
      }
    }
  }
  return run->start < end;
}

int pages_next_there(int pagemap_fd, uintptr_t start, uintptr_t end, struct address_range *run) {
  struct page_run found;
  struct scan call = {.size = sizeof call,
                      .start = start,
                      .end = end,
                      .runs = (uintptr_t)&found,
                      .runs_max = 1,
                      .any_of = PAGE_THERE | PAGE_SWAPPED,
                      .returned = PAGE_WRITE_PROTECTABLE};
  long count = raw_call(SYS_ioctl, pagemap_fd, PAGEMAP_SCAN_CALL, &call);
  if (count > 0) *run = (struct address_range){found.start, found.end};
  if (count >= 0) return count > 0;
  if ((end - start) / kPageSize > kLookedAtMax) return -1;
  return next_by_entries(pagemap_fd, start, end, run);
}

static uint32_t put_back_stretch(struct engine *engine, const struct region *region, uint32_t first,
                                 uint32_t count, page_suspect *is_suspect) {
  uintptr_t address = region->start + (uintptr_t)first * kPageSize;
  uint32_t restored = 0;
  int is_known = pages_read_entries(engine, address, count) == 0;
  for (uint32_t i = 0; i < count; ++i, address += kPageSize) {
    const char *then = page_saved(engine, region->first_page + first + i);
    if (is_known && !is_suspect(region, engine->entries[i], then)) continue;
    ++engine->suspects;
    if (!page_is_changed((const char *)address, then)) continue;
    page_put_back(engine, region, (char *)address, then);
    ++restored;
  }
  return restored;
}

long pages_put_back(struct engine *engine, page_suspect *is_suspect) {
  long restored = 0;
  engine->suspects = 0;
  for (size_t i = 0; i < engine->region_count; ++i) {
    const struct region *region = &engine->regions[i];
    if (region->is_blank) {
      restored += blank_put_back(engine, region);
      continue;
    }
    uint32_t pages = (uint32_t)((region->end - region->start) / kPageSize);
    for (uint32_t first = 0; first < pages; first += kEntriesMax) {
      uint32_t count = pages - first < kEntriesMax ? pages - first : kEntriesMax;
      restored += put_back_stretch(engine, region, first, count, is_suspect);
    }
  }
  return restored;
}

/* A page that was not there has to be looked up first: reading it would create it. */
static int is_there_or_was(const struct region *region, uint64_t entry, const char *then) {
  (void)region;
  return then != NULL || (entry & (kPagePresent | kPageSwapped)) != 0;
}

long pages_compare(struct engine *engine) {
  return pages_put_back(engine, is_there_or_was);
}
