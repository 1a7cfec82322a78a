"""reset=rewind, tracking by scan: changed pages are not looked for after a request that had no page fault.
What changes memory all the same is noticed, and so is memory that libc's own functions give back."""

import pytest

from driver import Warm
from harness.compiled import compile_program

# All that a request may find changed is filled at load, and printed as sums. `act` is done at the end of a
# request. Every request writes to the pages named "hot" in the same way, so that they never fault.
PROGRAM = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, COLD = 16 * PAGE, MAPPED = 200000, LARGE = 300000, SMALL = 100000, SMALLS = 12 };
static char cold[COLD] __attribute__((aligned(PAGE))) = {1};
static char alternate[64 * 1024] __attribute__((aligned(PAGE)));
static char *volatile mapped, *volatile large, *volatile aligned_block, *volatile smalls[SMALLS], *own;

__attribute__((constructor)) static void load(void) {
  memset(cold, 'c', sizeof cold);
  memset(mapped = malloc(MAPPED), 'm', MAPPED);
  memset(large = malloc(LARGE), 'l', LARGE);
  memset(aligned_block = aligned_alloc(64, 3 * LARGE), 'a', 3 * LARGE);
  for (int i = 0; i < SMALLS; ++i) memset(smalls[i] = malloc(SMALL), 's', SMALL);
  own = mmap(0, COLD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(own, 'o', COLD);
}

static unsigned long sum(const char *at, size_t bytes) {
  unsigned long total = 0;
  for (size_t i = 0; i < bytes; ++i) total = total * 31 + (unsigned char)at[i];
  return total;
}

static void say(void) {
  unsigned long total = 0;
  for (int i = 0; i < SMALLS; ++i) total += sum(smalls[i], SMALL);
  printf("cold %lx mapped %lx large %lx aligned %lx smalls %lx own %lx alternate %lx\n", sum(cold, COLD),
         sum(mapped, MAPPED), sum(large, LARGE), sum(aligned_block, 3 * LARGE), total, sum(own, COLD),
         sum(alternate, sizeof alternate));
  fflush(stdout);
}

/* The words before a block, its ends, and the last ones of the heap are written in each request. */
static void heat(char *block, size_t bytes) {
  volatile size_t *head = (volatile size_t *)block - 1;
  volatile char *first = block, *last = block + bytes - 1;
  *head = *head;
  *first = *first;
  *last = *last;
}

static void heat_all(void) {
  mapped = mapped, large = large, aligned_block = aligned_block, smalls[0] = smalls[0];
  heat(mapped, MAPPED);
  heat(large, LARGE);
  heat(aligned_block, 3 * LARGE);
  for (int i = 0; i < SMALLS; ++i) heat(smalls[i], SMALL);
  free(malloc(100));
  free(malloc(2000));
}

static void on_signal(int number) { cold[5 * PAGE] = (char)number; }

static int zeros(void) { return open("/dev/zero", O_RDONLY); }

static void by_path(const char *path, char *where, const char *bytes) {
  int fd = open(path, O_RDWR);
  if (fd < 0 || pwrite(fd, bytes, strlen(bytes), (off_t)(uintptr_t)where) < 0) perror(path);
}

static void by_vector(long number) {
  char word[] = "secret";
  struct iovec here = {word, 6}, there = {cold + 9 * PAGE, 6};
  if (syscall(number, getpid(), &here, 1L, &there, 1L, 0L) < 0) printf("%s\n", strerror(errno));
}

static void by_message(void) {
  int pair[2];
  struct iovec part = {cold + 11 * PAGE + 7, 6};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || send(pair[0], "secret", 6, 0) != 6) return;
  if (recvmsg(pair[1], &message, 0) != 6) printf("not received\n");
}

