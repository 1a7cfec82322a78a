/* See hot_pages.h. */
#include "rewind/hot_pages.h"

#include <malloc.h>
#include <string.h>
#include <sys/mman.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/pagemap_scan.h"

/* ---- in the zygote ---- */

enum {
  kArenaAlignment = 64 << 20, /* of what glibc's malloc maps for the heap of another thread */
  kBlockAlignment = 2 * sizeof(size_t),
  kIsMapped = 2, /* glibc's malloc, in a block's size: it is a mapping of its own */
  kSizeFlags = 7
};

/* The looks stay in ascending order; pages that touch each other are one look. */
static void add_look(struct engine *engine, uintptr_t page) {
  struct hot_pages *hot = &engine->hot;
  struct address_range *looks = hot->looks;
  size_t at = 0;
  while (at < hot->look_count && looks[at].end < page) ++at;
  if (at < hot->look_count && looks[at].start <= page + kPageSize) {
    if (page < looks[at].start) looks[at].start = page;
    if (page == looks[at].end) looks[at].end += kPageSize;
    if (at + 1 == hot->look_count || looks[at + 1].start != looks[at].end) return;
    looks[at].end = looks[at + 1].end;
    --hot->look_count;
    memmove(looks + at + 1, looks + at + 2, (hot->look_count - at - 1) * sizeof *looks);
    return;
  }
  if (hot->look_count == kLooksMax) {
    hot->are_never_enough = 1;
    return;
  }
  memmove(looks + at + 1, looks + at, (hot->look_count - at) * sizeof *looks);
  looks[at] = (struct address_range){page, page + kPageSize};
  ++hot->look_count;
}

/* NULL: it is not in the snapshot. */
static const struct region *region_of(const struct engine *engine, uintptr_t address) {
  for (size_t i = 0; i < engine->region_count; ++i) {
    const struct region *region = &engine->regions[i];
    if (region->start <= address && address < region->end) return region;
  }
  return NULL;
}

/* malloc's note before a large block: how far the mapping's start is away, and the size. What only
 * looks like one costs no more than a look. */
static void look_for_block(struct engine *engine, const struct mapping *mapping,
                           const size_t *words, size_t *found) {
  size_t before = words[0], size = words[1];
  uintptr_t at = (uintptr_t)words;
  if ((size & kSizeFlags) != kIsMapped || before >= at) return;
  uintptr_t start = at - before, bytes = before + (size & ~(size_t)kSizeFlags);
  if (start % kPageSize != 0 || bytes % kPageSize != 0 || bytes == 0) return;
  if (start < mapping->start || bytes > mapping->end - start) return;
  add_look(engine, start);
  add_look(engine, start + bytes - kPageSize);
  ++*found;
}

/* Only pages with content: such a note is never all zeros, and nothing is touched anew. */
static void look_for_blocks(struct engine *engine, const struct mapping *mapping, size_t *found) {
  for (size_t i = 0; i < engine->region_count; ++i) {
    const struct region *region = &engine->regions[i];
    if (region->is_blank || region->start < mapping->start || region->end > mapping->end) continue;
    for (uintptr_t at = region->start; at < region->end; at += kBlockAlignment) {
      uint32_t page = page_number(region, at);
      if (engine->page_slots[page] == kZeroSlot) {
        at = (at | (kPageSize - 1)) + 1 - kBlockAlignment;
      } else {
        look_for_block(engine, mapping, (const size_t *)at, found);
      }
    }
  }
}

/* The heap of another thread is trimmed by the thread that frees the last block in it: by a call
 * inside libc that drops pages, whose blocks need not be written to. It begins with a pointer. */
static int may_hold_arena(const struct engine *engine, const struct mapping *mapping) {
  uintptr_t start = (mapping->start + kArenaAlignment - 1) & ~(uintptr_t)(kArenaAlignment - 1);
  for (; start < mapping->end; start += kArenaAlignment) {
    const struct region *region = region_of(engine, start);
    if (region == NULL || region->is_blank) continue;
    uint32_t page = page_number(region, start);
    if (engine->page_slots[page] == kZeroSlot) continue;
    uintptr_t first = *(const uintptr_t *)start;
    if (first != 0 && first % sizeof(void *) == 0) return 1;
  }
  return 0;
}

