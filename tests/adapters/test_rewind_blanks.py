"""reset=rewind and large memory that nobody had touched at the checkpoint: it is empty for each request, and
costs nothing by its size."""

import pytest

from driver import Warm, Zygote, answers_in_one_worker, run_plainly

# A gigabyte of which a few pages are in use, one that is executable, and one with short gaps only.
BLANK = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#define PAGE 4096
#define SIZE (1l << 30)
static char *wide, *code, *gaps;
static char *map(size_t bytes, int prot) {
  return mmap(0, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}
__attribute__((constructor)) static void early(void) {
  wide = map(SIZE, 3); code = map(4 << 20, 7); gaps = map(4 << 20, 3);
  wide[5] = 5; wide[(5 << 20) + 5] = 6; wide[SIZE - 1] = 7;
  mprotect(code + (3 << 20), 1 << 20, 5);
  for (int i = 0; i < 1024; i += 60) gaps[i * PAGE] = i;
}
static int used; /* bytes of what should be empty that are not */
static void look(const char *at, size_t bytes) { for (size_t i = 0; i < bytes; ++i) used += at[i] != 0; }
int main(void) {
  for (long at = 1 << 20; at < 5 << 20; at += 64 * PAGE) look(wide + at, 2 * PAGE);
  look(wide + (8 << 20), 300 * PAGE); look(wide + SIZE / 2, 3 * PAGE); look(code, 4 << 20);
  unsigned sum = 0; for (int i = 0; i < 4 << 20; ++i) sum = sum * 31 + (unsigned char)gaps[i];
  printf("%d %d %d %x %d\n", wide[5], wide[(5 << 20) + 5], wide[SIZE - 1], sum, used);
  fflush(stdout);
  wide[5] = 'L'; wide[SIZE - 1] = 'L';
  DEED;
  return 0;
}
"""
DEEDS = {
    "nothing": "",
    "writes to a page": "wide[1 << 20] = wide[SIZE / 2 + PAGE] = 'L';",
    "writes to many pages": "memset(wide + (8 << 20), 'L', 300 * PAGE);",
    "writes to every second page": "for (int i = 0; i < 300; i += 2) wide[(8 << 20) + i * PAGE] = 'L';",
    "writes to what is executable": "memset(code, 'L', 3 << 20);",
    "makes it writable": "mprotect(code, 4 << 20, 3); memset(code, 'L', 4 << 20); "
                         "mprotect(code, 4 << 20, 5);",
    "writes across its borders": "memset(wide + (5 << 20) - 5 * PAGE, 'L', 10 * PAGE); "
                                 "memset(gaps, 'L', 99 * PAGE);",
    "gives it back": "memset(wide + (8 << 20), 'L', PAGE); madvise(wide, SIZE, MADV_DONTNEED); "
                     "wide[9 << 20] = 'L';",
    "frees it some day": "memset(wide + (8 << 20), 'L', PAGE); madvise(wide, SIZE, MADV_FREE);",
    "unmaps a part": "munmap(wide + (4 << 20), 16 << 20);",
    "unmaps a part, and maps as much": "munmap(wide + (8 << 20), 8 << 20); memset(map(8 << 20, 3), 'L', 9 * "
                                       "PAGE); ",
    "maps over a part": "memset(mmap(wide + (7 << 20), 4 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, "
                        "-1, 0), 'L', 2 << 20);",
    "protects a part": "memset(wide + (8 << 20), 'L', PAGE); mprotect(wide + (7 << 20), 4 << 20, 0);",
}


def compile_with(folder, deed):
    return [folder.compile("blank.c", BLANK.replace("DEED", deed))]


@pytest.mark.parametrize("tracking", ["compare", "auto", "scan"])
@pytest.mark.parametrize("name", DEEDS)
def test_what_nobody_had_touched_is_empty(folder, name, tracking):
    argv = compile_with(folder, DEEDS[name])
    plain = run_plainly(argv)
    assert plain.text.startswith("5 6 7 ") and plain.text.endswith(" 0\n")
    answers_in_one_worker(argv, plain, tracking=tracking)


def test_what_is_no_more_used_is_given_back(folder):
    """Pages that requests write to stay, because new ones cost more; but only while they are written to."""
    program = folder.compile("blank.c", BLANK.replace("DEED", """
      if (getenv("HTTP_WRITES")) for (int i = 0; i < 20000; i += 2) wide[(8 << 20) + i * PAGE] = 'L';"""))
    with Warm([program], tracking="scan", verify=False) as warm:
        pages = [warm.ask(env={"HTTP_WRITES": "1"}).pages for _ in range(3)]
        assert min(pages[1:]) > 9_000
        assert any(warm.ask(env={}).pages < 3_000 for _ in range(40)) and warm.workers == 1


def test_a_large_reservation_is_not_too_many_pages(folder):
    program = folder.compile("large.c", r"""
#include <stdio.h>
#include <sys/mman.h>
static char *wide;
__attribute__((constructor)) static void early(void) {
  wide = mmap(0, 1l << 36, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  wide[1l << 35] = 5;
}
int main(void) { printf("%d %d\n", wide[1l << 35]++, wide[(1l << 35) + (9 << 20)]++); return 0; }
""")
    with Warm([program]) as warm:
        assert [warm.ask().text for _ in range(5)] == ["5 0\n"] * 5 and warm.retired == []


def test_verify_finds_what_is_left_there(folder):
    argv = compile_with(folder, "")
    with Zygote(argv, reset="rewind") as zygote:
        worker = zygote.worker()
        assert worker.request(argv, say_ready=True).stays and zygote.verify(worker)[1] == ""
        lines = [line.split()[0] for line in open(f"/proc/{worker.pid}/maps")]
        ranges = [tuple(int(end, 16) for end in line.split("-")) for line in lines]
        [(start, end)] = [one for one in ranges if one[1] - one[0] == 1 << 30]
        with open(f"/proc/{worker.pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(end - (99 << 20))
            memory.write(b"L")
        assert "differs" in zygote.verify(worker)[1]
        assert worker.request(argv, say_ready=True).stays and zygote.verify(worker)[1] == ""
