/* The process's mappings: read, and put back in their places. Runs while the program's memory is
 * between two states: raw calls only. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/mapped_files.h"

static uint64_t number(const char **text, unsigned base) {
  uint64_t value = 0;
  for (;; ++*text) {
    char c = **text;
    unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                            : 99;
    if (digit >= base) return value;
    value = value * base + digit;
  }
}

static int kind_of(const char *name) {
  if (strncmp(name, "[heap]", 6) == 0) return MAPPING_HEAP;
  if (strncmp(name, "[stack]", 7) == 0) return MAPPING_STACK;
  if (name[0] == '[' && name[1] == 'v') return MAPPING_KERNEL; /* vdso, vvar, vsyscall */
  if (strncmp(name, "[uprobes]", 9) == 0) return MAPPING_KERNEL;
  return MAPPING_PLAIN;
}

/* "from-to perms offset major:minor inode   path"; returns the path. */
static const char *parse(const char *line, struct mapping *mapping) {
  memset(mapping, 0, sizeof *mapping);
  mapping->start = number(&line, 16);
  ++line;
  mapping->end = number(&line, 16);
  ++line;
  mapping->prot = (uint8_t)((line[0] == 'r' ? PROT_READ : 0) | (line[1] == 'w' ? PROT_WRITE : 0) |
                            (line[2] == 'x' ? PROT_EXEC : 0));
  mapping->is_shared = line[3] == 's';
  line += 5;
  mapping->offset = number(&line, 16);
  ++line;
  mapping->device = (uint32_t)number(&line, 16) << 16;
  ++line;
  mapping->device |= (uint32_t)number(&line, 16);
  ++line;
  mapping->inode = number(&line, 10);
  while (*line == ' ') ++line;
  mapping->kind = kind_of(line);
  return line;
}

int mapping_is_saved(const struct mapping *mapping) {
  if (mapping->is_shared) return 0;
  if ((mapping->prot & PROT_WRITE) != 0) return 1;
  return mapping->inode == 0 && mapping->kind == MAPPING_PLAIN && (mapping->prot & PROT_READ) != 0;
}

static int is_same_kind(const struct mapping *a, const struct mapping *b) {
  return a->prot == b->prot && a->is_shared == b->is_shared && a->device == b->device &&
         a->inode == b->inode && a->kind == b->kind;
}

/* Whether b, which begins above a's start, maps what a would map there. */
static int continues(const struct mapping *a, const struct mapping *b) {
  return is_same_kind(a, b) && (a->inode == 0 || b->offset - a->offset == b->start - a->start);
}

long maps_read(int fd, char *text, size_t text_bytes, struct mapping *list, mapping_seen *see) {
  size_t kept = 0;
  long count = 0, offset = 0;
  for (;;) {
    long got = raw_call(SYS_pread64, fd, text + kept, text_bytes - 1 - kept, offset);
    if (got < 0) return -1;
    if (got == 0) return kept == 0 ? count : -1;
    offset += got;
    text[kept + (size_t)got] = '\0';
    char *line = text;
    for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
      *end = '\0';
      if (count == kMappingsMax) return -1;
      const char *path = parse(line, &list[count]);
      if (see != NULL) see(&list[count], path);
      if (count > 0 && list[count - 1].end == list[count].start &&
          continues(&list[count - 1], &list[count])) {
        list[count - 1].end = list[count].end;
      } else {
        ++count;
      }
    }
    kept = strlen(line);
    memmove(text, line, kept);
  }
}

/* Whether the pages elsewhere are as before, and those of memory that was mapped again are the
 * snapshot's. */
static int is_filled_again(struct engine *engine, const struct mapping *then, uintptr_t start,
                           uintptr_t end) {
  if (engine->tracking != TRACKING_SCAN) return 0;
  return !mapping_is_saved(then) || scan_fill_again(engine, start, end) == 0;
}

/* Anonymous memory: the snapshot has all that was in it, or there was nothing. */
static int can_be_mapped_again(const struct mapping *then) {
  return (mapping_is_saved(then) && then->inode == 0) || mapping_is_reserved(then);
}

