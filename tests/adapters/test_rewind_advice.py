"""Memory that a program keeps from its children (MADV_DONTFORK): each worker has it, although it is a child
of the zygote, and its own children do not."""

import os

import pytest

from driver import Warm, Zygote, run_plainly

# One such mapping among others, and one of a file; each was written to before the checkpoint.
UNFORKED = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define PAGE 4096
static char *all, *kept, *file;
__attribute__((constructor)) static void early(void) {
  all = mmap(0, 24 * PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  kept = all + 8 * PAGE;
  memset(all, 'a', 24 * PAGE);
  madvise(kept, 4 * PAGE, MADV_DONTFORK);
  madvise(kept + 4 * PAGE, 4 * PAGE, MADV_DONTFORK);
  file = mmap(0, PAGE, 3, MAP_PRIVATE, open("/proc/self/exe", O_RDONLY), 0);
  file[7] = 'f';
  madvise(file, PAGE, MADV_DONTFORK);
  close(3);
}
static int sum(const char *at, size_t bytes) {
  int all = 0; for (size_t i = 0; i < bytes; ++i) all += at[i]; return all;
}
static int child_has(const char *at) { /* which no handler is asked about */
  int status; fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) _exit(*(volatile const char *)at == 0);
  waitpid(pid, &status, 0);
  return WIFEXITED(status);
}
static long raw(long number, long a, long b, long c) { /* by an instruction, which is not noticed */
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}
int main(int argc, char **argv) {
  printf("%d %c; ", sum(all, 24 * PAGE), file[7]);
  printf("children have %d %d %d %d\n", child_has(all), child_has(kept), child_has(kept + 7 * PAGE),
         child_has(file));
  memset(kept, 'L', 5 * PAGE); file[7] = 'L';
  const char *deed = argc > 1 ? argv[1] : "";
  if (strcmp(deed, "maps over it") == 0)
    mmap(kept + PAGE, PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (strcmp(deed, "unmaps it") == 0) munmap(kept, 8 * PAGE);
  if (strcmp(deed, "gives it to children") == 0) madvise(kept, PAGE, MADV_DOFORK);
  if (strcmp(deed, "keeps more") == 0) madvise(all, PAGE, MADV_DONTFORK);
  if (strcmp(deed, "moves such memory over other") == 0) {
    char *own = mmap(0, PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(own, PAGE, MADV_DONTFORK);
    mremap(own, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, all);
  }
  if (strcmp(deed, "unseen: gives it") == 0) raw(SYS_madvise, (long)kept, PAGE, MADV_DOFORK);
  if (strcmp(deed, "unseen: keeps more") == 0) raw(SYS_madvise, (long)all, PAGE, MADV_DONTFORK);
  if (strcmp(deed, "unseen: has more emptied") == 0) raw(SYS_madvise, (long)all, PAGE, MADV_WIPEONFORK);
  return 0;
}
"""
DEEDS = {
    "nothing": None, "maps over it": None, "unmaps it": None, "gives it to children": "mappings",
    "keeps more": "mappings", "moves such memory over other": "mappings",
}


@pytest.mark.parametrize("reset,tracking", [("rewind", "auto"), ("rewind", "compare"), ("fork", "auto")])
def test_a_worker_has_what_is_kept_from_children(folder, reset, tracking):
    program = folder.compile("unforked.c", UNFORKED)
    plain = run_plainly([program])
    assert plain.text.endswith("children have 1 0 0 0\n")
    with Warm([program], reset=reset, tracking=tracking) as warm:
        assert warm.reset == reset, warm.weaker
        for deed in [*DEEDS, *DEEDS]:
            answer = warm.ask(deed)
            assert answer.seen() == plain.seen(), deed
            if reset == "rewind":
                assert answer.retirement == DEEDS[deed], (deed, answer.reason)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="x86-64 only")
@pytest.mark.parametrize("deed,found", [("gives it", ""), ("keeps more", "advised otherwise"),
                                        ("has more emptied", "advised otherwise")])
def test_verify_finds_other_advice_that_is_not_put_back(folder, deed, found):
    program = folder.compile("unforked.c", UNFORKED)
    with Zygote([program], reset="rewind") as zygote:
        worker = zygote.worker()
        assert worker.request([program], say_ready=True).stays
        assert zygote.verify(worker)[1] == ""
        assert worker.request([program, "unseen: " + deed], say_ready=True).stays
        difference = zygote.verify(worker)[1]
        assert found in difference and bool(found) == bool(difference)


def test_much_of_it_in_pieces(folder):
    program = folder.compile("pieces.c", r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
static char *all;
__attribute__((constructor)) static void early(void) {
  all = mmap(0, 600 * 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 600; ++i) all[i * 8192] = i, madvise(all + i * 8192, 4096, MADV_DONTFORK);
}
int main(void) {
  int sum = 0;
  for (int i = 0; i < 600; ++i) sum += (unsigned char)all[i * 8192]++ * i;
  printf("%d\n", sum);
}
""")
    plain = run_plainly([program])
    for reset in ("rewind", "fork"):
        with Warm([program], reset=reset) as warm:
            assert warm.reset == reset, warm.weaker
            assert [warm.ask().seen() for _ in range(4)] == [plain.seen()] * 4


# MADV_GUARD_INSTALL (Linux 6.13): whoever touches the page is ended.
GUARDED = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static char *early, page[8192] __attribute__((aligned(4096)));
static char data[8192] __attribute__((aligned(4096))) = "of a file";
__attribute__((constructor)) static void load(void) {
  early = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(early, 1, 1 << 16);
  if (AT_LOAD) madvise(early, 4096, 102);
}
int main(int argc, char **argv) {
  struct { void *start; size_t bytes; } range = {early, 4096};
  int way = argc > 1 ? atoi(argv[1]) : 0;
  long result = 0;
  if (way == 1) result = madvise(page, 4096, 102);
  if (way == 2) result = syscall(SYS_madvise, early, 4096, 102);
  if (way == 3) result = madvise(mmap(0, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096, 102);
  if (way == 5) result = madvise(data, 4096, 102);
  if (way == 6) range.start = data;
  if (way == 8) {
    syscall(SYS_add_key, 0, 0, 0, 0, 0); /* costs the worker in any case; then calls pass unseen */
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_madvise), "D"(data), "S"(4096), "d"(102)
                     : "rcx", "r11", "memory");
  }
  if (way == 7 && vfork() == 0) _exit(madvise(data, 4096, 102));
  if (way == 4 || way == 6)
    result = syscall(SYS_process_madvise, syscall(434, getpid(), 0), &range, 1, 102, 0);
  if (AT_LOAD && early[4096] != 1) result = 5;
  printf("%ld\n", result);
}
"""


def compile_guarded(folder, at_load, *flags):
    return [folder.compile("guarded.c", GUARDED, f"-DAT_LOAD={at_load}", *flags)]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="x86-64 only")
@pytest.mark.parametrize("flags", [[], ["-static"]], ids=["dynamic", "static"])
def test_guards_in_memory_of_the_checkpoint(folder, flags):
    argv = compile_guarded(folder, 0, *flags)
    with Warm(argv, tracking="scan") as warm:
        assert warm.reset == "rewind", warm.weaker
        for way in "12345678" * 2:
            plain = run_plainly([*argv, way])
            assert warm.ask(way).seen() == plain.seen(), way


def test_guards_at_the_checkpoint(folder):
    has_guards = run_plainly([*compile_guarded(folder, 0), "1"]).text == "0\n"
    argv = compile_guarded(folder, 1)
    plain = run_plainly(argv)
    with Warm(argv, verify=False) as warm:
        assert warm.reset == ("fork" if has_guards else "rewind")
        assert not has_guards or "guard" in warm.weaker
        for _ in range(2):
            assert warm.ask().seen() == plain.seen()
