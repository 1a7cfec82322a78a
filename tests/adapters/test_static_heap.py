"""The heap of a static executable, whose end the preloaded library's libc does not move."""

import os

import pytest

import driver
from driver import run_plainly

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="elsewhere they run classic")

LOOKS_AT_FRESH_MEMORY = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
  int callocs = 0, bytes = 0;
  for (int i = 0; i < 400; ++i) {
    char *piece = calloc(1, 1000);
    for (int k = 0; k < 1000; ++k) callocs += piece[k] != 0;
    memset(piece, 'x', 1000);
  }
  char *fresh = sbrk(0);
  sbrk(200000);
  for (int i = 0; i < 200000; ++i) bytes += fresh[i] != 0;
  memset(fresh, 'y', 200000);
  for (int i = 0; i < 50; ++i) fclose(fopen("/dev/null", "w"));
  for (int i = 0; i < 200000; ++i) bytes += fresh[i] != 'y';
  printf("calloc: %d, sbrk: %d\n", callocs, bytes);
}
"""

CONSTRUCTOR = "__attribute__((constructor)) static void begin(void) { free(malloc(3000)); }\n"


# With a constructor the checkpoint is before the first instruction, else at main().
@pytest.mark.parametrize("more", ["", CONSTRUCTOR], ids=["at main()", "at the first instruction"])
def test_memory_that_the_heap_grows_by_is_empty_and_the_program_s_own(folder, more):
    text = LOOKS_AT_FRESH_MEMORY.replace("int main", more + "int main")
    program = folder.compile("looks.c", text, "-static")
    plain = run_plainly([program])
    assert plain.stdout == b"calloc: 0, sbrk: 0\n"
    driver.answers_in_one_worker([program], plain, times=4)
