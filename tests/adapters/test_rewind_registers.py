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


# The same for aarch64: what it has by /proc/cpuinfo, and a kernel that lets a program use it.
REGISTERS_OF_ARM = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include "rewind/context.h"
static struct context place;
static unsigned char vectors[32][256], predicates[16][32], first_fault[32];
static int has(unsigned long list, int bit) { return getauxval(list) >> bit & 1; }
#define SET(name, value) __asm__ volatile("msr " name ", %0" ::"r"((uint64_t)(value)))
#define GET(name) ({ uint64_t got; __asm__ volatile("mrs %0, " name : "=r"(got)); got; })
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define UPPER(X) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) \
  X(30) X(31)
#define FILL_V(n) __asm__ volatile("movi v" #n ".16b, 255");
#define FILL_Z(n) __asm__ volatile(".arch_extension sve\n dup z" #n ".b, -1");
#define FILL_P(n) __asm__ volatile(".arch_extension sve\n ptrue p" #n ".b");
#define KEEP_V(n) __asm__ volatile("str q" #n ", [%0]" ::"r"(vectors[n]) : "memory");
#define KEEP_Z(n) __asm__ volatile(".arch_extension sve\n str z" #n ", [%0]" ::"r"(vectors[n]) : "memory");
#define KEEP_P(n) __asm__ volatile(".arch_extension sve\n str p" #n ", [%0]" ::"r"(predicates[n]) : "memory");
static void fill(void) {
  if (has(AT_HWCAP2, 23)) { __asm__ volatile(".inst 0xd503457f"); SET("S3_3_C13_C0_5", 77); } /* SMSTART ZA */
  if (has(AT_HWCAP, 22)) {
    EACH(FILL_Z) UPPER(FILL_Z) EACH(FILL_P) __asm__ volatile(".arch_extension sve\n setffr");
  } else {
    EACH(FILL_V) UPPER(FILL_V)
  }
  if (has(AT_HWCAP, 24)) SET("S3_3_C4_C2_5", 1 << 24);
  if (has(AT_HWCAP, 28)) SET("S3_3_C4_C2_6", ~GET("S3_3_C4_C2_6") & 1 << 12);
  SET("fpsr", 31); SET("nzcv", 0xf0000000u);
}
static void show(void) {
  int numbers = 0;
  uint64_t flags = GET("nzcv"), state = GET("fpsr");
  if (has(AT_HWCAP, 22)) {
    EACH(KEEP_Z) UPPER(KEEP_Z) EACH(KEEP_P)
    __asm__ volatile(".arch_extension sve\n rdffr p0.b\n str p0, [%0]" ::"r"(first_fault) : "memory");
  } else {
    EACH(KEEP_V) UPPER(KEEP_V)
  }
  /* The lower halves of v8 to v15 are the caller's. */
  for (int n = 0; n < 32; ++n)
    for (int i = n >= 8 && n < 16 ? 8 : 0; i < 256; ++i) numbers += vectors[n][i] != 0;
  for (int i = 0; i < 32; ++i) numbers += first_fault[i] != 0;
  for (int n = 0; n < 16; ++n) for (int i = 0; i < 32; ++i) numbers += predicates[n][i] != 0;
  uint64_t matrices = 0;
  if (has(AT_HWCAP2, 23)) matrices = GET("S3_3_C4_C2_2") | GET("S3_3_C13_C0_5");
  uint64_t timing = has(AT_HWCAP, 24) ? GET("S3_3_C4_C2_5") : 0;
  uint64_t bypass = has(AT_HWCAP, 28) ? GET("S3_3_C4_C2_6") : 0;
  printf("%d %lx %lx %lx %lx %lx\n", numbers, flags, state, matrices, timing, bypass);
}
int main(void) {
  uint64_t bypass = has(AT_HWCAP, 28) ? GET("S3_3_C4_C2_6") : 0;
  if (context_prepare(&place) != 0) return 2;
  if (context_save(&place) == 0) {
    if (FILLS) fill();
    if (FILLS == 2) show();
    context_resume(&place);
  }
  show();
  printf("%lx\n", bypass);
  return 0;
}
"""


@pytest.mark.skipif(os.uname().machine != "aarch64", reason="registers of aarch64")
def test_no_register_of_aarch64_keeps_anything(folder):
    def seen(fills):
        program = folder.compile("x.c", REGISTERS_OF_ARM, f"-DFILLS={fills}", f"-I{ROOM}",
                                 str(ROOM / "rewind/context.c"))
        return os.popen(program).read().splitlines()
    filled, *after = seen(2)
    assert filled.split()[0] != "0"
    bypass = after[-1]
    for fills in (1, 0):
        assert seen(fills) == after == [f"0 0 0 0 0 {bypass}", bypass]


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
