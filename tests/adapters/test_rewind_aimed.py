"""reset=rewind: a request may leave somebody a means that is aimed at its worker: a file whose owner gets a
signal, an event that observes it. A child that outlives the request, or who was sent the file, would use it
on the next request. Such a request costs its worker, in whatever way the call was made."""

import os
import platform

import pytest

from driver import Warm, run_plainly
from harness.compiled import compile_go

only_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the kernel hands calls back on x86-64")

SOURCE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#ifndef SIOCSPGRP
#define SIOCSPGRP 0x8902
#define FIOSETOWN 0x8901
#endif
static long by_instruction(long n, long a, long b, long c, long d, long e) {
  long result;
#if defined(__x86_64__)
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = 0;
  __asm__ volatile("syscall" : "=a"(result)
                   : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
#endif
  return result;
}
static int way;
static long control(int file, long command, long argument) {
  if (way == 0) return fcntl(file, command, argument);
  if (way == 1) return fcntl64(file, command, argument);
  return way == 2 ? syscall(SYS_fcntl, file, command, argument)
                  : by_instruction(SYS_fcntl, file, command, argument, 0, 0);
}
static long ask(int file, unsigned long request, int value) {
  if (way <= 1) return ioctl(file, request, &value);
  return way == 2 ? syscall(SYS_ioctl, file, request, &value)
                  : by_instruction(SYS_ioctl, file, request, (long)&value, 0, 0);
}
static long call5(long n, long a, long b, long c, long d, long e) {
  return way <= 2 ? syscall(n, a, b, c, d, e) : by_instruction(n, a, b, c, d, e);
}
static int pair[2];
static void deed(const char *what) {
  struct f_owner_ex owner = {F_OWNER_PID, getpid()};
  struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE, .size = sizeof event, .exclude_kernel = 1,
                                  .config = PERF_COUNT_SW_PAGE_FAULTS};
  struct sigevent note = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  struct mq_attr small = {.mq_maxmsg = 1, .mq_msgsize = 8};
  int file;
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  if (!strcmp(what, "an owner")) control(pair[0], F_SETOWN, getpid());
  if (!strcmp(what, "an owner of a kind")) control(pair[0], F_SETOWN_EX, (long)&owner);
  if (!strcmp(what, "another signal")) control(pair[0], F_SETSIG, SIGUSR1);
  if (!strcmp(what, "a flag")) control(pair[0], F_SETFL, O_ASYNC);
  if (!strcmp(what, "a lease")) control(open("lent", O_CREAT | O_RDONLY, 0600), F_SETLEASE, F_RDLCK);
  if (!strcmp(what, "a folder")) control(open(".", O_RDONLY), F_NOTIFY, DN_CREATE | DN_MULTISHOT);
  if (!strcmp(what, "a command that nobody knows")) control(pair[0], 1099, 0);
  if (!strcmp(what, "FIOASYNC")) ask(pair[0], FIOASYNC, 1);
  if (!strcmp(what, "FIOSETOWN")) ask(pair[0], FIOSETOWN, getpid());
  if (!strcmp(what, "SIOCSPGRP")) ask(pair[0], SIOCSPGRP, getpid());
  if (!strcmp(what, "a driver")) ask(open("/dev/fuse", O_RDWR), 0xdead, 0);
  if (!strcmp(what, "an event")) call5(SYS_perf_event_open, (long)&event, 0, -1, -1, 0);
  if (!strcmp(what, "a queue")) {
    file = mq_open("/cgibridge-test", O_CREAT | O_RDWR, 0600, &small);
    mq_unlink("/cgibridge-test");
    way == 0 ? mq_notify(file, &note) : call5(SYS_mq_notify, file, (long)&note, 0, 0, 0);
  }
  if (!strcmp(what, "nothing of it")) {
    control(pair[0], F_SETFL, O_NONBLOCK);
    control(pair[0], F_GETOWN, 0);
    control(pair[0], F_SETFD, FD_CLOEXEC);
    ask(pair[0], FIONBIO, 1);
    ask(open("/dev/null", O_RDWR), 0xdead, 0);
  }
}
/* It leads a session of its own, has no stream, and writes into the pair when it is told to. */
static void leave_a_child(void) {
  pid_t child = fork();
  if (child != 0) { waitpid(child, NULL, 0); return; }
  setsid();
  if (fork() != 0) _exit(0);
  for (int i = 0; i < 3; ++i) close(i);
  for (int i = 0; i < 3000 && access("go", F_OK) != 0; ++i) usleep(1000);
  write(pair[1], "x", 1);
  creat("gone", 0600);
  _exit(0);
}
int main(int argc, char **argv) {
  way = argc > 2 ? atoi(argv[2]) : 0;
  if (argc > 1) deed(argv[1]);
  if (argc > 3) {
    deed("a flag");
    control(pair[0], F_SETOWN, getpid());
    leave_a_child();
  }
  if (argc == 1) {
    creat("go", 0600);
    for (int i = 0; i < 3000 && access("gone", F_OK) != 0; ++i) usleep(1000);
  }
  puts("end");
}
"""
DEEDS = ["an owner", "an owner of a kind", "another signal", "a flag", "a lease", "a folder", "an event",
         "a command that nobody knows", "FIOASYNC", "FIOSETOWN", "SIOCSPGRP", "a queue"]
WAYS = {"fcntl": 0, "fcntl64": 1, "number": 2, "instruction": 3}


@pytest.fixture
def program(folder):
    return lambda *flags: [folder.compile("aims.c", SOURCE, *flags)]


@pytest.mark.parametrize("linking", ["dynamic", pytest.param("static", marks=only_x86)])
def test_what_is_aimed_at_a_worker_costs_it(program, folder, linking):
    argv = program(*(["-static"] if linking == "static" else []))
    deeds = [*DEEDS, *(["a driver"] if os.access("/dev/fuse", os.R_OK | os.W_OK) else [])]
    ways = [way for way in WAYS.values() if way != 3 or platform.machine() == "x86_64"]
    with Warm(argv, verify=False) as warm:
        for way in ways:
            assert warm.ask("nothing of it", str(way), cwd=str(folder.path)).stays, way
            for deed in deeds:
                answer = warm.ask(deed, str(way), cwd=str(folder.path))
                assert (answer.text, answer.retirement) == ("end\n", "call"), (deed, way, answer.reason)


def test_no_signal_reaches_the_next_request(program, folder):
    argv, here = program(), str(folder.path)
    plain = run_plainly([*argv, "x"])
    with Warm(argv) as warm:
        for _ in range(2):
            assert warm.ask("x", "0", "leave", cwd=here).seen() == plain.seen()
            assert warm.ask(cwd=here).seen() == plain.seen()
            for name in ("go", "gone"):
                os.unlink(folder.path / name)


GO = """
package main

import (
	"fmt"
	"os"
	"syscall"
)

func main() {
	ends, _ := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	_, _, failed := syscall.Syscall(syscall.SYS_FCNTL, uintptr(ends[0]), 8, uintptr(os.Getpid()))
	fmt.Println("end", int(failed))
}
"""


@only_x86
def test_a_go_program_s_own_call_costs_the_worker_too(folder, needs):
    needs("go")
    argv = [f"{folder.path}/aims"]
    compile_go(argv[0], [folder.script("aims.go", GO)])
    plain = run_plainly(argv)
    with Warm(argv, level="compiled") as warm:
        assert warm.reset == "rewind", warm.weaker
        answer = warm.ask()
        assert (answer.seen(), answer.retirement) == (plain.seen(), "call"), answer.reason
