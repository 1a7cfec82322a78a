/* The memory of a resting worker, compared with the snapshot; code and constants with the zygote's
 * own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "rewind/findings.h"
#include "unforked.h"

static const uint64_t kPresent = 1ull << 63, kSwapped = 1ull << 62;
enum { kChunkPages = 64 };
static const char kZeros[kPageSize];

/* The kernel's own words in the thread's block belong to the worker. */
static void level_volatile_words(const struct engine *engine, char *theirs, uintptr_t address,
                                 size_t bytes, const char *ours) {
  uintptr_t words = (uintptr_t)engine->volatile_words;
  if (words < address || words >= address + bytes) return;
  memcpy(theirs + (words - address), ours + (words - address), engine->volatile_bytes);
}

static const char *expected_page(const struct engine *engine, uint32_t page) {
  uint32_t slot = engine->page_slots[page];
  return slot == kZeroSlot ? kZeros : engine->saved + (size_t)slot * kPageSize;
}

static long read_theirs(const struct findings *findings, uintptr_t address, char *buffer,
                        size_t bytes) {
  if (findings->memory >= 0) return pread(findings->memory, buffer, bytes, (off_t)address);
  struct iovec here = {buffer, bytes}, there = {(void *)address, bytes};
  return process_vm_readv(findings->pid, &here, 1, &there, 1, 0);
}

static void compare_page(struct findings *findings, const struct engine *engine, char *theirs,
                         const char *ours, uintptr_t address) {
  char expected[kPageSize];
  memcpy(expected, ours, kPageSize);
  level_volatile_words(engine, expected, address, kPageSize, theirs - 0);
  ++findings->pages;
  if (memcmp(theirs, expected, kPageSize) == 0) return;
  size_t at = 0;
  while (theirs[at] == expected[at]) ++at;
  find(findings, "memory at %#lx differs", (unsigned long)(address + at));
}

/* Of anonymous memory only pages that exist are read: reading the others would create them. */
static void compare_region(struct findings *findings, const struct engine *engine,
                           const struct region *region, int pagemap) {
  char *buffer = findings->scratch->page;
  uint32_t pages = (uint32_t)((region->end - region->start) / kPageSize);
  for (uint32_t first = 0; first < pages; first += kChunkPages) {
    uint32_t count = pages - first < kChunkPages ? pages - first : kChunkPages;
    uintptr_t address = region->start + (uintptr_t)first * kPageSize;
    uint64_t entries[kChunkPages];
    ssize_t bytes = (ssize_t)(count * sizeof *entries);
    if (pread(pagemap, entries, (size_t)bytes, (off_t)(address / kPageSize * 8)) != bytes) {
      return find(findings, "its page map cannot be read");
    }
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t page = region->first_page + first + i;
      uintptr_t at = address + (uintptr_t)i * kPageSize;
      int is_there = (entries[i] & findings->there) != 0;
      if (!is_there && engine->page_slots[page] == kZeroSlot) continue;
      if (read_theirs(findings, at, buffer, kPageSize) != kPageSize) {
        find(findings, "memory at %#lx cannot be read: %s", (unsigned long)at, strerror(errno));
        continue;
      }
      compare_page(findings, engine, buffer, expected_page(engine, page), at);
    }
  }
}

/* The pages that exist in a blank region have to be zeros. */
static void compare_blank(struct findings *findings, const struct engine *engine,
                          const struct region *blank, int pagemap) {
  struct address_range run;
  for (uintptr_t from = blank->start; from < blank->end; from = run.end) {
    if (pages_next_there(pagemap, from, blank->end, &run) <= 0) return;
    for (uintptr_t at = run.start; at < run.end; at += kPageSize) {
      if (read_theirs(findings, at, findings->scratch->page, kPageSize) != kPageSize) continue;
      compare_page(findings, engine, findings->scratch->page, kZeros, at);
    }
  }
}

/* What is empty in a forked child. */
static void compare_wiped(struct findings *findings, const struct address_range *range,
                          int pagemap) {
  char *buffer = findings->scratch->page;
  for (uintptr_t at = range->start; at < range->end; at += kPageSize) {
    uint64_t entry = 0;
    if (pread(pagemap, &entry, sizeof entry, (off_t)(at / kPageSize * 8)) != sizeof entry) return;
    if ((entry & findings->there) == 0 || read_theirs(findings, at, buffer, kPageSize) != kPageSize)
      continue;
    if (memcmp(buffer, kZeros, kPageSize) == 0) continue;
    return find(findings, "memory at %#lx is not empty, as it is in a child", (unsigned long)at);
  }
}

