"""Addresses that are no memory, given to the kernel: a program gets the same error as ever (EFAULT), which
some use to find out what can be read."""

import pytest

from driver import Warm, run_plainly

SOURCE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#define P ((void *)place)
#define C ((char *)place)
#define TRY(call) \
  errno = 0, result = (long)(call), printf("%s %ld %d\n", #call, result < 0 ? -1 : 0, errno)
int main(int argc, char **argv) {
  unsigned long place = strtoul(argv[1], 0, 16);
  long result;
  TRY(mkdir(C, 0)); TRY(mkdirat(3, C, 0)); TRY(open(C, 0)); TRY(open(C, O_CREAT | O_RDWR, 0600));
  TRY(creat(C, 0)); TRY(openat(AT_FDCWD, C, 0)); TRY(fopen(C, "r")); TRY(fopen(C, "w"));
  TRY(rename(C, "/none/x")); TRY(rename("/none/x", C)); TRY(renameat(3, C, 3, C)); TRY(unlink(C));
  TRY(unlinkat(3, C, 0)); TRY(rmdir(C)); TRY(remove(C)); TRY(symlink("x", C));
  TRY(symlink(C, "/none/y")); TRY(link(C, C)); TRY(linkat(3, C, 3, C, 0)); TRY(stat(C, P));
  TRY(stat("/", P)); TRY(lstat(C, P)); TRY(statx(AT_FDCWD, C, 0, 0, P)); TRY(access(C, 0));
  TRY(faccessat(AT_FDCWD, C, 0, 0)); TRY(readlink(C, P, 9)); TRY(readlink("/proc/self/exe", P, 9));
  TRY(chdir(C)); TRY(chmod(C, 0)); TRY(chown(C, 0, 0)); TRY(truncate(C, 0));
  TRY(mknod(C, S_IFIFO, 0)); TRY(mkfifo(C, 0)); TRY(statvfs(C, P));
  TRY(utimensat(AT_FDCWD, C, 0, 0)); TRY(write(2, P, 9)); TRY(read(0, P, 9));
  TRY(pipe(P)); TRY(socketpair(AF_UNIX, SOCK_STREAM, 0, P)); TRY(poll(P, 1, 0));
  TRY(getrlimit(7, P)); TRY(setrlimit(7, P)); TRY(setitimer(0, P, 0));
  TRY(sched_getaffinity(0, 8, P)); TRY(wait4(-1, P, 0, P)); TRY(nanosleep(P, 0)); TRY(writev(2, P, 1));
  TRY(sendmsg(0, P, 0)); TRY(recvmsg(0, P, 0)); TRY(connect(socket(AF_UNIX, SOCK_STREAM, 0), P, 20));
  TRY(inotify_add_watch(inotify_init(), C, 1)); TRY(prctl(PR_SET_NAME, P)); TRY(sigaltstack(P, 0));
  TRY(memfd_create(C, 0)); TRY(execve(C, 0, 0)); TRY(execl("/bin/true", C, (char *)0));
  char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  strcpy(page, "/none/z");
  TRY(open(page, 0)); mprotect(page, 4096, PROT_NONE); TRY(open(page, 0));
  mprotect(page, 4096, PROT_READ); TRY(open(page, 0)); munmap(page, 4096); TRY(open(page, 0));
  return 0;
}
"""
NOWHERE = ["2ffffffff", "10000", "7ffffffff000", "dead00000000", "ffffffff80000000"]


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("linked", ["dynamic", "static"])
def test_what_is_no_memory_is_the_kernel_s_to_refuse(folder, linked, reset):
    program = [folder.compile("bad.c", SOURCE, "-w", *(["-static"] if linked == "static" else []))]
    with Warm(program, reset=reset) as warm:
        for place in NOWHERE:
            plain = run_plainly([*program, place])
            assert plain.code == 0 and plain.text.count(" 14\n") > 40
            for _ in range(2):
                assert warm.ask(place).seen() == plain.seen()


MASKS = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static unsigned long all = ~0ul, before, after;
static long failed, why;
__attribute__((constructor)) static void early(void) {
  close(open(strdup("/etc/hostname"), O_RDONLY));
  access("/etc/passwd", R_OK);
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &before, 8);
  failed = syscall(SYS_rt_sigprocmask, 99, &all, NULL, 8), why = errno;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &after, 8);
}
int main() {
  unsigned long now;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &now, 8);
  printf("%lx %lx %lx %ld %ld\n", before, after, now, failed, why);
  return 0;
}
"""


@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_to_ask_whether_it_is_memory_changes_no_mask(folder, reset):
    program = [folder.compile("masks.c", MASKS)]
    with Warm(program, reset=reset) as warm:
        for _ in range(2):
            assert warm.ask().seen() == run_plainly(program).seen()
