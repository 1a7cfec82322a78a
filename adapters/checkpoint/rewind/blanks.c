/* Blank regions: long stretches of large mappings that nobody had touched at the checkpoint, like
 * most of what an allocator or a runtime maps in advance. None of their pages is saved, protected
 * or looked at one by one: what is there after a request is zeroed, or given back. */
#include <string.h>
#include <sys/mman.h>

#include "raw_call.h"
#include "rewind/engine.h"

static void give_back(const struct region *blank, uintptr_t start, uintptr_t end) {
  if (raw_call(SYS_madvise, start, end - start, MADV_DONTNEED) == 0) return;
  if ((blank->prot & PROT_WRITE) != 0) memset((char *)start, 0, end - start);
}

static uintptr_t end_of_zeros(uintptr_t start, uintptr_t end) {
  while (start < end && page_is_zero((const char *)start)) start += kPageSize;
  return start;
}

/* Pages of zeros were only read, or were used by an earlier request: now and then they are
 * given back. Returns how many were not. */
static uint32_t zero_pages(const struct engine *engine, const struct region *blank, uintptr_t start,
                           uintptr_t end) {
  uint32_t zeroed = 0;
  for (uintptr_t at = start; at < end; at += kPageSize) {
    uintptr_t used = end_of_zeros(at, end);
    if (used > at && pages_look_again(engine)) give_back(blank, at, used);
    if (used < end) {
      memset((char *)used, 0, kPageSize);
      ++zeroed;
    }
    at = used;
  }
  return zeroed;
}

uint32_t blank_put_back_run(const struct engine *engine, const struct region *blank,
                            uintptr_t start, uintptr_t end) {
  uint32_t pages = (uint32_t)((end - start) / kPageSize);
  if ((engine->left_out & blank->part) != 0) return 0;
  if (pages < kDropPages && (blank->prot & PROT_WRITE) != 0) {
    return zero_pages(engine, blank, start, end);
  }
  give_back(blank, start, end);
  return pages;
}

uint32_t blank_put_back(const struct engine *engine, const struct region *blank) {
  struct address_range run;
  uint32_t restored = 0;
  int found = 1;
  for (uintptr_t at = blank->start; at < blank->end; at = run.end) {
    found = pages_next_there(engine->pagemap_fd, at, blank->end, &run);
    if (found <= 0) break;
    restored += blank_put_back_run(engine, blank, run.start, run.end);
  }
  if (found < 0) restored += blank_put_back_run(engine, blank, blank->start, blank->end);
  return restored;
}
