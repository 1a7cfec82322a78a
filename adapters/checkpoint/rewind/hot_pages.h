/* Which pages a request can have changed, without asking the kernel (tracking by scan).
 *
 * The first write to a protected page is a page fault of this process, whoever wrote: the program,
 * or the kernel for one of its calls. So is the first use of a page that is not there. After a
 * clean request without a page fault, only pages can differ that were hot already: those that are
 * not protected, and those of blank regions that are there. They are put back without a scan.
 *
 * A scan shows as well that no memory of the snapshot was unmapped. Without one, calls that unmap
 * are noticed, but for those that libc's own functions make inside: malloc's, which move the heap's
 * end (brk), and unmap or move the large blocks that are mappings of their own (munmap, mremap). So
 * the last page of the heap, and the first and the last of each such block, are looked at. malloc
 * maps block beside block, so one look mostly shows the end of one and the beginning of another. */
#ifndef CGIBRIDGE_HOT_PAGES_H
#define CGIBRIDGE_HOT_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "smaps.h"

struct engine;
struct region;

enum { kHotMax = 1024, kLooksMax = 18 };

struct hot_pages {
  /* Of the snapshot. */
  struct address_range looks[kLooksMax]; /* pages that must still be there, in ascending order */
  size_t look_count;
  int are_never_enough; /* which blocks there are is not known, or they are too many */
  /* The worker's own. */
  struct hot_page {
    char *address;
    const struct region *region;
  } pages[kHotMax];
  size_t count;    /* more than kHotMax: not all are in the list */
  int are_known;   /* all are in the list */
  uint64_t faults; /* of this process, when they were listed */
  int sufficed;    /* in the last rewind */
};

/* In the zygote, when its pages have been copied: finds malloc's blocks. */
void hot_pages_prepare(struct engine *engine);

/* Before a walk over all pages, and whenever others may have been written to. */
void hot_pages_forget(struct engine *engine);
void hot_page_note(struct engine *engine, const struct region *region, uintptr_t address);
/* After the walk, if every hot page was noted. */
void hot_pages_are_noted(struct engine *engine);

/* Whether the request that has ended cannot have changed any other page of the snapshot, nor
 * unmapped one; then the second puts them all back, and returns how many it wrote. */
int only_hot_pages_changed(const struct engine *engine);
long hot_pages_put_back(struct engine *engine);

#endif
