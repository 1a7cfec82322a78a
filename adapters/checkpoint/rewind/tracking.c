/* The choice between the ways to find changed pages. */
#include <stdio.h>

#include "channel.h"
#include "rewind/engine.h"

/* A trial of another way: its length in rewinds, how many of these (the last) are counted, and how
 * often there is one. */
enum { kTrialEvery = 512, kTrialRewinds = 8, kTrialCounted = 4, kFirstTrial = 32 };
/* The cost of a protected page in the request itself, which a rewind's time does not show. */
enum { kFaultNanoseconds = 700 };

static int begin(struct engine *engine, enum page_tracking way) {
  engine->tracking = way;
  if (way == TRACKING_SCAN) return scan_begin(engine);
  if (way == TRACKING_SOFT_DIRTY) return soft_dirty_begin(engine);
  return 0;
}

static void end(struct engine *engine) {
  if (engine->tracking == TRACKING_SCAN) scan_end(engine);
  if (engine->tracking == TRACKING_SOFT_DIRTY) soft_dirty_end(engine);
}

static void change(struct engine *engine, enum page_tracking way) {
  end(engine);
  if (begin(engine, way) == 0) return;
  engine->ways[way].is_offered = 0;
  engine->tracking = TRACKING_COMPARE;
}

void tracking_warn(enum page_tracking wanted) {
  const char *what = NULL;
  if (wanted == TRACKING_SCAN && !scan_is_offered()) {
    what = "scan (a userfaultfd that notes writes by itself, Linux 6.7)";
  } else if (wanted == TRACKING_SOFT_DIRTY && !soft_dirty_is_offered()) {
    what = "soft-dirty (CONFIG_MEM_SOFT_DIRTY, and a /proc that can be written to)";
  }
  char text[kReasonMax];
  if (what == NULL) return;
  int length =
      snprintf(text, sizeof text,
               "this kernel does not offer rewind.tracking = %s: every page is compared", what);
  channel_note(NOTE_WARNING, text, (size_t)length);
}

int tracking_may_miss(const struct engine *engine) {
  /* Memory that is dropped, or remapped and joined to its neighbour, and then only read, has no
   * soft-dirty bit. A scan finds all of that. */
  unsigned unseen = TOUCHED_PAGES | TOUCHED_MAPPINGS | TOUCHED_THREADS;
  return engine->tracking == TRACKING_SOFT_DIRTY && (engine->touched & unseen) != 0;
}

void tracking_begin(struct engine *engine, enum page_tracking wanted) {
  static const enum page_tracking kByHope[] = {TRACKING_SCAN, TRACKING_SOFT_DIRTY,
                                               TRACKING_COMPARE};
  engine->ways[TRACKING_COMPARE].is_offered = 1;
  for (int i = 0; i < 3; ++i) {
    enum page_tracking way = kByHope[i];
    if (wanted != TRACKING_AUTO && wanted != way) continue;
    engine->ways[way].is_offered = begin(engine, way) == 0;
    if (engine->ways[way].is_offered) return;
  }
  engine->tracking = TRACKING_COMPARE;
}

static long put_back_marked(struct engine *engine) {
  if (engine->tracking == TRACKING_SCAN) return scan_put_back(engine);
  if (engine->tracking == TRACKING_SOFT_DIRTY) return soft_dirty_put_back(engine);
  return pages_compare(engine);
}

/* Whoever may open this process's pagemap or clear_refs can set marks anew: a child of the request
 * can. What it did is not seen, so every page is compared after that. The scan comes first all the
 * same: it shows whether all mappings are there, and keeps what is known of hot pages. */
long tracking_put_back(struct engine *engine) {
  long restored = put_back_marked(engine);
  int is_sure = engine->tracking == TRACKING_COMPARE || (engine->touched & TOUCHED_BY_OTHERS) == 0;
  if (restored < 0 || is_sure) return restored;
  hot_pages_forget(engine);
  return restored + pages_compare(engine);
}

long tracking_put_back_all(struct engine *engine) {
  long restored = pages_compare(engine);
  int result = engine->tracking == TRACKING_SCAN         ? scan_begin_anew(engine)
               : engine->tracking == TRACKING_SOFT_DIRTY ? soft_dirty_begin_anew(engine)
                                                         : 0;
  if (result != 0) change(engine, TRACKING_COMPARE);
  return restored;
}

/* The next way that is offered, or the current one if there is no other. */
static enum page_tracking other_way(const struct engine *engine) {
  for (int step = 1; step < 3; ++step) {
    int way = (engine->tracking - 1 + step) % 3 + 1;
    if (engine->ways[way].is_offered) return (enum page_tracking)way;
  }
  return engine->tracking;
}

/* A trial is short, and requests differ: where comparing every page seems a little cheaper, it
 * costs several times as much after a request that changes few of many. */
static uint64_t cost_of(const struct engine *engine, enum page_tracking way) {
  uint64_t nanoseconds = engine->ways[way].nanoseconds;
  return way == TRACKING_COMPARE ? 2 * nanoseconds : nanoseconds;
}

static enum page_tracking cheapest(const struct engine *engine) {
  enum page_tracking best = engine->tracking;
  for (int way = TRACKING_COMPARE; way <= TRACKING_SOFT_DIRTY; ++way) {
    uint64_t cost = cost_of(engine, (enum page_tracking)way);
    /* A change has to be worthwhile. */
    if (cost != 0 && cost + cost / 8 < cost_of(engine, best)) best = (enum page_tracking)way;
  }
  return best;
}

void tracking_learn(struct engine *engine, uint32_t nanoseconds) {
  if (engine->wanted_tracking != TRACKING_AUTO) return;
  uint32_t *known = &engine->ways[engine->tracking].nanoseconds;
  if (engine->tracking == TRACKING_SOFT_DIRTY) {
    nanoseconds += engine->faults * kFaultNanoseconds;
  }
  int counts = engine->trial == 0 || engine->trial <= kTrialCounted;
  if (counts) *known = *known == 0 ? nanoseconds : *known - *known / 8 + nanoseconds / 8;
  if (engine->trial > 0) {
    if (--engine->trial > 0) return;
    enum page_tracking best = cheapest(engine);
    if (best != engine->tracking) change(engine, best);
  } else if (engine->rewinds % kTrialEvery == kFirstTrial) {
    enum page_tracking other = other_way(engine);
    if (other == engine->tracking) return;
    engine->ways[other].nanoseconds = 0;
    engine->trial = kTrialRewinds;
    change(engine, other);
  }
}
