/* Calls that map, unmap and protect memory. How much is mapped is compared at each reset, and
 * writable pages are found again by their registration; but if read-only memory is replaced by as
 * much, nothing looks different. So a call that replaces memory of the checkpoint has every mapping
 * checked, or retires the worker; see rare_calls.c. */
#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "calls/clean.h"
#include "calls/real_calls.h"
#include "ending.h"
#include "raw_call.h"
#include "rewind/engine.h"

/* ---- what stood at the checkpoint ---- */

/* The first mapping that ends after this address. */
static size_t first_behind(const struct engine *engine, uintptr_t address) {
  size_t low = 0, high = engine->mapping_count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (engine->mappings[middle].end <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static unsigned what_stood(const struct mapping *mapping) {
  if (mapping_is_saved(mapping)) return STOOD_SAVED | (mapping->inode != 0 ? STOOD_FILE : 0);
  return mapping_is_reserved(mapping) ? STOOD_RESERVED : STOOD_CONSTANT;
}

/* The engine's own memory, which stands beside the program's and is in no snapshot: what a program
 * does beyond the end of its own would be done to that. */
static int is_of_engine(const struct engine *engine, uintptr_t from, uintptr_t to) {
  const struct address_range parts[] = {
      {(uintptr_t)engine, (uintptr_t)(engine + 1)},
      {(uintptr_t)engine->saved, (uintptr_t)engine->saved + engine->saved_bytes},
      {(uintptr_t)engine->page_slots, (uintptr_t)(engine->page_slots + engine->page_count)},
      {(uintptr_t)engine->page_heat, (uintptr_t)engine->page_heat + engine->page_count}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    if (from < parts[i].end && parts[i].start < to) return 1;
  }
  return 0;
}

unsigned memory_stood(const void *start, size_t bytes) {
  const struct engine *engine = state.engine;
  uintptr_t from = (uintptr_t)start, to = from + bytes;
  unsigned found = 0;
  if (engine == NULL || state.role != ROLE_ANSWERING) return 0;
  if (state.reset == RESET_REWIND && is_of_engine(engine, from, to)) found = STOOD_CONSTANT;
  for (size_t i = first_behind(engine, from); i < engine->mapping_count; ++i) {
    const struct mapping *mapping = &engine->mappings[i];
    if (mapping->start >= to) break;
    found |= what_stood(mapping);
  }
  return found;
}

/* Memory in this range is mapped again or gone. What was saved is put back with its content. */
static void note_replaced(const void *start, size_t bytes, const char *call) {
  unsigned stood = memory_stood(start, bytes);
  readable_page = 0;
  if ((stood & STOOD_SAVED) != 0) call_touch(TOUCHED_MAPPINGS | TOUCHED_PAGES);
  if ((stood & STOOD_FILE) != 0) call_touch(TOUCHED_FILE_PAGES);
  if ((stood & STOOD_RESERVED) != 0) call_touch(TOUCHED_RESERVED);
  if ((stood & STOOD_CONSTANT) != 0) call_doubt(RETIRED_MAPPINGS, call);
}

/* The same, if nothing is there any more: a mapping of that size elsewhere may hide it. */
static void note_removed(const void *start, size_t bytes, const char *call) {
  note_replaced(start, bytes, call);
  if (memory_stood(start, bytes) != 0) call_touch(TOUCHED_MAPPINGS);
}

/* For memory that can only be executed the kernel takes a protection key, which the process keeps.
 */
static void note_prot(int prot, const char *call) {
  const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
  if ((prot & all) == PROT_EXEC) call_doubt(RETIRED_MAPPINGS, call);
}

void note_mmap(const void *start, size_t bytes, int prot, int flags, int fd) {
  note_prot(prot, "mmap of memory that can only be executed");
  if (fd >= 0) call_touch(TOUCHED_FILES);
  if ((flags & MAP_FIXED) != 0) note_replaced(start, bytes, "mmap over what stood");
}

void note_munmap(const void *start, size_t bytes) {
  if ((memory_stood(start, bytes) & STOOD_CONSTANT) != 0) ending_leave();
  note_removed(start, bytes, "munmap of what stood");
}

void note_mremap(const void *old, size_t old_bytes, size_t bytes, int flags, const void *fixed) {
  note_removed(old, old_bytes, "mremap of what stood");
  /* Memory that is moved there brings its advice along. */
  if ((flags & MREMAP_FIXED) != 0 && memory_stood(fixed, bytes) != 0) {
    call_doubt(RETIRED_MAPPINGS, "mremap over what stood");
  }
}

void note_mprotect(const void *start, size_t bytes, int prot) {
  unsigned stood = memory_stood(start, bytes);
  readable_page = 0;
  note_prot(prot, "mprotect of memory that can only be executed");
  if ((stood & STOOD_RESERVED) != 0) call_touch(TOUCHED_RESERVED);
  if ((stood & (STOOD_SAVED | STOOD_CONSTANT)) != 0) call_touch(TOUCHED_MAPPINGS);
  if ((prot & PROT_WRITE) != 0 && (stood & STOOD_CONSTANT) != 0) {
    call_doubt(RETIRED_MAPPINGS, "mprotect to write to constants");
  }
}

void note_advice(const void *start, size_t bytes, enum retirement kind, const char *call) {
  unsigned stood = memory_stood(start, bytes);
  if ((stood & STOOD_RESERVED) != 0) call_touch(TOUCHED_RESERVED);
  if ((stood & (STOOD_SAVED | STOOD_CONSTANT)) != 0) call_doubt(kind, call);
}

void note_shmat(int flags) {
  call_touch(TOUCHED_FILES);
  if ((flags & SHM_REMAP) != 0) call_doubt(RETIRED_MAPPINGS, "shmat over what is mapped");
}

int memory_stays(const void *start, size_t bytes) {
  const struct engine *engine = state.engine;
  uintptr_t from = (uintptr_t)start;
  if (engine == NULL || !ending_frees_all()) return 0;
  size_t i = first_behind(engine, from);
  if (i == engine->mapping_count) return 0;
  const struct mapping *mapping = &engine->mappings[i];
  int contains = mapping->start <= from && bytes <= mapping->end - from;
  return contains && mapping_is_saved(mapping) && mapping->inode == 0;
}

/* ---- the calls ---- */

INTERPOSED void *mmap(void *start, size_t bytes, int prot, int flags, int fd, off_t offset) {
  note_mmap(start, bytes, prot, flags, fd);
  return (void *)call_result(libc_call(SYS_mmap, start, bytes, prot, flags, fd, offset));
}

INTERPOSED void *mmap64(void *start, size_t bytes, int prot, int flags, int fd, off_t offset) {
  return mmap(start, bytes, prot, flags, fd, offset);
}

INTERPOSED int munmap(void *start, size_t bytes) {
  if (memory_stays(start, bytes)) return 0;
  note_munmap(start, bytes);
  return (int)call_result(libc_call(SYS_munmap, start, bytes));
}

INTERPOSED void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...) {
  void *fixed = NULL;
  if ((flags & MREMAP_FIXED) != 0) {
    va_list list;
    va_start(list, flags);
    fixed = va_arg(list, void *);
    va_end(list);
  }
  note_mremap(old, old_bytes, bytes, flags, fixed);
  return (void *)call_result(libc_call(SYS_mremap, old, old_bytes, bytes, flags, fixed));
}

INTERPOSED int mprotect(void *start, size_t bytes, int prot) {
  if (prot == PROT_NONE && memory_stays(start, bytes)) return 0;
  note_mprotect(start, bytes, prot);
  return (int)call_result(libc_call(SYS_mprotect, start, bytes, prot));
}

INTERPOSED int remap_file_pages(void *start, size_t bytes, int prot, size_t page, int flags) {
  note_replaced(start, bytes, "remap_file_pages of what stood");
  return (int)call_result(libc_call(SYS_remap_file_pages, start, bytes, prot, page, flags));
}

INTERPOSED void *shmat(int id, const void *start, int flags) {
  note_shmat(flags);
  return (void *)call_result(libc_call(SYS_shmat, id, start, flags));
}

/* ---- what libc maps by itself ---- */

/* A locale's mapped files may be unmapped, and another's may take their place. (Libraries have
 * writable memory, whose loss the reset notices.) */
void note_locale(void) {
  if (state.engine != NULL && state.engine->has_data_files) call_touch(TOUCHED_MAPPINGS);
}

INTERPOSED void freelocale(locale_t locale) {
  note_locale();
  REAL(freelocale)(locale);
}

INTERPOSED void __freelocale(locale_t locale) {
  freelocale(locale);
}
