"""reset=rewind: nobody can hide from the next request's put-back that memory was written, neither the program
nor a child of it; what its advice on memory drops or leaves costs the worker."""

import pytest

from driver import Warm

# Each act of `how` writes a secret, and then takes the mark away by which the worker would find the page.
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

struct scan {
  uint64_t size, flags, start, end, walk_end, runs, runs_max, pages_max, inverted, all, any, returned;
};
struct run { uint64_t start, end, categories; };
static char secrets[16 * 4096] __attribute__((aligned(4096)));
static const char *const names[1024] __attribute__((aligned(4096))) = {"alpha", "beta"};
static int by_number;

static long call(int fd, unsigned long request, void *what) {
  return by_number ? syscall(SYS_ioctl, fd, request, what) : ioctl(fd, request, what);
}

static long scan_of(const char *path) {
  static struct run runs[32];
  struct scan scan = {sizeof scan, 1, (uintptr_t)secrets, (uintptr_t)secrets + sizeof secrets, 0,
                      (uintptr_t)runs, 32, 0, 0, 2, 0, 2};
  int fd = open(path, O_RDONLY);
  return call(fd, _IOWR('f', 16, struct scan), &scan);
}

static void scan_by_child(void) {
  char path[40];
  snprintf(path, sizeof path, "/proc/%d/pagemap", getppid());
  scan_of(path);
  snprintf(path, sizeof path, "/proc/%d/clear_refs", getppid());
  int fd = open(path, O_WRONLY);
  if (fd >= 0 && write(fd, "4", 1) < 0) _exit(1);
  _exit(0);
}

static sem_t done, never;

/* It is ended where it waits, long after its child. */
static void *have_child(void *unused) {
  if (fork() == 0) scan_by_child();
  wait(NULL);
  sem_post(&done);
  sem_wait(&never);
  return unused;
}

static void protect(void) {
  int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1);
  struct uffdio_api api = {.api = UFFD_API, .features = 1 << 13 | 1 << 15};
  struct uffdio_writeprotect range = {{(uintptr_t)secrets, sizeof secrets}, 1};
  call(fd, UFFDIO_API, &api);
  call(fd, UFFDIO_WRITEPROTECT, &range);
}

static void advise(int advice, void *what) {
  int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
  struct iovec range = {what, 8192};
  if (by_number) syscall(SYS_process_madvise, self, &range, 1, advice, 0);
  else process_madvise(self, &range, 1, advice, 0);
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  by_number = argc > 2;
  const char *const *volatile table = names;
  printf("%s %s %s\n", secrets, secrets + 9 * 4096, table[1] > (char *)0x10000 ? "whole" : "broken");
  fflush(stdout);
  int status = 0;
  if (strcmp(how, "fork") == 0) {
    if (fork() == 0) _exit(secrets[1]);
    wait(&status);
  } else if (*how != '\0' && strcmp(how, "constants") != 0) {
    strcpy(secrets, "secret");
    strcpy(secrets + 9 * 4096, "secret");
  }
  if (strcmp(how, "scan") == 0) scan_of("/proc/self/pagemap");
  if (strcmp(how, "child") == 0) { if (fork() == 0) scan_by_child(); wait(NULL); }
  if (strcmp(how, "thread") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, have_child, NULL);
    sem_wait(&done);
  }
  if (strcmp(how, "protect") == 0) protect();
  if (strcmp(how, "constants") == 0) madvise((void *)names, 8192, MADV_DONTNEED);
  if (strcmp(how, "elsewhere") == 0) advise(MADV_DONTNEED, (void *)names);
  if (strcmp(how, "dontfork") == 0) advise(MADV_DONTFORK, secrets);
  if (strcmp(how, "cold") == 0) advise(MADV_COLD, secrets);
  printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  return 0;
}
"""

CLEAN = "  whole\n0\n"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    from conftest import Folder
    return Folder(tmp_path_factory.mktemp("marks")).compile("x.c", PROGRAM, "-O1")


@pytest.mark.parametrize("tracking", ["auto", "compare", "scan", "soft-dirty"])
@pytest.mark.parametrize("words, retires", [
    (["scan"], True), (["scan", "n"], True), (["protect"], True), (["protect", "n"], True),
    (["child"], False), (["thread"], False),
    (["constants"], True), (["elsewhere"], True), (["elsewhere", "n"], True), (["dontfork"], True),
    (["dontfork", "n"], True), (["cold"], False), (["cold", "n"], False), (["other"], False)], ids=str)
def test_what_takes_marks_away_reaches_nobody(program, tracking, words, retires):
    with Warm([program], tracking=tracking) as warm:
        for _ in range(2):
            for asked in ([], words, [], ["fork"]):
                assert warm.ask(*asked).text == CLEAN
        assert len(warm.retired) == (2 if retires else 0), warm.retired
