/* See unforked.h. */
#include "unforked.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "raw_call.h"

enum { kUnforkedMax = 4096 };

/* In the library's own data, and so part of a snapshot, which is taken later. */
static struct address_range ranges[kUnforkedMax];
static size_t range_count;
static int is_shared;

static int take(const struct smaps_entry *entry, void *unused) {
  (void)unused;
  if (!entry->is_private || !smaps_has(entry, "dc")) return 0;
  if (range_count > 0 && ranges[range_count - 1].end == entry->range.start) {
    ranges[range_count - 1].end = entry->range.end;
    return 0;
  }
  if (range_count == kUnforkedMax) return 1;
  ranges[range_count++] = entry->range;
  return 0;
}

static int advise(int advice) {
  for (size_t i = 0; i < range_count; ++i) {
    size_t bytes = ranges[i].end - ranges[i].start;
    if (raw_call(SYS_madvise, ranges[i].start, bytes, advice) != 0) return -1;
  }
  return 0;
}

int unforked_share(void) {
  if (is_shared) return 0;
  range_count = 0;
  int result = smaps_each(open("/proc/self/smaps", O_RDONLY | O_CLOEXEC), take, NULL);
  if (result != 0) return result;
  if (advise(MADV_DOFORK) != 0) return 1;
  is_shared = 1;
  return 0;
}

int unforked_withhold(void) {
  return advise(MADV_DONTFORK);
}

const struct address_range *unforked_ranges(size_t *count) {
  *count = range_count;
  return ranges;
}
