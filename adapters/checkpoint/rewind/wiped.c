/* Memory that the kernel wipes in a forked child: MADV_WIPEONFORK, by which TLS libraries notice a
 * fork, and MAP_DROPPABLE, in which libc (2.41) and Go (1.26) keep the state of getrandom(). A copy
 * of it would draw the same numbers in every request. So it is not part of the snapshot, and is
 * emptied after each reset, as in the forked child that a rewound process represents. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "raw_call.h"
#include "rewind/engine.h"

static int take(const struct smaps_entry *entry, void *found) {
  struct engine *engine = found;
  if (!memory_is_wiped(entry)) return 0;
  if (engine->wiped_count == kWipedMax) return -1;
  engine->wiped[engine->wiped_count++] = entry->range;
  return 0;
}

int memory_is_wiped(const struct smaps_entry *entry) {
  return smaps_has(entry, "wf") || smaps_has(entry, "dp");
}

int wiped_find(struct engine *engine) {
  return smaps_each(open("/proc/self/smaps", O_RDONLY | O_CLOEXEC), take, engine);
}

enum retirement wiped_put_back(struct engine *engine) {
  for (size_t i = 0; i < engine->wiped_count; ++i) {
    const struct address_range *range = &engine->wiped[i];
    size_t bytes = range->end - range->start;
    if (raw_call(SYS_madvise, range->start, bytes, MADV_DONTNEED) == 0) continue;
    strcpy(engine->reason, "memory that is empty in a forked child cannot be emptied");
    return RETIRED_MAPPINGS;
  }
  return RETIRED_NOT;
}
