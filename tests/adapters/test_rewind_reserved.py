"""reset=rewind and reserved room: what a request commits of memory that was inaccessible at the checkpoint is
empty and inaccessible again, and its worker stays."""

import os

import pytest

from driver import Warm, Zygote, answers_in_one_worker, run_plainly
from harness.programs import UNSEEN_C

# 64 MiB are reserved, the middle of it kept from children, with memory in use beside it.
RESERVED = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define PAGE 4096
#define SIZE (64 << 20)
static char *room, *used;
__attribute__((constructor)) static void early(void) {
  used = mmap(0, SIZE + 8 * PAGE, 0, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  room = used + 8 * PAGE;
  mprotect(used, 8 * PAGE, 3); memset(used, 'u', 8 * PAGE);
  mprotect(room, PAGE, 3); memset(room, 'e', PAGE); mprotect(room, PAGE, 0);
  madvise(room, PAGE, MADV_DONTNEED);
  mprotect(room + 12 * PAGE, PAGE, 1);    /* the kernel's page of zeros is there, and stays */
  write(-1, room + 12 * PAGE + (*(volatile char *)(room + 12 * PAGE)), 0);
  mprotect(room + 12 * PAGE, PAGE, 0);
  madvise(room + 4 * PAGE, 4 * PAGE, MADV_DONTFORK);
}
static void lines(void) {
  FILE *f = fopen("/proc/self/maps", "r"); char line[999], how[9]; unsigned long a, b;
  while (fgets(line, sizeof line, f))
    if (sscanf(line, "%lx-%lx %s", &a, &b, how) == 3 && (unsigned long)room < b &&
        (unsigned long)room + SIZE > a) printf("%s %lx; ", how, b - a);
  fclose(f);
}
static unsigned sum(const char *from, size_t n) {
  unsigned s = 0; for (size_t i = 0; i < n; ++i) s = s * 31 + (unsigned char)from[i]; return s;
}
static void commit(size_t at, size_t bytes) { mprotect(room + at, bytes, 3); memset(room + at, 'L', bytes); }
static long raw(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}
int main(void) {
  int ends[2]; pipe(ends);
  printf("%x %zd ", sum(used, 8 * PAGE), write(ends[1], room + 9 * PAGE, 1)); lines();
  char *fresh = mmap(room + 20 * PAGE, 4 * PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  mprotect(room, 10 * PAGE, PROT_READ);
  printf("%x %x\n", sum(room, 10 * PAGE), sum(fresh, 4 * PAGE));
  mprotect(room, 10 * PAGE, PROT_NONE); munmap(fresh, 4 * PAGE);
  mmap(fresh, 4 * PAGE, 0, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  fflush(stdout);
  memset(used, 'L', PAGE);
  DEED;
  return 0;
}
"""
DEEDS = {
    "nothing": "",
    "commits a part": "commit(0, 10 * PAGE);",
    "commits all": "commit(0, SIZE);",
    "makes it executable": "commit(0, 10 * PAGE); mprotect(room, 10 * PAGE, 5);",
    "makes it inaccessible again": "commit(0, 10 * PAGE); mprotect(room, 10 * PAGE, 0);",
    "by the call's number": "syscall(SYS_mprotect, room, 10 * PAGE, 3); memset(room, 'L', 10 * PAGE);"
                            "syscall(SYS_mprotect, room, 10 * PAGE, 0);",
    "together with what is used": "mprotect(used, 18 * PAGE, 3); memset(used, 'L', 18 * PAGE);"
                                  "mprotect(used, 18 * PAGE, 0);",
    "maps over it": "memset(mmap(room, 10 * PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), 'L', "
                    "10 * PAGE);",
    "maps over it and what is used": "memset(mmap(room - PAGE, 4 * PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS | "
                                     "MAP_FIXED, -1, 0), 'L', 4 * PAGE);",
    "maps shared memory over it": "memset(mmap(room, 10 * PAGE, 3, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, "
                                  "-1, 0), 'L', 10 * PAGE);",
    "maps a locked file over it": 'int f = open("/proc/self/exe", 0); flock(f, LOCK_SH);'
                                  'mmap(room, 4 * PAGE, 1, MAP_PRIVATE | MAP_FIXED, f, 0);',
    "unmaps a part": "munmap(room + 2 * PAGE, 4 * PAGE);",
    "unmaps it, and maps as much elsewhere": "munmap(room, SIZE); memset(mmap(0, SIZE, 3, MAP_PRIVATE | "
                                             "MAP_ANONYMOUS, -1, 0), 'L', 10 * PAGE);",
    "moves it": "commit(0, 10 * PAGE); mremap(room, 10 * PAGE, 12 * PAGE, MREMAP_MAYMOVE);",
    "advises on it": "commit(0, SIZE); madvise(room, SIZE, MADV_HUGEPAGE);"
                     "madvise(room, SIZE, MADV_DONTDUMP); madvise(room, PAGE, MADV_DONTFORK);"
                     "madvise(room + PAGE, PAGE, MADV_WIPEONFORK);"
                     "mprotect(room, SIZE, 0);",
    "names it": 'commit(0, PAGE); syscall(SYS_prctl, 0x53564d41, 0, room, PAGE, "left"); '
                "mprotect(room, PAGE, 0);",
    "binds it to a node": "commit(0, PAGE); syscall(SYS_mbind, room, PAGE, 0, 0, 0, 0); mprotect(room, PAGE, "
                          "0);",
    "binds its own memory to a node": "char *own = mmap(0, PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);"
                                      "if (syscall(SYS_mbind, own, PAGE, 0, 0, 0, 0)) return 7;",
    "locks it": "commit(0, PAGE); mlock(room, PAGE); mprotect(room, PAGE, 0);",
}


def compile_with(folder, deed):
    return [folder.compile("reserved.c", RESERVED.replace("DEED", deed))]


@pytest.mark.parametrize("tracking", ["compare", "auto", "scan"])
@pytest.mark.parametrize("name", DEEDS)
def test_what_a_request_commits_is_gone(folder, name, tracking):
    argv = compile_with(folder, DEEDS[name])
    plain = run_plainly(argv)
    assert plain.text.endswith(" 0 0\n") and plain.code == 0
    answers_in_one_worker(argv, plain, times=5, tracking=tracking)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="x86-64 only")
@pytest.mark.parametrize("after,found", [("", "mapping"), ("raw(SYS_mprotect, (long)room, PAGE, 0)",
                                                           "is not empty")])
def test_verify_finds_what_was_committed_unseen(folder, after, found):
    """The library notes no call, and the request itself makes none."""
    text = "raw(SYS_mprotect, (long)room, PAGE, 3); memset(room, 'L', PAGE);" + after
    quiet = RESERVED.partition("int main(void)")[0] + "int main(void) { %s; return 0; }" % text
    argv = [folder.compile("quiet.c", UNSEEN_C + quiet)]
    with Zygote(argv, reset="rewind", tracking="scan") as zygote:
        worker = zygote.worker()
        assert zygote.verify(worker)[1] == ""
        assert worker.request(argv, say_ready=True).stays
        assert found in zygote.verify(worker)[1]


def test_memory_of_the_checkpoint_may_not_be_bound(folder):
    argv = compile_with(folder, "syscall(SYS_mbind, used, PAGE, 0, 0, 0, 0);")
    with Warm(argv) as warm:
        answer = warm.ask()
        assert answer.retirement == "call" and "mbind" in answer.reason