static int is_constant(const struct engine *engine, const struct mapping *mapping) {
  uintptr_t ours[] = {(uintptr_t)engine, (uintptr_t)engine->page_slots, (uintptr_t)engine->saved};
  if (mapping->is_shared || mapping_is_saved(mapping) || mapping->kind == MAPPING_KERNEL ||
      (mapping->prot & PROT_READ) == 0) {
    return 0;
  }
  for (size_t i = 0; i < sizeof ours / sizeof *ours; ++i) {
    if (ours[i] >= mapping->start && ours[i] < mapping->end) return 0;
  }
  return 1;
}

/* Code and constants: only pages that became the worker's own can differ from the zygote's. */
static void compare_constants(struct findings *findings, const struct engine *engine,
                              const struct mapping *mapping, int pagemap) {
  char *buffer = findings->scratch->page;
  const uint64_t kFilePage = 1ull << 61;
  for (uintptr_t at = mapping->start; at < mapping->end; at += kPageSize) {
    uint64_t entry = 0;
    if (pread(pagemap, &entry, sizeof entry, (off_t)(at / kPageSize * 8)) != sizeof entry) return;
    if ((entry & kPresent) == 0 || (entry & kFilePage) != 0) continue;
    if (read_theirs(findings, at, buffer, kPageSize) != kPageSize) continue;
    compare_page(findings, engine, buffer, (const char *)at, at);
  }
}

/* The first page of it that is there and is not zeros, or its end. Through the file, which also
 * shows what the worker itself may not read. */
static uintptr_t first_in_use(const struct findings *findings, const struct mapping *mapping,
                              int pagemap, int memory) {
  char *buffer = findings->scratch->page;
  struct address_range run;
  for (uintptr_t from = mapping->start; from < mapping->end; from = run.end) {
    if (pages_next_there(pagemap, from, mapping->end, &run) <= 0) break;
    for (uintptr_t at = run.start; at < run.end; at += kPageSize) {
      if (memory < 0 || pread(memory, buffer, kPageSize, (off_t)at) != kPageSize) return at;
      if (memcmp(buffer, kZeros, kPageSize) != 0) return at;
    }
  }
  return mapping->end;
}

/* The kernel's page of zeros stays where a program has read before it reserved the room. */
static void compare_reserved(struct findings *findings, const struct mapping *mapping,
                             int pagemap) {
  struct address_range there;
  if (pages_next_there(pagemap, mapping->start, mapping->end, &there) <= 0) return;
  int memory = open_of(findings->pid, "mem");
  uintptr_t at = first_in_use(findings, mapping, pagemap, memory);
  if (memory >= 0) close(memory);
  if (at < mapping->end) find(findings, "reserved room at %#lx is not empty", (unsigned long)at);
}

static void compare_all(struct findings *findings, const struct engine *engine) {
  int pagemap = open_of(findings->pid, "pagemap");
  if (pagemap < 0) return find(findings, "its page map cannot be opened: %s", strerror(errno));
  for (size_t i = 0; i < engine->region_count; ++i) {
    const struct region *region = &engine->regions[i];
    if (region->is_blank) {
      compare_blank(findings, engine, region, pagemap);
    } else {
      compare_region(findings, engine, region, pagemap);
    }
  }
  for (size_t i = 0; i < engine->wiped_count; ++i) {
    compare_wiped(findings, &engine->wiped[i], pagemap);
  }
  for (size_t i = 0; i < engine->mapping_count; ++i) {
    const struct mapping *mapping = &engine->mappings[i];
    if (is_constant(engine, mapping)) compare_constants(findings, engine, mapping, pagemap);
    if (mapping_is_reserved(mapping)) compare_reserved(findings, mapping, pagemap);
  }
  close(pagemap);
}

