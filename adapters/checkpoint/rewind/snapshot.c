/* The snapshot: every private writable mapping of the zygote at its checkpoint, and anonymous ones,
 * copied once into a sealed memfd that all its workers share. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/mapped_files.h"
#include "rewind/other_threads.h"
#include "unforked.h"

enum {
  kPagesMax = 1 << 20,        /* of all regions: 4 GiB of addresses */
  kSavedPagesMax = 256 << 10, /* of the memfd: 1 GiB */
  kLargeBytes = 1 << 20, /* of a mapping in which untouched stretches of this length are told: */
  kBlankBytes = 64 * kPageSize,
  kHeapBytes = 100 * 1024,
  kPiecesMax = 100000,
  kCachedMax = 1032
};

static int fail(char *reason, size_t reason_bytes, const char *what) {
  snprintf(reason, reason_bytes, "%s: %s", what, strerror(errno));
  return -1;
}

/* ---- before: what would otherwise be made again in each request ---- */

static void find_volatile_words(struct engine *engine) {
  engine->volatile_words = thread_restartable(__builtin_thread_pointer());
  if (engine->volatile_words != NULL) engine->volatile_bytes = kRestartableBytes;
}

/* Free pieces are scattered over a heap, and a request would write to as many pages. Once they are
 * taken, it allocates contiguous memory at the heap's end. */
static void take_free_pieces(size_t bytes, const char *end, int *left) {
  while (--*left > 0) {
    char *piece = malloc(bytes);
    if (piece == NULL) return;
    if (piece < end) continue;
    /* A small one would be kept for the next request of that size, and be scattered again. */
    if (bytes > kCachedMax) free(piece);
    return;
  }
}

/* Free pieces of the program's heap: that of a static executable is not libc's. */
void heap_take_free_pieces(void) {
  if (program_is_static()) return;
  struct mallinfo2 heap = mallinfo2();
  const char *end = (const char *)sbrk(0) - heap.keepcost;
  int left = kPiecesMax;
  if (heap.arena == 0) return;
  for (size_t bytes = 120 * 1024; bytes > 16 * 1024; bytes -= 1024) {
    take_free_pieces(bytes, end, &left);
  }
  for (size_t bytes = 16 * 1024; bytes >= 24; bytes -= 16) {
    take_free_pieces(bytes - 8, end, &left);
  }
}

static int find_data(struct dl_phdr_info *info, size_t bytes, void *found) {
  struct engine *engine = found;
  (void)bytes;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) == 0) continue;
    engine->data_from = info->dlpi_addr + segment->p_vaddr;
    engine->data_to = engine->data_from + segment->p_memsz;
  }
  return 1; /* the program itself comes first */
}

static void touch_heap(void) {
  if (program_is_static()) return;
  void *block = malloc(kHeapBytes);
  __asm__ volatile("" : : "r"(block) : "memory");
  free(block);
}

