"""Ways to a time, a random number, an id or the request's input that constructors may take besides the usual
calls: what they find there would be shared by all visitors."""

import pytest

from driver import REQUEST_ENV, SHALLOWER, Warm, Zygote, run_plainly

EARLY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>
static char text[256];
static long n;
static double loads[3];
static struct sysinfo machine;
static struct timex clock_state;
int clock_adjtime(clockid_t, struct timex *); /* not declared by every libc's headers */
static struct ntptimeval ntp;
static void at(void *library, char *name) { ((long (*)(void *, long, int))dlsym(library, name))(&n, 8, 0); }
static void copy(void) { int fd = dup(0); read(fd, text, 9); close(fd); }
static void moved(void) {
  int ends[2]; pipe(ends); splice(0, 0, ends[1], 0, 9, 0); close(ends[0]); close(ends[1]); }
static void send_one(void) {
  struct sockaddr_in there = {AF_INET, htons(9), {htonl(INADDR_LOOPBACK)}};
  struct iovec piece = {"x", 1};
  struct msghdr message = {&there, sizeof there, &piece, 1};
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  sendmsg(fd, &message, 0); close(fd); }
static void child(void) { long words[11] = {[4] = 17}; if (syscall(435, words, 88) == 0) _exit(0); wait(0); }
__attribute__((constructor)) static void early(void) { %s; }
int main() { puts(text); return 0; }
"""
SEEN = {
    "memcpy(&n, (void *)getauxval(AT_RANDOM), 8)": "random",
    "mktemp(strcpy(text, \"/tmp/aXXXXXX\"))": "random",
    "tempnam(0, 0)": "random", "tmpnam(text)": "random", "tmpnam_r(text)": "random",
    "getloadavg(loads, 3)": "time", "sysinfo(&machine)": "time", "syscall(SYS_sysinfo, &machine)": "time",
    "syscall(SYS_times, 0)": "time", "adjtimex(&clock_state)": "time", "ntp_gettime(&ntp)": "time",
    "clock_adjtime(0, &clock_state)": "time", "syscall(SYS_gettid)": "process id",
    "at(dlopen(\"linux-vdso.so.1\", RTLD_NOW | RTLD_NOLOAD), \"__vdso_time\")": "cannot be watched",
    "at(dlmopen(LM_ID_NEWLM, \"libc.so.6\", RTLD_NOW), \"getrandom\")": "cannot be watched",
    "at(dlopen(\"libm.so.6\", RTLD_NOW | RTLD_DEEPBIND), \"getrandom\")": "cannot be watched",
    "((long (*)(void))dlvsym(RTLD_DEFAULT, \"getpid\", VERSION))()": "cannot be watched",
    "copy()": "input", "syscall(SYS_read, 0, text, 9)": "input", "moved()": "input", "getchar()": "input",
    "mkostemps(strcpy(text, \"/tmp/aXXXXXX.b\"), 2, 0); unlink(text)": "files",
    "syscall(SYS_rmdir, \"/tmp/cgibridge-none\")": "files", "send_one()": "connection", "child()": "process",
    "shm_open(\"/cgibridge-none\", O_WRONLY, 0)": "files",
}


@pytest.mark.parametrize("text", SEEN)
def test_a_native_program_that_takes_this_way_before_main_is_not_warm(folder, text):
    program = folder.compile("early.c", EARLY % text, "-DVERSION=\"GLIBC_2.2.5\"")
    with Zygote([program], reset="rewind") as zygote:
        assert not zygote.stands
        assert SEEN[text] in zygote.note(SHALLOWER)[0], zygote.notes


@pytest.mark.parametrize("text", ["getauxval(AT_PAGESZ)", "dlopen(\"libm.so.6\", RTLD_NOW)"])
def test_its_neighbours_are_harmless(folder, text):
    program = folder.compile("early.c", EARLY % text)
    with Warm([program]) as warm:
        assert warm.stands, warm.notes
        assert warm.ask(body=b"x").seen() == run_plainly([program], env=REQUEST_ENV).seen()
