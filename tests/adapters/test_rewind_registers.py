"""reset=rewind: no register keeps anything of a visitor, and a library's change to the stack's protection is
undone."""

import os
import pathlib

import pytest

from driver import Warm

ROOM = pathlib.Path(__file__).resolve().parents[2] / "adapters" / "checkpoint"

# Writes to each register that this processor has, then asks the processor which ones still hold anything.
REGISTERS = r"""
#include <cpuid.h>
#include <stdio.h>
#include <string.h>
#include "rewind/context.h"
static struct context place;
static struct { unsigned char legacy[512]; unsigned long in_use, rest[7]; unsigned char more[16384]; }
    __attribute__((aligned(64))) left;
static int has(unsigned bit) {
  unsigned a, b, c, d; __get_cpuid_count(7, 0, &a, &b, &c, &d); return b >> bit & 1; }
static void fill(void) {
  __asm__ volatile("fldpi\n fldpi\n fldpi\n fldpi\n fldpi\n fldpi\n fldpi\n fldpi");
  if (has(5)) __asm__ volatile(
      "vpcmpeqd %%ymm0, %%ymm0, %%ymm0\n vmovdqa %%ymm0, %%ymm7\n vmovdqa %%ymm0, %%ymm15" ::: "memory");
  if (has(16)) __asm__ volatile("vpternlogd $255, %%zmm20, %%zmm20, %%zmm20\n"
                              " kxnorw %%k1, %%k1, %%k1" ::: "memory");
}
int main(void) {
  if (context_prepare(&place) != 0) return 2;
  if (context_save(&place) == 0) {
    if (FILLS) fill();
    context_resume(&place);
  }
  __asm__ volatile("xsave64 %0" : "+m"(left) : "a"(-1), "d"(-1) : "memory");
  int numbers = 0;
  for (int i = 32; i < 32 + 128 + 256; ++i) numbers += left.legacy[i] != 0;  /* ST0 to ST7, XMM0 to XMM15 */
  /* But for the x87's modes, SSE's and the keys, which are never at their first state. */
  printf("%d %lx\n", numbers, left.in_use & ~(1ul | 2 | 1 << 9));
}
"""


@pytest.mark.skipif("xsave" not in pathlib.Path("/proc/cpuinfo").read_text(), reason="x86-64 with XSAVE only")
@pytest.mark.parametrize("fills", [1, 0])
def test_no_register_keeps_anything(folder, fills):
    program = folder.compile("x.c", REGISTERS, f"-DFILLS={fills}", f"-I{ROOM}",
                             str(ROOM / "rewind/context.c"))
    assert os.popen(program).read() == "0 0\n"


SEGMENTS = r"""
#include <stdio.h>
#include <sys/auxv.h>
int main(int argc, char **argv) {
  unsigned short ds, es, gs;
  unsigned long base = 0;
  int has = (getauxval(AT_HWCAP2) & 2) != 0;
  __asm__ volatile("mov %%ds, %0\n mov %%es, %1\n mov %%gs, %2" : "=r"(ds), "=r"(es), "=r"(gs));
  if (has) __asm__ volatile("rdgsbase %0" : "=r"(base));
  printf("%x %x %x %lx\n", ds, es, gs, base);
  switch (argv[argc - 1][0]) {
    case 'd': __asm__ volatile("mov %0, %%ds" ::"r"(0x2b)); break;
    case 'e': __asm__ volatile("mov %0, %%es" ::"r"(0x2b)); break;
    case 'g': __asm__ volatile("mov %0, %%gs" ::"r"(0x2b)); break;
    case 'b': if (has) __asm__ volatile("wrgsbase %0" ::"r"(0x123456789000ul));
  }
  return 0;
}
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="x86-64 only")
@pytest.mark.parametrize("flags", [[], ["-static"]], ids=" ".join)
def test_segments_are_those_of_the_checkpoint(folder, flags):
    program = folder.compile("x.c", SEGMENTS, *flags)
    plain = os.popen(program).read()
    with Warm([program]) as warm:
        for word in "dxexgxbx":
            assert warm.ask(word).text == plain
        assert not warm.retired


def stack_of(text):
    return text.splitlines()[0]


def test_a_stack_that_a_library_made_executable_is_not_so_for_the_next(folder):
    """glibc 2.41 refuses such a library."""
    library = folder.compile("late.c", "int main;", "-shared", "-fPIC", "-Wl,-z,execstack")
    program = folder.compile("x.c", r"""
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
static void look(void) {
  char line[512]; FILE *maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps))
    if (strstr(line, "[stack]")) printf("%%.4s\n", strchr(line, ' ') + 1);
  fclose(maps);
}
int main(void) { look(); puts(dlopen("%s", RTLD_NOW) ? "loaded" : "refused"); look(); return 0; }
""" % library, "-ldl")
    with Warm([program]) as warm:
        answers = [warm.ask() for _ in range(4)]
    assert {stack_of(answer.text) for answer in answers} == {"rw-p"}
    assert len({answer.text for answer in answers}) == 1
    assert warm.retired == [] or {why for why, _ in warm.retired} == {"mappings"}
