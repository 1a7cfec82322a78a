/* The program's memory after a request, put back to the checkpoint's. Raw calls only. */
#include <string.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "unforked.h"

/* The first word of statm is the number that stat has, in pages, for a third of the price. */
int address_space_read(struct engine *engine) {
  char text[128];
  uint64_t pages = 0;
  long got = raw_call(SYS_pread64, engine->size_fd, text, sizeof text - 1, 0);
  if (got <= 0) return -1;
  text[got] = '\0';
  for (const char *at = text; *at >= '0' && *at <= '9'; ++at)
    pages = pages * 10 + (uint64_t)(*at - '0');
  engine->address_space_now = pages * kPageSize;
  return 0;
}

/* As much is mapped as at rest, and the scan of the pages will show whether it is the same. */
static int is_same_shape(struct engine *engine) {
  uint64_t now = engine->address_space_now, then = engine->address_space, dropped = 0;
  unsigned unseen = TOUCHED_MAPPINGS | TOUCHED_THREADS;
  if (engine->tracking != TRACKING_SCAN || (engine->touched & unseen) != 0) return 0;
  if (now == then) return 1;
  return now > then && mappings_drop_new(engine, &dropped) == 0 && now - dropped == then;
}

/* When a thread ends, libc may give its room back, by internal calls. Room that was committed and
 * only made inaccessible again still has its content. */
static int may_have_committed(const struct engine *engine) {
  return (engine->touched & (TOUCHED_RESERVED | TOUCHED_THREADS)) != 0;
}

/* Memory mapped anew in place of what is withheld from children would be theirs, too. The list of
 * it is in the memory that has just been put back. */
static enum retirement withhold(struct engine *engine) {
  if (unforked_withhold() == 0) return RETIRED_NOT;
  strcpy(engine->reason, "memory cannot be kept from children again");
  return RETIRED_MAPPINGS;
}

enum retirement memory_put_back(struct engine *engine) {
  int every = tracking_may_miss(engine) || engine->mappings_changed;
  int may_be_others = every;
  engine->hot.sufficed = 0;
  enum retirement why = RETIRED_NOT;
  if ((engine->left_out & PART_MAPPINGS) == 0 && may_have_committed(engine)) {
    may_be_others = 1;
    why = reservations_put_back(engine);
  }
  if (why == RETIRED_NOT && (engine->left_out & PART_MAPPINGS) == 0 && !is_same_shape(engine)) {
    may_be_others = 1;
    why = mappings_put_back(engine, &every);
  }
  if (why == RETIRED_NOT) why = wiped_put_back(engine);
  if (why != RETIRED_NOT) return why;
  long pages = every ? -1 : tracking_put_back(engine);
  may_be_others |= pages < 0;
  if (pages < 0 && !every && (engine->left_out & PART_MAPPINGS) == 0) {
    why = mappings_put_back(engine, &every);
    if (why != RETIRED_NOT) return why;
  }
  if (pages < 0) pages = tracking_put_back_all(engine);
  if (pages_close(engine) != 0) {
    strcpy(engine->reason, "memory that is not writable at rest cannot be put back");
    return RETIRED_MAPPINGS;
  }
  engine->last_pages = (uint32_t)pages;
  engine->last_tracking = engine->tracking;
  return may_be_others ? withhold(engine) : RETIRED_NOT;
}