static void compare_mappings(struct findings *findings, const struct engine *engine) {
  struct mapping *theirs = findings->scratch->mappings;
  int fd = open_of(findings->pid, "maps");
  long count = fd < 0 ? -1
                      : maps_read(fd, findings->scratch->maps_text,
                                  sizeof findings->scratch->maps_text, theirs, NULL);
  if (fd >= 0) close(fd);
  if (count < 0) return find(findings, "its mappings cannot be read");
  for (size_t i = 0; i < engine->mapping_count || i < (size_t)count; ++i) {
    if (i < engine->mapping_count && i < (size_t)count) {
      const struct mapping *a = &engine->mappings[i], *b = &theirs[i];
      if (a->start == b->start && a->end == b->end && a->prot == b->prot && a->inode == b->inode &&
          a->is_shared == b->is_shared) {
        continue;
      }
    }
    return find(findings, "mapping %zu differs, at %#lx", i,
                (unsigned long)(i < (size_t)count ? theirs[i].start : engine->mappings[i].start));
  }
}

/* ---- what the program has advised ---- */

/* One list of ranges, compared while the worker's mappings are read. */
struct advised {
  struct findings *findings;
  const struct address_range *wanted;
  size_t count, at;
  uintptr_t done; /* how far the range at `at` was found */
  int (*is_advised)(const struct smaps_entry *entry);
};

static int is_unforked(const struct smaps_entry *entry) {
  return entry->is_private && smaps_has(entry, "dc");
}

static int compare_advised(const struct smaps_entry *entry, void *context) {
  struct advised *advised = context;
  if (!advised->is_advised(entry)) return 0;
  for (uintptr_t at = entry->range.start; at < entry->range.end;) {
    const struct address_range *range =
        advised->at < advised->count ? &advised->wanted[advised->at] : NULL;
    if (range != NULL && advised->done < range->start) advised->done = range->start;
    if (range == NULL || at != advised->done) {
      find(advised->findings, "memory at %#lx is advised otherwise", (unsigned long)at);
      return 1;
    }
    at = advised->done = entry->range.end < range->end ? entry->range.end : range->end;
    if (at == range->end) ++advised->at;
  }
  return 0;
}

static int compare_entry(const struct smaps_entry *entry, void *both) {
  struct advised *advised = both;
  return compare_advised(entry, &advised[0]) || compare_advised(entry, &advised[1]);
}

static void compare_advice(struct findings *findings, const struct engine *engine) {
  size_t unforked_count;
  const struct address_range *unforked = unforked_ranges(&unforked_count);
  struct advised both[2] = {
      {findings, engine->wiped, engine->wiped_count, 0, 0, memory_is_wiped},
      {findings, unforked, unforked_count, 0, 0, is_unforked},
  };
  int result = smaps_each(open_of(findings->pid, "smaps"), compare_entry, both);
  if (result < 0) find(findings, "its smaps cannot be read");
  for (int i = 0; i < 2 && result == 0; ++i) {
    if (both[i].at == both[i].count) continue;
    find(findings, "memory at %#lx is advised otherwise",
         (unsigned long)both[i].wanted[both[i].at].start);
  }
}

static int has_swapped(const struct findings *findings) {
  read_text(findings->pid, "status", findings->scratch->theirs);
  const char *line = strstr(findings->scratch->theirs, "\nVmSwap:");
  return line == NULL || strtoul(line + strlen("\nVmSwap:"), NULL, 10) != 0;
}

/* A page that is protected before it exists has the bit of one that was swapped out: reading all of
 * those would create an allocator's untouched gigabyte. */
static void compare_all_and_swap(struct findings *findings, const struct engine *engine) {
  findings->there = has_swapped(findings) ? kPresent | kSwapped : kPresent;
  compare_all(findings, engine);
  if (findings->there != kPresent || !has_swapped(findings)) return;
  findings->there |= kSwapped;
  compare_all(findings, engine);
}

/* A sandbox or a container may forbid process_vm_readv(), but not the file that shows the same. */
static int may_read(struct findings *findings, const struct engine *engine) {
  static int told;
  char byte;
  if (read_theirs(findings, engine->regions[0].start, &byte, 1) == 1) return 1;
  if (errno != EPERM && errno != ENOSYS) return 1;
  findings->memory = open_of(findings->pid, "mem");
  if (findings->memory >= 0) return 1;
  static const char kText[] = "the memory of workers cannot be verified here";
  if (!told) channel_note(NOTE_WARNING, kText, sizeof kText - 1);
  told = 1;
  return 0;
}

void compare_memory(struct findings *findings, const struct engine *engine) {
  compare_mappings(findings, engine);
  compare_advice(findings, engine);
  if (may_read(findings, engine)) compare_all_and_swap(findings, engine);
  if (findings->memory >= 0) close(findings->memory);
}