int snapshot_prepare(char *reason, size_t reason_bytes) {
  struct engine *engine = mmap(NULL, sizeof *engine, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (engine == MAP_FAILED) return fail(reason, reason_bytes, "no memory for the engine");
  state.engine = engine;
  engine->zygote_pid = getpid();
  engine->left_out = state.left_out;
  dl_iterate_phdr(find_data, engine);
  engine->tid_address = clone_tid_address();
  if (engine->tid_address == NULL) {
    snprintf(reason, reason_bytes, "where libc keeps the thread's id is not known");
    return -1;
  }
  find_volatile_words(engine);
  main_stack_remember(engine);
  touch_heap();
  return 0;
}

/* ---- regions ---- */

/* A library's .bss is the anonymous memory directly after its .data. */
static unsigned part_of(const struct engine *engine, const struct mapping *mapping) {
  if (mapping->kind == MAPPING_STACK) return 0;
  if (mapping->start < engine->data_to && mapping->end > engine->data_from) return PART_MEMORY;
  if (mapping->inode != 0) return PART_LIBRARIES;
  const struct mapping *before = mapping - 1;
  int follows = mapping > engine->mappings && before->end == mapping->start && before->inode != 0;
  return follows && mapping->kind == MAPPING_PLAIN ? PART_LIBRARIES : PART_HEAP;
}

enum region_kind { REGION_SAVED, REGION_BLANK };

/* A mapping of ours next to one of the same kind shares one line with it in the list. */
static void add_piece(struct engine *engine, uintptr_t start, uintptr_t end,
                      const struct mapping *mapping, enum region_kind kind) {
  if (start >= end || engine->region_count == kRegionsMax) return;
  engine->regions[engine->region_count++] = (struct region){.start = start,
                                                            .end = end,
                                                            .first_page = engine->page_count,
                                                            .is_anonymous = mapping->inode == 0,
                                                            .is_blank = kind == REGION_BLANK,
                                                            .prot = mapping->prot,
                                                            .part = part_of(engine, mapping)};
  engine->has_blanks |= kind == REGION_BLANK;
  if (kind == REGION_BLANK) return;
  uintptr_t pages = (end - start) / kPageSize;
  engine->page_count = pages > kPagesMax ? kPagesMax + 1 : engine->page_count + (uint32_t)pages;
}

static int may_have_blanks(const struct engine *engine, const struct mapping *mapping) {
  return mapping->inode == 0 && mapping->kind == MAPPING_PLAIN &&
         mapping->end - mapping->start >= kLargeBytes && engine->region_count < kRegionsMax / 2;
}

/* [from, at) is not listed yet; its blank stretches are too short. */
static void add_region(struct engine *engine, uintptr_t start, uintptr_t end,
                       const struct mapping *mapping) {
  uintptr_t from = start, at = start;
  while (at < end && may_have_blanks(engine, mapping)) {
    struct address_range there;
    int found = pages_next_there(engine->pagemap_fd, at, end, &there);
    if (found < 0) break;
    if (found == 0) there = (struct address_range){end, end};
    if (there.start - at >= kBlankBytes) {
      add_piece(engine, from, at, mapping, REGION_SAVED);
      add_piece(engine, at, there.start, mapping, REGION_BLANK);
      from = there.start;
    }
    at = there.end;
  }
  add_piece(engine, from, end, mapping, REGION_SAVED);
}

static uintptr_t bytes_in_pages(size_t bytes) {
  return (bytes + kPageSize - 1) & ~(uintptr_t)(kPageSize - 1);
}

/* What is in a mapping but not in the snapshot: the engine itself, memory that is wiped. */
static const struct address_range *first_hole(const struct engine *engine, uintptr_t from,
                                              uintptr_t to, struct address_range *own) {
  const struct address_range *first = NULL;
  own->start = (uintptr_t)engine;
  own->end = own->start + bytes_in_pages(sizeof *engine);
  if (own->start < to && own->end > from) first = own;
  for (size_t i = 0; i < engine->wiped_count; ++i) {
    const struct address_range *range = &engine->wiped[i];
    if (range->start >= to || range->end <= from) continue;
    if (first == NULL || range->start < first->start) first = range;
  }
  return first;
}

static void add_regions_of(struct engine *engine, const struct mapping *mapping) {
  struct address_range own;
  const struct address_range *hole;
  uintptr_t at = mapping->start;
  while ((hole = first_hole(engine, at, mapping->end, &own)) != NULL) {
    add_region(engine, at, hole->start, mapping);
    at = hole->end;
  }
  add_region(engine, at, mapping->end, mapping);
}

static int list_regions(struct engine *engine, char *reason, size_t reason_bytes) {
  engine->pagemap_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  for (size_t i = 0; i < engine->mapping_count; ++i) {
    const struct mapping *mapping = &engine->mappings[i];
    if (!mapping_is_saved(mapping)) continue;
    if ((mapping->prot & PROT_READ) == 0) {
      close(engine->pagemap_fd);
      snprintf(reason, reason_bytes, "memory is mapped for writing only");
      return -1;
    }
    add_regions_of(engine, mapping);
    if (engine->page_count > kPagesMax) break;
  }
  close(engine->pagemap_fd);
  if (engine->region_count < kRegionsMax && engine->page_count > 0 &&
      engine->page_count <= kPagesMax) {
    return 0;
  }
  snprintf(reason, reason_bytes, "%u pages in %zu writable mappings are too many to rewind",
           engine->page_count, engine->region_count);
  return -1;
}

static int read_mappings(struct engine *engine, char *reason, size_t reason_bytes) {
  int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  mapped_files_forget();
  long count = fd < 0 ? -1
                      : maps_read(fd, engine->maps_text, sizeof engine->maps_text, engine->mappings,
                                  mapped_file_note);
  if (fd >= 0) close(fd);
  if (count < 0) {
    snprintf(reason, reason_bytes, "the list of its mappings cannot be read, or is too long");
    return -1;
  }
  engine->mapping_count = (size_t)count;
  return 0;
}

/* ---- contents ---- */

struct copy {
  int memfd, pagemap;
  uint32_t slots;
};

enum { kPagemapChunk = 512 };

static int copy_page(struct engine *engine, struct copy *copy, const char *page, uint32_t number) {
  engine->page_slots[number] = kZeroSlot;
  if (page_is_zero(page)) return 0;
  if (copy->slots == kSavedPagesMax) {
    errno = ENOMEM;
    return -1;
  }
  if (pwrite(copy->memfd, page, kPageSize, (off_t)copy->slots * kPageSize) != kPageSize) return -1;
  engine->page_slots[number] = copy->slots++;
  return 0;
}

static const uint64_t kGuard = 1ull << 58; /* whoever touches the page is ended (Linux 6.15) */

/* Pages of anonymous memory that nobody touched are not touched here either. */
static int copy_region(struct engine *engine, struct copy *copy, const struct region *region) {
  if (region->is_blank) return 0;
  uint64_t entries[kPagemapChunk];
  uint32_t pages = (uint32_t)((region->end - region->start) / kPageSize);
  for (uint32_t first = 0; first < pages; first += kPagemapChunk) {
    uint32_t count = pages - first < kPagemapChunk ? pages - first : kPagemapChunk;
    off_t at = (off_t)((region->start / kPageSize + first) * sizeof *entries);
    if (pread(copy->pagemap, entries, count * sizeof *entries, at) !=
        (ssize_t)(count * sizeof *entries)) {
      return -1;
    }
    for (uint32_t i = 0; i < count; ++i) {
      int is_there = (entries[i] >> 62) != 0;
      uint32_t number = region->first_page + first + i;
      engine->page_slots[number] = kZeroSlot;
      if (region->is_anonymous && !is_there) continue;
      if ((entries[i] & kGuard) != 0) {
        errno = EFAULT;
        return -1;
      }
      const char *page = (const char *)region->start + (size_t)(first + i) * kPageSize;
      if (copy_page(engine, copy, page, number) != 0) return -1;
    }
  }
  return 0;
}

static int seal(struct engine *engine, const struct copy *copy) {
  engine->saved_bytes = (size_t)copy->slots * kPageSize;
  if (fcntl(copy->memfd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) !=
      0) {
    return -1;
  }
  void *saved =
      mmap(NULL, engine->saved_bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, copy->memfd, 0);
  if (saved == MAP_FAILED) return -1;
  engine->saved = saved;
  return 0;
}

/* A limit on the files that the program writes must not apply to the snapshot, which is a file,
 * too. */
static struct rlimit file_limit_lift(void) {
  struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
  raw_call(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit);
  struct rlimit lifted = {limit.rlim_max, limit.rlim_max};
  if (limit.rlim_cur != limit.rlim_max) {
    raw_call(SYS_prlimit64, 0, RLIMIT_FSIZE, &lifted, NULL);
  }
  return limit;
}

static int copy_all(struct engine *engine) {
  struct rlimit limit = file_limit_lift();
  struct copy copy = {memfd_create("cgibridge-snapshot", MFD_CLOEXEC | MFD_ALLOW_SEALING),
                      open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), 0};
  int result = copy.memfd < 0 || copy.pagemap < 0 ? -1 : 0;
  for (size_t i = 0; result == 0 && i < engine->region_count; ++i) {
    result = copy_region(engine, &copy, &engine->regions[i]);
  }
  if (result == 0) result = seal(engine, &copy);
  int failure = errno;
  if (copy.memfd >= 0) close(copy.memfd);
  if (copy.pagemap >= 0) close(copy.pagemap);
  if (limit.rlim_cur != limit.rlim_max) {
    raw_call(SYS_prlimit64, 0, RLIMIT_FSIZE, &limit, NULL);
  }
  errno = failure;
  return result;
}

