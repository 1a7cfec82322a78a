"""A constructor that makes a system call by an instruction of its own passes none of libc's functions. The
kernel hands such calls back while constructors run; nobody else may notice that."""

import platform

import pytest

from driver import REQUEST_ENV, SHALLOWER, Warm, Zygote, run_plainly

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="no other kernel hands calls back")
EARLY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static long n;
static struct timespec now;
static char text[64];
static long own(long number, long a, long b, long c) {
  long result;
  register long d __asm__("r10") = 8;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(d)
                   : "rcx", "r11", "memory");
  return result;
}
static long of_32_bits(long number) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number) : "memory");
  return result;
}
static void must(long result) { if (result != 0) abort(); }
static void named(const char *path) {
  long file = own(SYS_open, (long)path, O_RDONLY, 0); own(SYS_read, file, (long)text, 36);
  own(SYS_close, file, 0, 0); }
static void child(void) { if (own(SYS_fork, 0, 0, 0) == 0) own(SYS_exit_group, 0, 0, 0); wait(0); }
static void *in_thread(void *unused) { n = own(SYS_getuid, 0, 0, 0); return 0; }
static void thread(void) { pthread_t made; pthread_create(&made, 0, in_thread, 0); pthread_join(made, 0); }
static void harmless(void) {
  errno = 7; must(own(SYS_getuid, 0, 0, 0) != getuid()); must(errno != 7);
  must(own(SYS_close, 999, 0, 0) != -EBADF);
  char *page = (char *)own(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE); (void)page;
  must(own(SYS_brk, 0, 0, 0) == 0); must(getenv("CGIBRIDGE_NONE") != NULL); must(access("/", R_OK)); }
static void masks(void) {
  unsigned long all = ~0ul, before = 1, after = 1;
  must(own(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&before)); must(before != 0);
  must(own(SYS_getuid, 0, 0, 0) != getuid());
  must(own(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, (long)&after)); must(after == 0); }
static void handled(int number) { ++n; own(SYS_getuid, 0, 0, 0); must(access("/", R_OK)); }
static void deaf_handler(void) {
  struct sigaction action = {.sa_handler = handled}, old;
  sigfillset(&action.sa_mask); sigaction(SIGUSR1, &action, &old); raise(SIGUSR1); must(n != 1);
  sigaction(SIGUSR1, &old, 0); }
static void own_handler(void) {
  struct sigaction old = {0}, wanted = {.sa_handler = handled};
  sigaction(SIGSYS, 0, &old); must(old.sa_handler != SIG_DFL);
  sigaction(SIGSYS, &wanted, &old); must(old.sa_handler != SIG_DFL);
  raise(SIGSYS); must(n != 1); signal(SIGSYS, SIG_DFL); }
static void deaf(void) {
  sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0); n = own(SYS_getuid, 0, 0, 0);
  must(access("/", R_OK)); sigprocmask(SIG_UNBLOCK, &all, 0); }
static void program(void) { must(system("read x </proc/self/stat")); }
static void loader(void) { must(dlopen("libm.so.6", RTLD_NOW) == NULL); }
static void nothing(void) {}
__attribute__((constructor)) static void early(void) { EARLY; }
int main() {
  struct sigaction action = {0};
  sigaction(SIGSYS, 0, &action);
  printf("%d %ld %d\n", action.sa_handler == SIG_DFL, own(SYS_getuid, 0, 0, 0),
         prctl(59 /* dispatch */, 0, 0, 0, 0));
  return 0;
}
"""
SEEN = {
    "own(SYS_getrandom, (long)&n, 8, 0)": "random numbers (syscall getrandom",
    "own(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0)": "the time (syscall",
    "own(SYS_getpid, 0, 0, 0)": "its process id (syscall",
    "of_32_bits(20 /* getpid */)": "cannot be watched (a system call of 32 bits",
    "named(\"/dev/urandom\")": "random numbers",
    "named(\"/proc/sys/kernel/random/uuid\")": "random numbers",
    "own(SYS_mkdir, (long)\"/nowhere/a\", 0, 0)": "files (syscall",
    "child()": "a process (syscall",
}


def early(folder, text):
    return folder.compile("early.c", EARLY.replace("{ EARLY; }", f"{{ {text}; }}"))


@pytest.mark.parametrize("text", SEEN)
def test_a_constructor_s_own_call_is_noticed(folder, text):
    with Zygote([early(folder, text)], reset="rewind") as zygote:
        assert not zygote.stands
        assert SEEN[text] in zygote.note(SHALLOWER)[0], zygote.notes


def test_so_is_a_library_s(folder):
    library = folder.compile("draws.c", r"""
unsigned long drawn;
__attribute__((constructor)) static void early(void) {
  long result; /* getrandom */
  __asm__ volatile("syscall" : "=a"(result) : "a"(318l), "D"(&drawn), "S"(8l), "d"(0l)
                   : "rcx", "r11", "memory");
}""", "-shared", "-fPIC")
    program = folder.compile("program.c", "extern long drawn; int main() { return drawn == 0; }", library)
    with Zygote([program], reset="rewind") as zygote:
        assert not zygote.stands
        assert "getrandom, called by draws" in zygote.note(SHALLOWER)[0], zygote.notes


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("text", ["nothing()", "harmless()", "masks()", "deaf_handler()", "own_handler()",
                                  "deaf()", "thread()", "program()", "loader()"])
def test_nobody_else_notices(folder, text, reset):
    program = early(folder, text)
    with Warm([program], accept="children", reset=reset) as warm:
        assert warm.stands, warm.notes
        plain = run_plainly([program], env=REQUEST_ENV).seen()
        assert plain[0].startswith(b"1 "), plain
        assert [warm.ask().seen() for _ in range(3)] == [plain] * 3