static int act(const char *name) {
  volatile char *at = cold + 3 * PAGE;
  if (!strcmp(name, "store")) *at = 's';
  else if (!strcmp(name, "read")) return (int)read(zeros(), cold + 4 * PAGE, 100);
  else if (!strcmp(name, "pread-own")) return (int)pread(zeros(), own + PAGE, 100, 0);
  else if (!strcmp(name, "getrandom")) return (int)getrandom(cold + 6 * PAGE, 40, 0);
  else if (!strcmp(name, "stat")) return stat("/", (struct stat *)(void *)(cold + 7 * PAGE));
  else if (!strcmp(name, "stat-by-number")) return (int)syscall(SYS_stat, "/", cold + 7 * PAGE);
  else if (!strcmp(name, "proc-self-mem")) by_path("/proc/self/mem", cold + 8 * PAGE, "secret");
  else if (!strcmp(name, "proc-thread-mem")) by_path("/proc/thread-self/mem", cold + 8 * PAGE, "secret");
  else if (!strcmp(name, "process_vm_readv")) by_vector(SYS_process_vm_readv);
  else if (!strcmp(name, "process_vm_writev")) by_vector(SYS_process_vm_writev);
  else if (!strcmp(name, "recvmsg")) by_message();
  else if (!strcmp(name, "signal")) return signal(SIGUSR1, on_signal) == SIG_ERR || raise(SIGUSR1);
  else if (!strcmp(name, "signal-stack")) {
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    return sigaltstack(&stack, 0) || sigaction(SIGUSR1, &action, 0) || raise(SIGUSR1);
  } else if (!strcmp(name, "child")) {
    pid_t pid = vfork();
    if (pid == 0) { cold[10 * PAGE] = 'v'; _exit(0); }
    return waitpid(pid, 0, 0) != pid;
  } else if (!strcmp(name, "dropped")) return madvise(own, COLD, MADV_DONTNEED);
  else if (!strcmp(name, "dropped-by-number")) return (int)syscall(SYS_madvise, own, (long)COLD, 4L);
  else if (!strcmp(name, "unmapped")) return munmap(own, COLD);
  else if (!strcmp(name, "unmapped-by-number")) return (int)syscall(SYS_munmap, own, (long)COLD);
  else if (!strcmp(name, "replaced"))
    return mmap(own, COLD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != own;
  else if (!strcmp(name, "moved")) {
    char *there = mremap(own, COLD, COLD, MREMAP_MAYMOVE | MREMAP_FIXED, own + (1 << 26));
    return there == MAP_FAILED;
  } else if (!strcmp(name, "reserved")) return mprotect(own, COLD, PROT_READ);
  /* What libc does inside, without a call that this process could be seen to make. */
  else if (!strcmp(name, "trimmed")) for (int i = SMALLS - 1; i >= 0; --i) free(smalls[i]);
  else if (!strcmp(name, "trimmed-and-taken")) {
    for (int i = SMALLS - 1; i >= 0; --i) free(smalls[i]);
    for (int i = 0; i < SMALLS; ++i) smalls[i] = malloc(SMALL);
  } else if (!strcmp(name, "malloc_trim")) {
    for (int i = 0; i < SMALLS; i += 2) free(smalls[i]);
    malloc_trim(0);
  } else if (!strcmp(name, "sbrk")) return sbrk(-50 * PAGE) == (void *)-1 || sbrk(50 * PAGE) == (void *)-1;
  else if (!strcmp(name, "freed")) free(mapped);
  else if (!strcmp(name, "freed-and-taken")) { free(mapped); mapped = malloc(MAPPED); }
  else if (!strcmp(name, "freed-aligned")) free(aligned_block);
  else if (!strcmp(name, "exchanged")) {
    mapped = realloc(mapped, LARGE);
    large = realloc(large, MAPPED);
  } else if (!strcmp(name, "shrunk-and-grown")) {
    large = realloc(large, MAPPED);
    large = realloc(large, LARGE);
  } else if (!strcmp(name, "setlocale-like")) { free(malloc(5000000)); free(calloc(1, 5000000)); }
  else if (strcmp(name, "nothing")) return printf("no act %s\n", name);
  return 0;
}

int main(int argc, char **argv) {
  say();
  heat_all();
  if (argc > 1 && act(argv[1]) < 0) perror(argv[1]);
  return 0;
}
"""
THREADED = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { BLOCKS = 30, BYTES = 100000 };
static char *blocks[BLOCKS];
static void *fill(void *nothing) {
  for (int i = 0; i < BLOCKS; ++i) memset(blocks[i] = malloc(BYTES), 'a' + i % 26, BYTES);
  return nothing;
}
__attribute__((constructor)) static void load(void) {
  pthread_t thread;
  pthread_create(&thread, 0, fill, 0);
  pthread_join(thread, 0);
}
int main(int argc, char **argv) {
  int wrong = 0;
  for (int i = 0; i < BLOCKS; ++i)
    for (int k = 0; k < BYTES; ++k) wrong += blocks[i][k] != 'a' + i % 26;
  printf("%d wrong %s\n", wrong, argc > 1 ? argv[1] : "");
  fflush(stdout);
  for (int i = BLOCKS - 1; i >= 0; --i) {
    volatile size_t *head = (volatile size_t *)(void *)blocks[i] - 1;
    *head = *head;
    blocks[i][0] = 'a' + i % 26;
    if (argc > 1) free(blocks[i]);
  }
  return 0;
}
"""
WRITES = ["store", "read", "pread-own", "getrandom", "stat", "stat-by-number", "proc-self-mem",
          "proc-thread-mem", "process_vm_readv", "process_vm_writev", "recvmsg", "signal", "signal-stack",
          "child"]
MAPPINGS = ["dropped", "dropped-by-number", "unmapped", "unmapped-by-number", "replaced", "moved", "reserved"]
INSIDE_LIBC = ["trimmed", "trimmed-and-taken", "malloc_trim", "sbrk", "freed", "freed-and-taken",
               "freed-aligned", "exchanged", "shrunk-and-grown", "setlocale-like"]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("hot"), PROGRAM, "-fno-builtin")


