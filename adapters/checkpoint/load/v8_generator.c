/* V8 seeds Math.random() of a context, the program's or one made by `vm`, when it is first drawn
 * from: by numbers from a generator of its isolate's. That was seeded before the checkpoint, so all
 * copies would seed the same. It has three words (its seed, two of a state: xorshift128+), and the
 * isolate points to it; V8 tells nobody where. But V8 draws from it for the identity of an object
 * that becomes a key: so all that the isolate points to is noted, V8 is made to draw, and what has
 * moved exactly as the generator does is the generator: 128 bits agree. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "calls/clean.h"
#include "load/load_watch.h"
#include "raw_call.h"

enum {
  kWordsMax = 16 * 1024 /* of an isolate, which has some 8,000 */,
  kDrawsMax = 4096,
  kPage = 4096
};

struct generator {
  uint64_t seed, state[2];
};

struct seen {
  struct generator *at;
  uint64_t state[2];
};

static struct seen *seen;
static size_t seen_count;
static struct generator *generator;
static uint64_t given[2]; /* the state that it was given in this request */

/* What the process has mapped, by a file: a sandbox may forbid process_vm_readv(). */
struct memory {
  long fd;
  uintptr_t page; /* the one that was read last; 0: none */
  char content[kPage];
};

static size_t read_own(const struct memory *memory, uintptr_t from, void *to, size_t bytes) {
  long got = raw_call(SYS_pread64, memory->fd, to, bytes, from);
  return got > 0 ? (size_t)got : 0;
}

/* Neighbours often lie on one page. */
static int can_read(struct memory *memory, uintptr_t at, struct generator *value) {
  size_t offset = at % kPage;
  if (offset > kPage - sizeof *value)
    return read_own(memory, at, value, sizeof *value) == sizeof *value;
  if (memory->page != at - offset) {
    memory->page = at - offset;
    if (read_own(memory, memory->page, memory->content, kPage) != kPage) memory->page = 0;
  }
  if (memory->page != 0) memcpy(value, memory->content + offset, sizeof *value);
  return memory->page != 0;
}

/* Most of an isolate's pointers are to V8's own code. */
static int may_be(uintptr_t at) {
  struct dl_find_object in;
  if (at < 65536 || at >> 47 != 0 || at % sizeof(uint64_t) != 0) return 0;
  return _dl_find_object((void *)at, &in) != 0;
}

static void note_all(struct memory *memory, const uintptr_t *words, size_t count) {
  struct generator value;
  for (size_t i = 0; i < count; ++i) {
    if (!may_be(words[i]) || !can_read(memory, words[i], &value)) continue;
    struct seen *next = &seen[seen_count++];
    next->at = (struct generator *)words[i];
    memcpy(next->state, value.state, sizeof next->state);
  }
}

static void step(uint64_t *state) {
  uint64_t a = state[0], b = state[1];
  a ^= a << 23;
  a ^= a >> 17;
  state[0] = b;
  state[1] = a ^ b ^ b >> 26;
}

static int has_moved(const struct seen *was, const uint64_t *now) {
  uint64_t state[2] = {was->state[0], was->state[1]};
  if (memcmp(state, now, sizeof state) == 0) return 0;
  for (int draws = 0; draws < kDrawsMax; ++draws) {
    step(state);
    if (memcmp(state, now, sizeof state) == 0) return 1;
  }
  return 0;
}

static size_t bytes_needed(void) {
  return kWordsMax * (sizeof *seen + sizeof(uintptr_t));
}

static void look(struct memory *memory) {
  void *(*current)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "_ZN2v87Isolate10GetCurrentEv");
  uintptr_t isolate = current != NULL ? (uintptr_t)current() : 0;
  long map = raw_call(SYS_mmap, NULL, bytes_needed(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map < 0 && map > -4096) return;
  seen = (struct seen *)map;
  uintptr_t *words = (uintptr_t *)(seen + kWordsMax);
  if (isolate == 0) return;
  note_all(memory, words,
           read_own(memory, isolate, words, kWordsMax * sizeof *words) / sizeof *words);
}

static void find(struct memory *memory) {
  struct generator value;
  for (size_t i = 0; i < seen_count && generator == NULL; ++i) {
    if (!can_read(memory, (uintptr_t)seen[i].at, &value)) continue;
    if (has_moved(&seen[i], value.state)) generator = seen[i].at;
  }
  raw_call(SYS_munmap, seen, bytes_needed());
  seen = NULL;
}

int v8_generator_find(void) {
  struct memory memory = {
      .fd = raw_call(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC)};
  if (memory.fd < 0) return -1;
  if (seen == NULL) {
    look(&memory);
  } else {
    find(&memory);
  }
  raw_call(SYS_close, memory.fd);
  return seen != NULL || generator != NULL ? 0 : -1;
}

int v8_generator_renew(void) {
  if (generator == NULL) return -1;
  struct generator fresh;
  if (libc_call(SYS_getrandom, &fresh, sizeof fresh, 0) != sizeof fresh) return -1;
  fresh.state[0] |= 1; /* never all zeros */
  memcpy(given, fresh.state, sizeof given);
  *generator = fresh;
  return 0;
}

int v8_generator_was_used(void) {
  return generator != NULL && memcmp(generator->state, given, sizeof given) != 0;
}
