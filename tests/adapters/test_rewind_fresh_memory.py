"""reset=rewind: memory that is emptied in a forked child is empty again in every request, and what libc does
invisibly to its own memory for threads leaves nothing behind."""

import pytest

from driver import Warm, Zygote, run_plainly

TOKENS = 40

# A generator that keeps its state in memory that a fork empties, like libc 2.41, Go and BoringSSL. It was
# used before the checkpoint, and plain memory is on both sides of it.
TOKEN = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define PAGE 4096
static char *around;
static unsigned long *state(void) { return (unsigned long *)(around + PAGE); }
static unsigned long draw(void) {
  while (state()[0] == 0) syscall(SYS_getrandom, state(), 8, 0);
  return ++state()[0];
}
static void map(void) {
  around = mmap(0, 3 * PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(around, 'a', 3 * PAGE);
  munmap(around + PAGE, PAGE);
  %s
  draw();
}
%s
int main(void) {
  map_late();
  unsigned long first = draw(), second = draw();
  int plain = around[5] == 'a' && around[2 * PAGE + 5] == 'a' && around[PAGE - 1] == 'a';
  around[5] = around[2 * PAGE + 5] = 'L';
  printf("%%lx %%d %%d\n", first, second == first + 1, plain);
}
"""
MAP_DROPPABLE = """if (mmap(around + PAGE, PAGE, 3, 0x08 | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
    puts("none"); fflush(stdout); _exit(0); }"""
WIPE_ON_FORK = """mmap(around + PAGE, PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  madvise(around + PAGE, PAGE, MADV_WIPEONFORK);"""
EARLY = "__attribute__((constructor)) static void early(void) { map(); }\nstatic void map_late(void) {}"
LATE = "static void map_late(void) { map(); }"


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("when", [EARLY, LATE], ids=["before", "in the request"])
@pytest.mark.parametrize("kind", [MAP_DROPPABLE, WIPE_ON_FORK], ids=["droppable", "wipe on fork"])
def test_no_two_requests_draw_the_same(folder, kind, when, reset):
    program = folder.compile("token.c", TOKEN % (kind, when))
    if run_plainly([program]).stdout == b"none\n":
        pytest.skip("this kernel has no MAP_DROPPABLE")
    with Warm([program], reset=reset, accept="random") as warm:
        rows = [warm.ask().text.split() for _ in range(TOKENS)]
        assert len({token for token, *_ in rows}) == TOKENS
        assert all(rest == ["1", "1"] for _, *rest in rows)
        assert warm.retired == []


# libc's own generator, which keeps such memory for each thread since 2.41.
LIBC_S = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
static void *draw(void *two) {
  getrandom(two, 16, 0);
  ((uint64_t *)two)[1] ^= (uint64_t)arc4random() << 32;
  return NULL;
}
static void draw_in_thread(void *two) {
  pthread_t thread;
  pthread_create(&thread, NULL, draw, two);
  pthread_join(thread, NULL);
}
static uint64_t early[4];
__attribute__((constructor)) static void load(void) { draw(early); draw_in_thread(early + 2); }
int main(void) {
  uint64_t drawn[6];
  draw(drawn); draw_in_thread(drawn + 2); draw(drawn + 4);
  for (int i = 0; i < 6; ++i) printf("%llx ", (unsigned long long)drawn[i]);
}
"""


@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_no_two_requests_draw_the_same_of_libc(folder, reset):
    program = folder.compile("libc.c", LIBC_S, "-pthread")
    with Warm([program], reset=reset, accept="random") as warm:
        drawn = [word for _ in range(TOKENS) for word in warm.ask().text.split()]
    assert warm.reset == reset and len(drawn) == len(set(drawn)) == 6 * TOKENS


def test_too_many_such_mappings_are_not_rewound(folder):
    program = folder.compile("many.c", r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
__attribute__((constructor)) static void early(void) {
  for (int i = 0; i < 200; i += 2) {
    char *p = mmap(0, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, 4096, MADV_WIPEONFORK);
  }
}
int main(void) { puts("fine"); }
""")
    with Zygote([program], reset="rewind") as zygote:
        assert zygote.reset == "fork" and "fork empties" in zygote.weaker
        assert zygote.worker().request([program]).text == "fine\n"


# libc enlarges a thread's heap by an internal call.
ARENA = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *nothing(void *unused) { char *volatile piece = malloc(100); free(piece); return unused; }
static void *leaves(void *unused) {
  int dirty = 0;
  char *pieces[64];
  for (int i = 0; i < 64; ++i) {
    pieces[i] = calloc(1, 60000);
    for (int j = 0; j < 60000; ++j) dirty += pieces[i][j] != 0;
  }
  for (int i = 0; i < 64; ++i) memset(pieces[i], 'L', 60000);
  *(int *)unused = dirty;
  return NULL;
}
static void run(void *(*what)(void *), void *with) {
  pthread_t thread;
  pthread_create(&thread, NULL, what, with);
  pthread_join(thread, NULL);
}
__attribute__((constructor)) static void early(void) { run(nothing, NULL); }
int main(void) {
  int dirty = -1;
  run(leaves, &dirty);
  printf("%d\n", dirty);
}
"""


@pytest.mark.parametrize("tracking", ["compare", "auto", "scan", "soft-dirty"])
def test_a_thread_s_heap_holds_nothing_of_the_request_before(folder, tracking):
    program = folder.compile("arena.c", ARENA, "-pthread")
    with Warm([program], tracking=tracking) as warm:
        assert warm.reset == "rewind", warm.weaker
        for _ in range(20):
            assert warm.ask().text == "0\n"
        assert {why for why, _ in warm.retired} <= {"threads"}


# The kernel tells the next owner of a robust mutex that the previous one is gone.
ROBUST = r"""
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
struct shared { pthread_mutex_t mutex; int count; };
int main(void) {
  int fd = open(getenv("HTTP_FILE"), O_RDWR);
  struct shared *shared = mmap(0, sizeof *shared, 3, MAP_SHARED, fd, 0);
  if (strcmp(getenv("QUERY_STRING"), "make") == 0) {
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&shared->mutex, &how);
  }
  struct timespec soon;
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_sec += 20;
  int result = pthread_mutex_timedlock(&shared->mutex, &soon);
  if (result == EOWNERDEAD) pthread_mutex_consistent(&shared->mutex);
  printf("%s %d\n", result == 0 ? "locked" : strerrorname_np(result), ++shared->count);
  if (strcmp(getenv("QUERY_STRING"), "gives it back") == 0) pthread_mutex_unlock(&shared->mutex);
}
"""


@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_a_robust_mutex_that_is_held_at_the_end_has_lost_its_owner(folder, reset):
    program = folder.compile("robust.c", ROBUST, "-pthread", "-D_GNU_SOURCE")
    shared = folder.path / "shared"
    shared.write_bytes(bytes(4096))
    steps = [("make", "locked 1"), ("holds", "EOWNERDEAD 2"), ("gives it back", "EOWNERDEAD 3"),
             ("gives it back", "locked 4"), ("gives it back", "locked 5")]
    with Warm([program], reset=reset) as warm:
        for query, wanted in steps:
            answer = warm.ask(env={"QUERY_STRING": query, "HTTP_FILE": str(shared)})
            assert answer.text == wanted + "\n"
        assert warm.workers == (3 if reset == "rewind" else 5)
