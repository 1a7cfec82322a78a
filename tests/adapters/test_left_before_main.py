"""What constructors leave in a process, its requests find there, in copies and after resets, as they would in
a process of their own. What the kernel gives to no copy keeps the program from being warm."""

import pytest

from driver import SHALLOWER, Warm, Zygote, adapters_dir, run_plainly

PYTHON = "/usr/bin/python3"

HEAD = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <fenv.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
static sigset_t set;
static char stack[65536], page[8192] __attribute__((aligned(4096)));
static void block(int signal) { sigemptyset(&set); sigaddset(&set, signal); sigprocmask(SIG_BLOCK, &set, 0); }
static void flags(int fd, int more) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | more); }
static void schedule(int policy) { struct sched_param none = {0}; sched_setscheduler(0, policy, &none); }
static void undo(void) {
  int id = semget(IPC_PRIVATE, 1, 0600);
  struct sembuf more = {0, 1, SEM_UNDO};
  semop(id, &more, 1); semctl(id, 0, IPC_RMID); }
"""
LEFT = {
    "flags(0, O_NONBLOCK)": "flags", "flags(1, O_NONBLOCK)": "flags", "flags(2, O_NONBLOCK)": "flags",
    "flags(1, O_APPEND)": "flags", "fcntl(0, F_SETFD, FD_CLOEXEC)": "flags",
    "fcntl(1, F_SETFD, FD_CLOEXEC)": "flags", "fcntl(2, F_SETFD, FD_CLOEXEC)": "flags",
    "fcntl(0, F_SETSIG, SIGUSR1)": "flags", "fcntl(1, F_SETPIPE_SZ, 1 << 18)": "flags",
    "close(0); open(\"/dev/null\", O_RDONLY)": "opened again",
    "block(SIGUSR1); raise(SIGUSR1)": "pending", "block(40); kill(syscall(SYS_gettid), 40)": "",
    "mlock(page, 4096)": "locked", "syscall(SYS_mlock, page, 4096)": "locked",
    "mlockall(MCL_CURRENT)": "locked", "mlockall(MCL_FUTURE)": "locked",
    "prctl(PR_SET_CHILD_SUBREAPER, 1)": "orphans", "prctl(PR_SET_PDEATHSIG, SIGINT)": "parent's death",
    "schedule(SCHED_OTHER | SCHED_RESET_ON_FORK)": "schedule", "setsid()": "setsid",
    "syscall(SYS_keyctl, 0, -1, 1)": "keyring", "syscall(SYS_keyctl, 0, -2, 1)": "keyring",
    "undo()": "semaphore",
}


@pytest.mark.parametrize("text", LEFT)
def test_a_program_that_leaves_what_no_copy_has_is_not_warm(folder, text):
    program = folder.compile("left.c", HEAD + "__attribute__((constructor)) static void early(void) { "
                             + text + "; }\nint main() { return 0; }\n")
    with Zygote([program], reset="rewind", accept="files") as zygote:
        if zygote.stands and "keyctl" in text:
            pytest.skip("this machine gives no keyrings")
        assert not zygote.stands
        assert LEFT[text] in zygote.note(SHALLOWER)[0], zygote.notes


KEPT = HEAD + r"""
__attribute__((constructor)) static void early(void) {
  block(SIGUSR1); block(SIGTERM); signal(SIGPIPE, SIG_IGN);
  stack_t own = {stack, 0, sizeof stack};
  sigaltstack(&own, 0);
  prctl(PR_SET_KEEPCAPS, 1); prctl(PR_SET_TIMERSLACK, 7000); prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0); prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); prctl(PR_MCE_KILL, 1, 1, 0, 0);
  nice(1); schedule(SCHED_BATCH); syscall(SYS_ioprio_set, 1, 0, 3 << 13); personality(ADDR_NO_RANDOMIZE);
  cpu_set_t one;
  CPU_ZERO(&one); CPU_SET(0, &one); sched_setaffinity(0, sizeof one, &one);
  struct rlimit limit = {600, 700};
  setrlimit(RLIMIT_NPROC, &limit);
  umask(0077); fesetround(FE_UPWARD); mlock(page, 4096); munlock(page, 4096);
}
int main() {
  sigprocmask(SIG_BLOCK, 0, &set);
  for (int i = 1; i < 65; ++i) {
    struct sigaction action;
    sigaction(i, 0, &action);
    printf("%d%d ", sigismember(&set, i), action.sa_handler == SIG_IGN); }
  stack_t own;
  sigaltstack(0, &own);
  struct rlimit limit;
  getrlimit(RLIMIT_NPROC, &limit);
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
  printf("\n%d %d %ld %ld %d %d %ld %x %o %d\n", own.ss_flags, own.ss_sp == stack, limit.rlim_cur,
         limit.rlim_max,
         getpriority(PRIO_PROCESS, 0), sched_getscheduler(0), syscall(SYS_ioprio_get, 1, 0), personality(-1),
         umask(0), fegetround());
  int asked[] = {PR_GET_KEEPCAPS, PR_GET_TIMERSLACK, PR_GET_THP_DISABLE, PR_GET_DUMPABLE, PR_GET_NO_NEW_PRIVS,
                 PR_MCE_KILL_GET};
  for (int i = 0; i < 6; ++i) printf("%d ", prctl(asked[i], 0, 0, 0, 0));
  printf("%d %x\n", CPU_COUNT(&all), fcntl(1, F_GETFL));
  return 0;
}
"""


@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_a_request_finds_what_a_copy_inherits(folder, reset):
    program = folder.compile("kept.c", KEPT, "-lm")
    with Warm([program], reset=reset) as warm:
        assert warm.stands, warm.notes
        for _ in range(3):
            assert warm.ask().seen() == run_plainly([program]).seen()


# Its constructor keeps argv, so that it is executed for other words.
ANEW = HEAD + r"""
static char **words;
static struct rlimit files;
static mode_t mask;
__attribute__((constructor)) static void early(int argc, char **argv) {
  words = argv;
  mask = umask(0077);
  getrlimit(RLIMIT_NOFILE, &files);
  struct rlimit fewer = {files.rlim_cur - 1, files.rlim_max};
  setrlimit(RLIMIT_NOFILE, &fewer);
  nice(1);
}
int main() {
  printf("%s %o %o %ld %d\n", words[1], mask, umask(0), files.rlim_cur, getpriority(PRIO_PROCESS, 0));
  return 0;
}
"""


@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_a_program_that_is_executed_for_other_words_begins_as_it_was_started(folder, reset):
    program = folder.compile("anew.c", ANEW)
    with Warm([program], reset=reset) as warm:
        assert warm.stands, warm.notes
        for word in "ab":
            assert warm.ask(word).seen() == run_plainly([program, word]).seen()


@pytest.mark.parametrize("text, why", [
    ("import os; os.set_blocking(0, False)", "flags"),
    ("import signal; signal.pthread_sigmask(0, [10]); signal.raise_signal(10)", "pending")])
def test_a_python_module_that_leaves_it_is_not_loaded_ahead(folder, text, why):
    folder.script("lib/leaves.py", text + "\n")
    script = folder.script("x.py", "import leaves\nprint(1)\n")
    env = {"PYTHONPATH": str(folder.path / "lib")}
    with Zygote([PYTHON, f"{adapters_dir()}/python/start.py", "--preload=leaves", script], level="compiled",
                env={"PATH": "/usr/bin", **env}) as zygote:
        assert why in "\n".join(text for _, text in zygote.notes), (zygote.notes, zygote.log())