static int map_tables(struct engine *engine) {
  size_t slots = bytes_in_pages(engine->page_count * sizeof *engine->page_slots);
  size_t heat = bytes_in_pages(engine->page_count);
  char *tables = mmap(NULL, slots + heat, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (tables == MAP_FAILED) return -1;
  engine->page_slots = (uint32_t *)(void *)tables;
  engine->page_heat = (uint8_t *)tables + slots;
  return 0;
}

/* Where a library is mapped; the same file mapped elsewhere does not count as one. */
static int is_in_library(struct dl_phdr_info *info, size_t bytes, void *address) {
  (void)bytes;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    uintptr_t start = info->dlpi_addr + (segment->p_vaddr & ~(ElfW(Addr))(kPageSize - 1));
    uintptr_t end = info->dlpi_addr + segment->p_vaddr + segment->p_memsz;
    uintptr_t at = *(const uintptr_t *)address;
    if (segment->p_type == PT_LOAD && at >= start && at < end) return 1;
  }
  return 0;
}

static int has_data_files(const struct engine *engine) {
  for (size_t i = 0; i < engine->mapping_count; ++i) {
    const struct mapping *mapping = &engine->mappings[i];
    uintptr_t start = mapping->start;
    if (mapping->inode == 0 || (mapping->prot & PROT_WRITE) != 0) continue;
    if (dl_iterate_phdr(is_in_library, &start) == 0) return 1;
  }
  return 0;
}

