"""The checkpoint library under valgrind's memcheck.

This tests `fork`: a zygote, its workers and their requests. Valgrind cannot test `rewind`: a rewinding worker
puts back every changed page from a separate stack, including the program's stack below its pointer. Memcheck
takes that for a wrong write, and it has no userfaultfd; valgrind 3.19 then ends in an assertion of its own.
Instead, rewind has its own check (`verify`), page by page."""

import os
import pty
import re
import shutil
import threading
import tty

import pytest

import driver
from driver import LAUNCH_ENV, Zygote, library
from harness.compiled import compile_library

MEMCHECK = "/usr/libexec/valgrind/memcheck-amd64-linux"

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
  char *text = malloc(100);
  snprintf(text, 100, "%d %s %s", argc, argv[1], getenv("QUERY_STRING"));
  puts(text);
  free(text);
  int c; while ((c = getchar()) != EOF) putchar(c);
  return 3;
}
"""

# valgrind keeps its own files open, which a program may not have at its checkpoint.
HIDE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
int fstat(int fd, struct stat *status) {
  if (fd >= 1000) { errno = EBADF; return -1; }
  return fstatat(fd, "", status, AT_EMPTY_PATH);
}
"""


class Listener:
    """A terminal, because memcheck can write to it without an open file."""

    def __init__(self):
        self.master, self.slave = pty.openpty()
        tty.setraw(self.slave)
        self.pieces = []
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        try:
            while piece := os.read(self.master, 65536):
                self.pieces.append(piece)
        except OSError:
            pass  # all writers are gone

    def heard(self):
        os.close(self.slave)
        self.thread.join(20)
        os.close(self.master)
        return b"".join(self.pieces).decode(errors="replace")


@pytest.fixture
def memcheck(folder, monkeypatch):
    if not (shutil.which("valgrind") and os.path.exists(MEMCHECK)):
        pytest.skip("valgrind is not installed (or not for this machine)")
    monkeypatch.setattr(driver, "PATIENCE", 120.0)
    hide = folder.path / "hide.so"
    source = folder.path / "hide.c"
    source.write_text(HIDE)
    compile_library(source, hide)
    listener = Listener()

    def zygote(argv, **options):
        command = [MEMCHECK, "--vgdb=no", "--leak-check=full", "--child-silent-after-fork=no",
                   f"--log-file={os.ttyname(listener.slave)}", *argv]
        # It is static, but loads what it runs by itself.
        return Zygote(command, executable=MEMCHECK, preload=f"{hide}:{library()}", env={
            **LAUNCH_ENV, "VALGRIND_LAUNCHER": "/usr/bin/valgrind.bin",
            "VALGRIND_LIB": os.path.dirname(MEMCHECK)}, **options)
    zygote.heard = listener.heard
    return zygote


def test_a_forking_zygote_and_its_workers_make_no_error(memcheck, folder):
    argv = [folder.compile("program.c", PROGRAM), "word"]
    with memcheck(argv, reset="fork") as zygote:
        for _ in range(2):
            answer = zygote.worker().request(argv, body=b"body")
            assert (answer.stdout, answer.code) == (b"2 word a=1&b=2\nbody", 3)
    summaries = re.findall(r"ERROR SUMMARY: (\d+) errors", log := memcheck.heard())
    assert summaries == ["0"] * 3, log


def test_a_huge_environment_by_memfd_makes_no_error(memcheck, folder):
    argv = [folder.compile("program.c", PROGRAM), "word"]
    env = {**driver.REQUEST_ENV, **{f"HTTP_X_{i}": "v" * 2000 for i in range(100)}}
    with memcheck(argv, reset="fork") as zygote:
        assert zygote.worker().request(argv, env=env).code == 3
    summaries = re.findall(r"ERROR SUMMARY: (\d+) errors", log := memcheck.heard())
    assert summaries == ["0"] * 2, log