static void find_blocks(struct engine *engine) {
  size_t wanted = mallinfo2().hblks, found = 0;
  for (size_t i = 0; i < engine->mapping_count; ++i) {
    const struct mapping *mapping = &engine->mappings[i];
    if (mapping->inode != 0 || mapping->is_shared || mapping->kind != MAPPING_PLAIN ||
        (mapping->prot & PROT_WRITE) == 0) {
      continue;
    }
    engine->hot.are_never_enough |= may_hold_arena(engine, mapping);
    if (wanted > 0) look_for_blocks(engine, mapping, &found);
  }
  engine->hot.are_never_enough |= found < wanted;
}

/* A static executable's calls are all noticed, but not where its heap ended in between. */
void hot_pages_prepare(struct engine *engine) {
  if (!program_is_static()) find_blocks(engine);
  uintptr_t last = (engine->brk - 1) & ~(uintptr_t)(kPageSize - 1);
  if (region_of(engine, last) != NULL) add_look(engine, last);
}

/* ---- which are hot ---- */

void hot_pages_forget(struct engine *engine) {
  engine->hot.count = 0;
  engine->hot.are_known = 0;
}

void hot_page_note(struct engine *engine, const struct region *region, uintptr_t address) {
  struct hot_pages *hot = &engine->hot;
  if (hot->count < kHotMax) hot->pages[hot->count] = (struct hot_page){(char *)address, region};
  ++hot->count;
}

void hot_pages_are_noted(struct engine *engine) {
  if (engine->hot.are_never_enough || engine->hot.count > kHotMax) return;
  struct usage now = usage_now(&engine->usage_at_end.children);
  engine->hot.faults = usage_faults(&now);
  engine->hot.are_known = 1;
}

/* ---- after a request ---- */

/* Memory that is mapped again is not registered; a page that was unmapped and whose mapping grew
 * again is neither there, nor does it have the mark of one that never was. */
static int are_untouched(const struct engine *engine, const struct address_range *pages) {
  struct page_run found = {0, 0, 0};
  struct scan call = {.size = sizeof call,
                      .start = pages->start,
                      .end = pages->end,
                      .runs = (uintptr_t)&found,
                      .runs_max = 1,
                      .all_of = PAGE_WRITE_PROTECTABLE,
                      .any_of = PAGE_THERE | PAGE_SWAPPED,
                      .returned = PAGE_WRITE_PROTECTABLE};
  return raw_call(SYS_ioctl, engine->pagemap_fd, PAGEMAP_SCAN_CALL, &call) == 1 &&
         found.start == pages->start && found.end == pages->end;
}

static int all_blocks_stayed(const struct engine *engine) {
  for (size_t i = 0; i < engine->hot.look_count; ++i) {
    if (!are_untouched(engine, &engine->hot.looks[i])) return 0;
  }
  return 1;
}

int only_hot_pages_changed(const struct engine *engine) {
  return engine->hot.are_known && engine->was_clean &&
         (engine->touched & ~(unsigned)TOUCHED_STREAMS) == 0 && !engine->mappings_changed &&
         engine->address_space_now == engine->address_space &&
         usage_faults(&engine->usage_at_end) == engine->hot.faults && all_blocks_stayed(engine);
}

long hot_pages_put_back(struct engine *engine) {
  long written = 0;
  for (size_t i = 0; i < engine->hot.count; ++i) {
    const struct region *region = engine->hot.pages[i].region;
    char *page = engine->hot.pages[i].address;
    uintptr_t at = (uintptr_t)page;
    if (region->is_blank) {
      written += blank_put_back_run(engine, region, at, at + kPageSize);
    } else {
      uint32_t number = page_number(region, at);
      page_put_back(engine, region, page, page_saved(engine, number));
      ++written;
    }
  }
  engine->hot.sufficed = 1;
  return written;
}