static int find_advised(struct engine *engine, char *reason, size_t reason_bytes) {
  if (wiped_find(engine) != 0) {
    snprintf(reason, reason_bytes, "which of its memory a fork empties is not known");
    return -1;
  }
  if (unforked_share() == 0) return 0;
  snprintf(reason, reason_bytes, "memory that is kept from children cannot be given to workers");
  return -1;
}

int snapshot_take(char *reason, size_t reason_bytes) {
  struct engine *engine = state.engine;
  engine->brk = (uintptr_t)raw_call(SYS_brk, 0);
  if (find_advised(engine, reason, reason_bytes) != 0 ||
      read_mappings(engine, reason, reason_bytes) != 0 ||
      list_regions(engine, reason, reason_bytes) != 0) {
    return -1;
  }
  /* A page that is written should be one of 4 KiB, not of 2 MiB. */
  for (size_t i = 0; i < engine->region_count; ++i) {
    const struct region *region = &engine->regions[i];
    raw_call(SYS_madvise, region->start, region->end - region->start, MADV_NOHUGEPAGE);
  }
  if (map_tables(engine) != 0 || copy_all(engine) != 0) {
    return fail(reason, reason_bytes,
                errno == EFAULT ? "memory with guards (MADV_GUARD_INSTALL)" : "the snapshot");
  }
  engine->has_data_files = has_data_files(engine);
  hot_pages_prepare(engine);
  return read_mappings(engine, reason, reason_bytes);
}
