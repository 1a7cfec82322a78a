"""Once a request has made a child or a thread, or blocks the signal by which calls are handed back, nobody
sees what an instruction of the program's own does. What it leaves is put back all the same, or costs the
worker."""

import os

import pytest

from acts import RAW_CALL
from driver import Warm, run_plainly

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="elsewhere no call is handed back")

SOURCE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
""" + RAW_CALL + r"""
static char page[8192] __attribute__((aligned(4096)));
static char *room; /* reserved */
__attribute__((constructor)) static void load(void) {
  room = mmap(0, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}
static long inode_of(const char *path) { struct stat s; return stat(path, &s) == 0 ? (long)s.st_ino : -1; }
static void show(void) {
  int mode = 0, id = -1, value = 0;
  sigset_t set;
  struct timespec soon = {0, 1000};
  syscall(SYS_get_mempolicy, &mode, 0, 0, 0, 0);
  printf("%d %ld ", mode, (long)syscall(SYS_membarrier, 1 << 9, 0, 0));
  printf("%d %d %d ", prctl(PR_MCE_KILL_GET), prctl(PR_CAPBSET_READ, 25), prctl(66, 0, 0, 0, 0));
  printf("%ld %ld ", inode_of("/"), inode_of("/proc/self/ns/uts"));
  printf("%ld ", (long)syscall(SYS_setfsuid, -1));
  printf("%ld ", (long)syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 0));
  struct sigaction action; sigaction(SIGRTMIN + 9, NULL, &action);
  printf("%d ", action.sa_handler == SIG_IGN);
  fflush(stdout);
  if (fork() == 0) _exit(0);
  printf("%d ", wait(NULL) > 0);
  printf("%d ", mincore(room, 4096, (unsigned char *)page));
  int ends[2]; pipe(ends);
  printf("%ld ", (long)write(ends[1], room, 1));
  page[0] = 1;
  printf("%d ", open("/etc", O_RDONLY | O_DIRECTORY) < 0 ? errno : 0);
  FILE *file = fopen("semaphore", "r");
  if (file != NULL && fscanf(file, "%d", &id) == 1) value = semctl(id, 0, GETVAL);
  semctl(id, 0, IPC_RMID);
  unlink("semaphore");
  printf("%d %ld ", value, (long)syscall(SYS_pkey_alloc, 0, 0));
  nanosleep(&soon, NULL);
}
static void *in_thread(void *unused) { return unused; }
static void begin(const char *how) {
  pthread_t thread;
  sigset_t all;
  if (!strcmp(how, "child")) { if (fork() == 0) _exit(0); wait(NULL); }
  if (!strcmp(how, "thread")) { pthread_create(&thread, NULL, in_thread, NULL); pthread_join(thread, NULL); }
  if (!strcmp(how, "mask")) { sigfillset(&all); sigprocmask(SIG_BLOCK, &all, NULL); }
}
static void act(const char *what) {
  unsigned long ignored[4] = {1}, handles[3] = {LANDLOCK_ACCESS_FS_READ_DIR};
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  struct itimerspec soon = {{0, 1000000}, {0, 1000000}};
  struct sembuf up = {0, 1, SEM_UNDO};
  int timer = 0;
  if (!strcmp(what, "policy")) raw(SYS_set_mempolicy, 4, 0, 0, 0);
  if (!strcmp(what, "barrier")) raw(SYS_membarrier, 1 << 4, 0, 0, 0);
  if (!strcmp(what, "errors")) raw(SYS_prctl, PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_LATE, 0);
  if (!strcmp(what, "bounds")) raw(SYS_prctl, PR_CAPBSET_DROP, 25, 0, 0);
  if (!strcmp(what, "no code")) raw(SYS_prctl, 65, 1, 0, 0);
  if (!strcmp(what, "root")) raw(SYS_chroot, (long)".", 0, 0, 0);
  if (!strcmp(what, "namespace")) raw(SYS_unshare, CLONE_NEWUTS, 0, 0, 0);
  if (!strcmp(what, "user")) raw(SYS_setfsuid, 65534, 0, 0, 0);
  if (!strcmp(what, "keyring")) raw(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 1, 0);
  if (!strcmp(what, "signal")) raw(SYS_rt_sigaction, SIGRTMIN + 9, (long)ignored, 0, 8);
  if (!strcmp(what, "flag")) {
    unsigned long flagged[4] = {0, SA_NOCLDWAIT};
    raw(SYS_rt_sigaction, SIGCHLD, (long)flagged, 0, 8);
  }
  if (!strcmp(what, "room") && raw(SYS_mprotect, (long)room, 4096, PROT_READ | PROT_WRITE, 0) == 0)
    room[0] = 's';
  if (!strcmp(what, "key")) raw(SYS_mprotect, (long)page, 4096, PROT_EXEC, 0);
  if (!strcmp(what, "page")) raw(SYS_mprotect, (long)page, 4096, PROT_READ, 0);
  if (!strcmp(what, "sandbox")) {
    long rules = raw(SYS_landlock_create_ruleset, (long)handles, 8, 0, 0);
    raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, getuid() != 0, 0, 0);
    raw(SYS_landlock_restrict_self, rules, 0, 0, 0);
  }
  if (!strcmp(what, "undo")) {
    int id = semget(IPC_PRIVATE, 1, 0600);
    FILE *file = fopen("semaphore", "w"); fprintf(file, "%d", id); fclose(file);
    raw(SYS_semop, id, (long)&up, 1, 0);
  }
  if (!strcmp(what, "timer")) {
    struct sigaction action = {.sa_handler = SIG_IGN}; sigaction(SIGALRM, &action, NULL);
    raw(SYS_timer_create, CLOCK_MONOTONIC, (long)&event, (long)&timer, 0);
    raw(SYS_timer_settime, timer, 0, (long)&soon, 0);
  }
  if (!strcmp(what, "all seen")) raw(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0);
}
int main(int argc, char **argv) {
  if (argc > 1) begin(argv[1]);
  if (argc > 2) act(argv[2]); else show();
  puts("end");
}
"""
BEGINNINGS = ["child", "thread", "mask"]
ACTS = ["policy", "barrier", "errors", "bounds", "no code", "root", "namespace", "user", "keyring", "signal",
        "flag", "room", "key", "page", "sandbox", "undo", "timer", "all seen"]


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_what_nobody_saw_reaches_nobody(folder, beginning):
    argv, here = [folder.compile("unseen.c", SOURCE, "-pthread")], str(folder.path)
    plain = run_plainly(argv, cwd=here)
    found = []
    with Warm(argv, verify=False) as warm:
        assert warm.reset == "rewind", warm.weaker
        for act in ACTS:
            assert warm.ask(beginning, act, cwd=here).text == "end\n", act
            if act == "all seen":  # by the next request, which would not be clean
                assert warm.ask("", "policy", cwd=here).text == "end\n"
            if warm.ask(cwd=here).seen() != plain.seen():
                found.append(act)
            warm.current.close() if warm.current.status is None else None
            warm.current = None
    assert found == []


def test_what_is_only_unseen_costs_nothing(folder):
    argv = [folder.compile("unseen.c", SOURCE, "-pthread")]
    with Warm(argv) as warm:
        for beginning in BEGINNINGS * 2:
            assert warm.ask(beginning, "nothing").text == "end\n"
        assert (warm.workers, warm.retired) == (1, [])