def compiled(folder, text, *flags):
    source, program = folder / "program.c", folder / "program"
    source.write_text(text)
    compile_program("gcc", source, program, ["-O1", "-pthread", *flags])
    return program


def need_scan(warm):
    warm.ask()
    if warm.ask().tracking != "scan":
        pytest.skip("this kernel does not offer the scan (Linux 6.7)")


def settle(warm, pages=None):
    """Until a rewind did not look for changed pages: what every request writes to is known then. pages: and
    until no more are written to."""
    for _ in range(120):
        answer = warm.ask("nothing")
        if not answer.walked and (pages is None or answer.pages <= pages):
            return answer
    raise AssertionError("changed pages are looked for in each rewind")


@pytest.mark.parametrize("act", [*WRITES, *MAPPINGS, *INSIDE_LIBC])
def test_the_next_request_finds_what_the_first_one_found(program, act):
    with Warm([str(program)], tracking="scan") as warm:
        need_scan(warm)
        first = settle(warm)
        for _ in range(3):
            assert warm.ask(act).text.startswith(first.text)
            assert warm.ask("nothing").text == first.text
            assert settle(warm, pages=first.pages + 4).text == first.text
        assert warm.workers == 1 + len(warm.retired)  # none died


def test_most_rewinds_need_not_look_for_changed_pages(program):
    with Warm([str(program)], tracking="scan") as warm:
        need_scan(warm)
        settle(warm)
        walks = sum(warm.ask("nothing").walked for _ in range(160))
    assert 0 < walks <= 20  # one in sixteen checks whether pages are still written to


def test_a_heap_that_a_thread_had_before_the_checkpoint_is_looked_at_each_time(tmp_path):
    """Whoever frees the last block of it has libc drop pages, and none of them need have been written to."""
    program = compiled(tmp_path, THREADED)
    with Warm([str(program)], tracking="scan") as warm:
        need_scan(warm)
        for turn in range(40):
            words = ["free"] if turn % 3 == 2 else []
            answer = warm.ask(*words)
            assert answer.text.startswith("0 wrong") and answer.walked


def test_the_list_of_pages_has_an_end(tmp_path):
    """2,000 pages that each request writes to: more than are noted, so they are looked for."""
    program = compiled(tmp_path, r"""
#include <stdio.h>
static char pages[2000 * 4096] = {1};
int main(void) {
  int sum = 0;
  for (int i = 0; i < 2000; ++i) sum += pages[i * 4096]++;
  printf("%d\n", sum);
}
""")
    with Warm([str(program)], tracking="scan") as warm:
        need_scan(warm)
        answers = [warm.ask() for _ in range(40)]
    assert {answer.text for answer in answers} == {"1\n"} and all(answer.walked for answer in answers)


def test_blocks_that_touch_each_other_are_looked_at_together(tmp_path):
    """malloc maps block below block. Any one is missed if its last pages were given back and come again: by
    calls inside libc, and without a page fault."""
    program = compiled(tmp_path, r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { BLOCKS = 14, BYTES = 200000 };
static char *blocks[BLOCKS];
__attribute__((constructor)) static void load(void) {
  for (int i = 0; i < BLOCKS; ++i) memset(blocks[i] = malloc(BYTES), 'a' + i, BYTES);
}
int main(int argc, char **argv) {
  int wrong = 0;
  for (int i = 0; i < BLOCKS; ++i)
    for (int k = 0; k < BYTES; k += 100) wrong += blocks[i][k] != 'a' + i;
  printf("%d wrong\n", wrong);
  fflush(stdout);
  for (int i = 0; i < BLOCKS; ++i) {
    volatile size_t *head = (volatile size_t *)(void *)blocks[i] - 1;
    *head = *head;
  }
  if (argc > 1 && strcmp(argv[1], "nothing") != 0) {
    char *block = blocks[atoi(argv[1])];
    block = realloc(block, BYTES - 50000);
    block = realloc(block, BYTES);
    fprintf(stderr, "%d\n", block == blocks[atoi(argv[1])]);
  }
}
""", "-fno-builtin")
    with Warm([str(program)], tracking="scan") as warm:
        need_scan(warm)
        for block in (0, 6, 13):
            settle(warm)
            answer = warm.ask(str(block))
            assert (answer.text, answer.stderr) == ("0 wrong\n", b"1\n"), block
            assert warm.ask().text == "0 wrong\n", block
        assert warm.workers == 1 + len(warm.retired)
