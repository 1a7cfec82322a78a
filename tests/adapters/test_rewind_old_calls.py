"""reset=rewind: system calls in other forms than libc's: of 32 bits (`int $0x80`), whose numbers mean other
calls, and with bits in the number's register that the kernel does not look at."""

import os

import pytest

from driver import Warm, run_plainly

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="x86-64 has them")

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
static long old(int n, int b, int c, int d, int s, int e, int p) {
  long result;
  register long place __asm__("r12") = p;
  __asm__ volatile("push %%rbp\n mov %%r12d, %%ebp\n int $0x80\n pop %%rbp"
                   : "=a"(result) : "a"(n), "b"(b), "c"(c), "d"(d), "S"(s), "D"(e), "r"(place)
                   : "memory", "r8", "r9", "r10", "r11");
  return result;
}
static long wide(long n, long a, long b) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(n | 0xfffffff00000000), "D"(a), "S"(b)
                   : "rcx", "r11", "memory");
  return result;
}
static void show(void) {
  int mode = -1;
  syscall(SYS_get_mempolicy, &mode, 0, 0, 0, 0);
  printf("%d %x\n", mode, personality(0xffffffff));
}
/* The second page of a file, with all six words. */
static void map(void) {
  static char text[8192];
  int file = memfd_create("file", 0);
  memset(text, 'a', 4096); memset(text + 4096, 'b', 4096);
  write(file, text, sizeof text);
  char *place = (char *)(old(192, 0, 4096, PROT_READ, MAP_PRIVATE, file, 1) & 0xffffffff);
  printf("%d %c\n", place != NULL && place != (char *)0xffffffff, place[4095]);
}
int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  if (*what == 0) show();
  if (!strcmp(what, "map")) map();
  if (!strcmp(what, "policy")) old(276, 4, 0, 0, 0, 0, 0);
  if (!strcmp(what, "wide")) wide(SYS_personality, 0x0040000, 0);
  if (!strcmp(what, "negative")) wide(SYS_personality | 1l << 63, 0x0040000, 0);
  if (!strcmp(what, "none")) wide(-1, 0x2ffffffff, 0x2ffffffff);
  if (!strcmp(what, "no function")) syscall(-1L, 0x2ffffffff, 0x2ffffffff, 0x2ffffffff, 0x2ffffffff);
  if (!strcmp(what, "function")) syscall(SYS_personality | ~0l << 32, 0x0040000L);
  puts("end");
}
"""


@pytest.fixture(params=["dynamic", "static"])
def program(folder, request):
    return [folder.compile("old.c", SOURCE, *(["-static"] if request.param == "static" else []))]


@pytest.mark.parametrize("what", ["map", "policy", "wide", "negative", "function", "none", "no function"])
def test_a_call_of_another_form_does_what_it_would_and_is_not_found_by_the_next(program, what):
    plain, done = run_plainly(program), run_plainly([*program, what])
    assert done.stdout.endswith(b"end\n")
    if what == "map":
        assert done.stdout == b"1 b\nend\n"
    with Warm(program, verify=False) as warm:
        for _ in range(3):
            assert warm.ask(what).seen() == done.seen()
            assert warm.ask().seen() == plain.seen()


def test_a_call_of_32_bits_costs_the_worker(program):
    with Warm(program) as warm:
        assert warm.ask("x").stays
        answer = warm.ask("policy")
        assert not answer.stays and answer.text == "end\n"
        assert answer.retirement in ("call", None), answer.reason  # of itself, or with the program's own end