static enum retirement lost(struct engine *engine, const struct mapping *then, uintptr_t start,
                            uintptr_t end, int *changed) {
  if (mapped_file_put_back(then, start, end) == 0) return RETIRED_NOT;
  if (!can_be_mapped_again(then)) {
    strcpy(engine->reason, "a mapping of a file that stood at the checkpoint is gone");
    return RETIRED_MAPPINGS;
  }
  long at = raw_call(SYS_mmap, start, end - start, then->prot,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE |
                         (then->prot == PROT_NONE ? MAP_NORESERVE : 0),
                     -1, 0);
  if (at == (long)start) {
    if (!is_filled_again(engine, then, start, end)) *changed = 1;
    return RETIRED_NOT;
  }
  strcpy(engine->reason, "memory that stood at the checkpoint cannot be mapped again");
  return RETIRED_MAPPINGS;
}

/* For example libc's, for a heap to grow, which it opens by an internal call; V8's, for code;
 * Java's. */
int mapping_is_reserved(const struct mapping *mapping) {
  return mapping->prot == PROT_NONE && mapping->inode == 0 && !mapping->is_shared;
}

static enum retirement reserve(struct engine *engine, uintptr_t start, uintptr_t end) {
  long at = raw_call(SYS_mmap, start, end - start, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  if (at == (long)start) return RETIRED_NOT;
  strcpy(engine->reason, "room that was kept free at the checkpoint cannot be freed again");
  return RETIRED_MAPPINGS;
}

enum retirement reservations_put_back(struct engine *engine) {
  enum retirement why = RETIRED_NOT;
  for (size_t i = 0; i < engine->mapping_count && why == RETIRED_NOT; ++i) {
    const struct mapping *mapping = &engine->mappings[i];
    if (mapping_is_reserved(mapping)) why = reserve(engine, mapping->start, mapping->end);
  }
  return why;
}

/* One stretch of addresses that is mapped now and was mapped then. */
static enum retirement compare(struct engine *engine, const struct mapping *then,
                               const struct mapping *now, uintptr_t start, uintptr_t end,
                               int *changed) {
  struct mapping as_now = *now;
  as_now.prot = then->prot;
  as_now.start = start;
  as_now.offset = now->offset + (start - now->start);
  struct mapping as_then = *then;
  if (mapping_is_reserved(then) && now->inode == 0 && !now->is_shared && now->prot != then->prot) {
    return reserve(engine, start, end);
  }
  if (!continues(&as_then, &as_now) &&
      !(as_then.inode == 0 && as_now.inode == 0 && as_then.is_shared == as_now.is_shared)) {
    if (now->kind != MAPPING_KERNEL && mapped_file_put_back(then, start, end) == 0)
      return RETIRED_NOT;
    /* Memory that was given back, and the kernel has put a file there: a library, for example. */
    if (can_be_mapped_again(then) && now->kind == MAPPING_PLAIN &&
        raw_call(SYS_munmap, start, end - start) == 0) {
      return lost(engine, then, start, end, changed);
    }
    strcpy(engine->reason, "a mapping that stood at the checkpoint was replaced");
    return RETIRED_MAPPINGS;
  }
  if (now->prot == then->prot) return RETIRED_NOT;
  /* Pages keep their marks through a change of protection; memory that was mapped anew is not
   * registered, which the scan will find. */
  if (engine->tracking != TRACKING_SCAN) *changed = 1;
  if (!mapping_is_saved(then) && (now->prot & PROT_WRITE) != 0) {
    strcpy(engine->reason, "memory that was not writable at the checkpoint became so");
    return RETIRED_MAPPINGS;
  }
  if (then->kind == MAPPING_STACK && (now->prot & ~then->prot & PROT_EXEC) != 0) {
    /* By loading a library, which libc notes among its constants. */
    strcpy(engine->reason, "the stack became executable");
    return RETIRED_MAPPINGS;
  }
  if (raw_call(SYS_mprotect, start, end - start, then->prot) == 0) return RETIRED_NOT;
  strcpy(engine->reason, "a protection that stood at the checkpoint cannot be put back");
  return RETIRED_MAPPINGS;
}

/* Unmaps what is in [from, to) now; returns whether all of it could be unmapped. */
static int unmap_between(struct engine *engine, long count, uintptr_t from, uintptr_t to) {
  for (long i = 0; i < count; ++i) {
    const struct mapping *now = &engine->now[i];
    uintptr_t start = now->start > from ? now->start : from;
    uintptr_t end = now->end < to ? now->end : to;
    if (start >= end || now->kind == MAPPING_KERNEL) continue;
    if (raw_call(SYS_munmap, start, end - start) != 0) return 0;
  }
  return 1;
}

/* struct procmap_query of linux/fs.h as of Linux 6.11. */
struct query {
  uint64_t size, flags, address, start, end, permissions, page_size, offset, inode;
  uint32_t major, minor, name_bytes, build_id_bytes;
  uint64_t name, build_id;
};
#define PROCMAP_QUERY_CALL _IOWR('f', 17, struct query)
enum { kThisOrNext = 0x10 };

/* Unmaps what is in a gap between two mappings of the checkpoint. */
static int clear_gap(struct engine *engine, uintptr_t from, uintptr_t to, uint64_t *bytes) {
  while (from < to) {
    struct query query = {.size = sizeof query, .flags = kThisOrNext, .address = from};
    long result = raw_call(SYS_ioctl, engine->maps_fd, PROCMAP_QUERY_CALL, &query);
    if (result == -ENOENT) return 0;
    if (result != 0) return -1;
    uintptr_t start = query.start > from ? query.start : from;
    uintptr_t end = query.end < to ? query.end : to;
    if (start >= to) return 0;
    if (raw_call(SYS_munmap, start, end - start) != 0) return -1;
    *bytes += end - start;
    from = end;
  }
  return 0;
}

int mappings_drop_new(struct engine *engine, uint64_t *bytes) {
  uintptr_t behind = 0;
  *bytes = 0;
  for (size_t i = 0; i < engine->mapping_count; ++i) {
    const struct mapping *mapping = &engine->mappings[i];
    if (clear_gap(engine, behind, mapping->start, bytes) != 0) return -1;
    behind = mapping->end;
    if (mapping->kind == MAPPING_STACK) return 0; /* above it are only the kernel's own */
  }
  return 0;
}

enum retirement mappings_put_back(struct engine *engine, int *changed) {
  long count =
      maps_read(engine->maps_fd, engine->maps_text, sizeof engine->maps_text, engine->now, NULL);
  if (count < 0) {
    strcpy(engine->reason, "too many mappings");
    return RETIRED_MAPPINGS;
  }
  uintptr_t behind = 0;
  int is_clear = 1;
  for (size_t i = 0; i < engine->mapping_count; ++i) {
    is_clear &= unmap_between(engine, count, behind, engine->mappings[i].start);
    behind = engine->mappings[i].end;
  }
  is_clear &= unmap_between(engine, count, behind, UINTPTR_MAX);
  if (!is_clear) {
    strcpy(engine->reason, "memory that is new cannot be unmapped");
    return RETIRED_MAPPINGS;
  }
  long n = 0;
  for (size_t i = 0; i < engine->mapping_count; ++i) {
    const struct mapping *then = &engine->mappings[i];
    uintptr_t at = then->start;
    while (at < then->end) {
      while (n < count && engine->now[n].end <= at) ++n;
      const struct mapping *now = n < count ? &engine->now[n] : NULL;
      uintptr_t end = then->end;
      enum retirement why;
      if (now == NULL || now->start > at) {
        if (now != NULL && now->start < end) end = now->start;
        why = lost(engine, then, at, end, changed);
      } else {
        if (now->end < end) end = now->end;
        why = compare(engine, then, now, at, end, changed);
      }
      if (why != RETIRED_NOT) return why;
      at = end;
    }
  }
  return RETIRED_NOT;
}
