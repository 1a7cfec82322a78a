/* The program's memory: what the snapshot knows about it, and how it is put back. */
#ifndef CGIBRIDGE_MEMORY_H
#define CGIBRIDGE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "message/wire.h"
#include "smaps.h"

struct engine;

enum {
  kPageSize = 4096,
  kMappingsMax = 16384,
  kRegionsMax = 4096,
  kScanMax = 2048,
  kEntriesMax = 512,
  kWipedMax = 64
};
enum { kZeroSlot = UINT32_MAX };

/* A line of /proc/self/maps; neighbours that do not differ are joined. */
struct mapping {
  uintptr_t start, end;
  uint64_t offset, inode;
  uint32_t device;
  uint8_t prot, is_shared;
  enum { MAPPING_PLAIN, MAPPING_HEAP, MAPPING_STACK, MAPPING_KERNEL } kind;
};

/* A private mapping that is part of the snapshot: writable, or generated code. */
struct region {
  uintptr_t start, end;
  uint32_t first_page;
  int is_anonymous;
  int is_blank; /* nobody had touched it: it has no page numbers, and no page of it is saved */
  int prot;
  unsigned part; /* enum reset_part, or 0: always put back */
};

/* Of a page in a region that is not blank. */
static inline uint32_t page_number(const struct region *region, uintptr_t address) {
  return region->first_page + (uint32_t)((address - region->start) / kPageSize);
}

struct page_run { /* struct page_region of linux/fs.h, which Debian 12's headers lack */
  uint64_t start, end, categories;
};

/* wiped.c: what is empty in a forked child is emptied after each reset. find: in the zygote; -1:
 * more than kWipedMax, or /proc/self/smaps cannot be read. */
int wiped_find(struct engine *engine);
int memory_is_wiped(const struct smaps_entry *entry);
enum retirement wiped_put_back(struct engine *engine);

/* maps.c. Returns how many, or -1: more than kMappingsMax, or not readable. see, if it is not NULL,
 * gets each line and its path, which it may not keep. */
typedef void mapping_seen(const struct mapping *line, const char *path);
long maps_read(int fd, char *text, size_t text_bytes, struct mapping *list, mapping_seen *see);
/* Whether it is part of the snapshot: private and writable, or anonymous, like code and constants
 * that a compiler in the process writes while they are writable for a moment. */
int mapping_is_saved(const struct mapping *mapping);
/* Puts every mapping back in its place, and unmaps what is new. changed is set to 1 if one of the
 * snapshot's was changed in a way that the tracking in use may not see: then its pages have to be
 * compared, and tracking starts again. */
enum retirement mappings_put_back(struct engine *engine, int *changed);
/* Room that was reserved at the checkpoint, for what a request may commit: empties all of it,
 * whatever is mapped there now. */
int mapping_is_reserved(const struct mapping *mapping);
enum retirement reservations_put_back(struct engine *engine);
/* Only unmaps what is new, without reading the list (Linux 6.11). 0 and the number of bytes; or
 * -1. */
int mappings_drop_new(struct engine *engine, uint64_t *bytes);

/* memory.c: the first reads how much is mapped now into address_space_now: 0 or -1; the second puts
 * all of it back: mappings, pages, what is empty in a forked child, what is withheld from one. */
int address_space_read(struct engine *engine);
enum retirement memory_put_back(struct engine *engine);

/* pages.c: a page's content at the checkpoint is NULL for zeros. */
#define kPagePresent (1ull << 63)
#define kPageSwapped (1ull << 62)
#define kPageSoftDirty (1ull << 55)
int page_is_zero(const char *page);
const char *page_saved(const struct engine *engine, uint32_t page);
int page_is_changed(const char *now, const char *then);
/* Makes a region writable if it is not at rest, until pages_close(). */
void page_put_back(struct engine *engine, const struct region *region, char *now, const char *then);
/* After the last of them: 0, or -1 if a region could not be written to, or not be closed again. */
int pages_close(struct engine *engine);
/* Fills engine->entries for at most kEntriesMax pages from address on. 0 or -1. */
int pages_read_entries(struct engine *engine, uintptr_t address, uint32_t count);
/* The next pages of a range that exist, in the process of this page map. 1, or 0: there are none;
 * -1: not known, because before Linux 6.7 no more than 4 GiB are looked through. */
int pages_next_there(int pagemap_fd, uintptr_t start, uintptr_t end, struct address_range *run);
/* A page that most requests write to is put back without looking at it, which would cost as much;
 * every kLookEvery-th rewind checks whether such pages are still written to. */
enum { kLookEvery = 16, kDropPages = 128 }; /* this many contiguous new pages are given back */
int pages_look_again(const struct engine *engine);
/* Whether a page may have changed, by its entry in /proc/self/pagemap. */
typedef int page_suspect(const struct region *region, uint64_t entry, const char *then);
/* Puts back the suspects that did change (all that did, if no entry can be read); returns how many.
 * engine->suspects is set to the number of suspects. */
long pages_put_back(struct engine *engine, page_suspect *is_suspect);
/* Compares every page with the snapshot; returns how many it put back. */
long pages_compare(struct engine *engine);

/* blanks.c: empties a blank region, or a run of its pages that exist; returns how many there were.
 */
uint32_t blank_put_back(const struct engine *engine, const struct region *blank);
uint32_t blank_put_back_run(const struct engine *engine, const struct region *blank,
                            uintptr_t start, uintptr_t end);

/* tracking.c: how changed pages are found. One way is in use; now and then another that the kernel
 * offers is tried, and kept if it is cheaper for this worker. */
void tracking_begin(struct engine *engine, enum page_tracking wanted);
/* In the zygote: tells the bridge if this kernel does not offer a way that was asked for. */
void tracking_warn(enum page_tracking wanted);
/* Whether the request did something that the way in use does not see: then every page has to be
 * compared. */
int tracking_may_miss(const struct engine *engine);
/* Puts back the pages reported as changed; returns how many, or -1, with only some of them put
 * back, if the mappings are not the snapshot's. */
long tracking_put_back(struct engine *engine);
/* Compares all pages; the tracking starts again, because mappings may have been replaced. */
long tracking_put_back_all(struct engine *engine);
/* After a rewind that took this long. */
void tracking_learn(struct engine *engine, uint32_t nanoseconds);

/* tracking_scan.c, tracking_soft_dirty.c: begin returns 0, or -1 if the kernel does not offer it;
 * put_back works as tracking_put_back(). */
int scan_is_offered(void);
int scan_begin(struct engine *engine);
int scan_begin_anew(struct engine *engine);
/* Memory of the snapshot was mapped again here: gives it its content, and tracks it. 0; or -1: it
 * cannot be written to at rest, or not be tracked. */
int scan_fill_again(struct engine *engine, uintptr_t start, uintptr_t end);
void scan_end(struct engine *engine);
void scan_leave(const struct engine *engine); /* nothing is recorded any more */
long scan_put_back(struct engine *engine);
int soft_dirty_is_offered(void);
int soft_dirty_begin(struct engine *engine);
int soft_dirty_begin_anew(struct engine *engine);
void soft_dirty_end(struct engine *engine);
long soft_dirty_put_back(struct engine *engine);

#endif
