"""reset=rewind: what a request may set in the processor, or have the kernel set there for it. The next one
finds what a new process finds; and a request may end with whatever flags its last instruction has left."""

import platform

import pytest

from driver import Warm, run_plainly

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="these are x86's")

SOURCE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { kGetCpuid = 0x1011, kSetCpuid, kGetTiles = 0x1022, kAskForTiles, kTiles = 18 };
enum { kSetGs = 0x1001, kGetGs = 0x1004 };
static char page[8192] __attribute__((aligned(4096)));
static void show(void) {
  unsigned long may = 0, gs = 0;
  syscall(SYS_arch_prctl, kGetTiles, &may);
  syscall(SYS_arch_prctl, kGetGs, &gs);
  printf("cpuid %ld, registers %lx, gs %lx, ", (long)syscall(SYS_arch_prctl, kGetCpuid, 0), may, gs);
  printf("key %ld\n", (long)syscall(SYS_pkey_alloc, 0, 0));
}
static void set_flag(unsigned long flag) {
  __asm__ volatile("pushf\n\torq %0, (%%rsp)\n\tpopf" : : "r"(flag) : "memory", "cc");
}
int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "", *way = argc > 2 ? argv[2] : "";
  if (!strcmp(what, "show")) show();
  if (!strcmp(what, "cpuid")) syscall(SYS_arch_prctl, kSetCpuid, 0);
  if (!strcmp(what, "tiles")) syscall(SYS_arch_prctl, kAskForTiles, kTiles);
  if (!strcmp(what, "gs")) syscall(SYS_arch_prctl, kSetGs, page);
  if (!strcmp(what, "mmap")) mmap(0, 4096, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!strcmp(what, "mprotect")) mprotect(page, 4096, PROT_EXEC);
  if (!strcmp(what, "pkey_mprotect")) syscall(SYS_pkey_mprotect, page, 4096, PROT_EXEC, -1);
  if (!strcmp(what, "mmap by number"))
    syscall(SYS_mmap, 0, 4096, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  write(1, "end\n", 4);
  fflush(stdout);
  if (!strcmp(what, "direction")) set_flag(1 << 10);
  if (!strcmp(what, "task")) set_flag(1 << 14);
  if (!strcmp(way, "return")) return 5;
  _exit(4);
}
"""
KEPT = ["cpuid", "tiles", "gs", "mmap", "mprotect", "pkey_mprotect", "mmap by number"]
LINKING = {"dynamic": [], "static": ["-static"]}


@pytest.mark.parametrize("linking", LINKING)
def test_what_the_kernel_keeps_of_the_processor(folder, linking):
    argv = [folder.compile("processor.c", SOURCE, *LINKING[linking])]
    plain = run_plainly([*argv, "show"])
    with Warm(argv) as warm:
        assert warm.reset == "rewind", warm.weaker
        for deed in KEPT:
            assert warm.ask(deed).seen() == run_plainly([*argv, deed]).seen(), deed
            assert warm.ask("show").seen() == plain.seen(), deed


@pytest.mark.parametrize("linking", LINKING)
@pytest.mark.parametrize("flag", ["direction", "task"])
def test_a_flag_that_is_set_at_the_end(folder, linking, flag):
    argv = [folder.compile("processor.c", SOURCE, *LINKING[linking])]
    with Warm(argv) as warm:
        for way in ("leave", "return"):
            plain = run_plainly([*argv, flag, way])
            for _ in range(2):
                assert warm.ask(flag, way).seen() == plain.seen()
        assert (warm.workers, warm.retired) == (1, [])
