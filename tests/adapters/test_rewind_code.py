"""reset=rewind and generated code: anonymous memory that is executable, and often not writable at rest, is
part of the checkpoint; a request may write to it, and the next one runs the checkpoint's code."""

import os

import pytest

from driver import Zygote, answers_in_one_worker, run_plainly
from harness.programs import UNSEEN_C

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="machine code of x86-64")

# "mov $n, %eax; ret" on the second page of each; one is not writable at rest, the other always is.
CODE = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define PAGE 4096
static char *sealed, *open_, *wide;
static void put(char *page, int number) {
  memcpy(page + PAGE, "\xb8....\xc3", 6); memcpy(page + PAGE + 1, &number, 4);
}
static int call(char *page) { return ((int (*)(void))(page + PAGE))(); }
__attribute__((constructor)) static void early(void) {
  sealed = mmap(0, 8 * PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  open_ = mmap(0, 8 * PAGE, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  put(sealed, 11); put(open_, 22); mprotect(sealed, 8 * PAGE, 5);
}
static void lines(const char *of) {
  FILE *f = fopen("/proc/self/maps", "r"); char line[999], how[9]; unsigned long a, b;
  while (fgets(line, sizeof line, f))
    if (sscanf(line, "%lx-%lx %s", &a, &b, how) == 3 && (unsigned long)of >= a && (unsigned long)of < b)
      printf("%s ", how);
  fclose(f);
}
static long raw(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}
static int sum(const char *at) {
  int all = 0; for (int i = 0; i < 8 * PAGE; ++i) all = all * 31 + (unsigned char)at[i]; return all;
}
int main(int argc, char **argv) {
  printf("%d %d %x %x ", call(sealed), call(open_), sum(sealed), sum(open_));
  lines(sealed); lines(sealed + 7 * PAGE); lines(open_); puts("");
  put(open_, 33);
  DEED;
  return 0;
}
"""
WRITES = "mprotect(sealed, 8 * PAGE, 3); put(sealed, 44); memset(sealed + 5 * PAGE, 'L', 2 * PAGE);"
DEEDS = {
    "nothing": "",
    "compiles": WRITES + "mprotect(sealed, 8 * PAGE, 5); if (call(sealed) != 44) return 1;",
    "leaves it writable": WRITES,
    "makes it writable and executable": "mprotect(sealed, 8 * PAGE, 7); put(sealed, 44);",
    "leaves a page inaccessible": WRITES + "mprotect(sealed + PAGE, PAGE, 0);",
    "writes to one page": "mprotect(sealed + PAGE, PAGE, 3); put(sealed, 44); "
                          "mprotect(sealed + PAGE, PAGE, 5);",
    "gives it back": "madvise(sealed, 8 * PAGE, MADV_DONTNEED); madvise(open_, 8 * PAGE, MADV_DONTNEED);",
    "unmaps it": "munmap(sealed, 8 * PAGE); munmap(open_ + PAGE, PAGE);",
    "maps over it": "mmap(sealed, 4 * PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); "
                    "put(sealed, 44);",
    "unseen: writes": "raw(SYS_mprotect, (long)sealed, 8 * PAGE, 3); put(sealed, 44); "
                      "raw(SYS_mprotect, (long)sealed, 8 * PAGE, 5);",
}


def compile_with(folder, deed, before=""):
    return [folder.compile("code.c", before + CODE.replace("DEED", deed))]


@pytest.mark.parametrize("tracking", ["compare", "auto", "scan", "soft-dirty"])
@pytest.mark.parametrize("name", DEEDS)
def test_the_next_request_runs_the_checkpoint_s_code(folder, name, tracking):
    argv = compile_with(folder, DEEDS[name])
    plain = run_plainly(argv)
    assert plain.text.startswith("11 22 ") and plain.code == 0
    answers_in_one_worker(argv, plain, tracking=tracking)


def test_verify_finds_other_code(folder):
    argv = compile_with(folder, "")
    with Zygote(argv, reset="rewind") as zygote:
        worker = zygote.worker()
        assert worker.request(argv, say_ready=True).stays and zygote.verify(worker)[1] == ""
        [line] = [line for line in open(f"/proc/{worker.pid}/maps") if "r-xp" in line and len(line) < 60]
        with open(f"/proc/{worker.pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(int(line.split("-")[0], 16) + 4096 + 1)
            memory.write(b"L")
        assert "differs" in zygote.verify(worker)[1]


def test_verify_finds_code_that_stays_writable(folder):
    argv = compile_with(folder, "raw(SYS_mprotect, (long)sealed, 8 * PAGE, 7)", UNSEEN_C)
    with Zygote(argv, reset="rewind") as zygote:
        worker = zygote.worker()
        assert worker.request(argv, say_ready=True).stays
        assert "mapping" in zygote.verify(worker)[1]
