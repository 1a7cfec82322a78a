"""reset=rewind: threads that a request leaves behind end with it, as they would with a process of its
own. The worker stays, and the next visitor finds nothing of them."""

import subprocess

import pytest

from driver import Warm, run_plainly

TIMES = 6

# A thread says that it runs by go(), and main waits for that. What a request finds of the one before it is
# printed.
SOURCE = r"""
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile int running, seen;
static __thread int mine = 7;
static pthread_key_t key;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t never;
static char *piece;
static void *run(void *);
static void go(void) { __atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST); }
static void start(int count) {
  pthread_t one;
  for (int i = 0; i < count; ++i) if (pthread_create(&one, 0, run, (void *)(long)i)) abort();
  while (running < count) sched_yield();
}
static void in_key(void *value) { write(1, "destructor\n", 11); }
static void all_blocked(void) { sigset_t all; sigfillset(&all); pthread_sigmask(SIG_SETMASK, &all, 0); }
static void look_around(void) {
  char name[20] = "", folder[100] = "";
  cpu_set_t set;
  stack_t stack;
  sigaltstack(0, &stack);
  prctl(PR_GET_NAME, name);
  sched_getaffinity(0, sizeof set, &set);
  getcwd(folder, sizeof folder);
  mode_t mask = umask(0); umask(mask);
  struct stat tasks; stat("/proc/self/task", &tasks);
  printf("%d %d %d %s %d %s %o %d threads %d %d nice %d lock %d locked %d\n", running, seen, mine, name,
         CPU_COUNT(&set), folder, mask, stack.ss_flags, (int)tasks.st_nlink - 2, gettid() == getpid(),
         getpriority(PRIO_PROCESS, 0), mutex.__data.__lock, piece != 0);
  int fd = open("/dev/null", 0); printf("next descriptor %d\n", fd); close(fd);
  fflush(stdout);
}
"""

# name: (the thread's work, main's after the look around)
LEFT = {
    "asleep": ("go(); for (;;) pause();", "start(3);"),
    "detached": ("pthread_detach(pthread_self()); go(); for (;;) pause();", "start(3);"),
    "spinning": ("go(); for (;;) ++seen;", "start(1);"),
    "that just began": ("for (;;) pause();", "pthread_t one; pthread_create(&one, 0, run, 0);"),
    "that is about to end": ("go(); return 0;", "start(8);"),
    "in a read": ("go(); int p[2]; pipe(p); read(p[0], p, 1);", "start(2);"),
    "in a condition": ("pthread_cond_t c = PTHREAD_COND_INITIALIZER; pthread_mutex_lock(&mutex); go(); "
                       "for (;;) pthread_cond_wait(&c, &mutex);", "start(2);"),
    "in a semaphore": ("go(); sem_wait(&never);", "start(2);"),
    "in malloc": ("go(); for (;;) { piece = malloc(1 + rand() % 300000); free(piece); "
                  "mallopt(M_MMAP_THRESHOLD, 1 << 17); }", "start(4);"),
    "with the lock of a stream": ("flockfile(stderr); go(); for (;;) pause();", "start(1);"),
    "with a mutex": ("if (pthread_mutex_trylock(&mutex)) abort(); go(); for (;;) pause();", "start(1);"),
    "with every signal blocked": ("all_blocked(); go(); for (;;) pause();", "start(2);"),
    "with the key of a destructor": ("pthread_key_create(&key, in_key); pthread_setspecific(key, run); "
                                     "mine = 8; go(); for (;;) pause();", "start(1);"),
    "with a stack for signals": ("static char own[65536]; stack_t s = {.ss_sp = own, .ss_size = 65536}; "
                                 "sigaltstack(&s, 0); go(); for (;;) pause();", "start(1);"),
    "with a name, a processor and a priority": (
        'cpu_set_t one; CPU_ZERO(&one); CPU_SET(0, &one); sched_setaffinity(0, sizeof one, &one); '
        'prctl(PR_SET_NAME, "left"); setpriority(PRIO_PROCESS, 0, 5); go(); for (;;) pause();', "start(1);"),
    "that changes what all share": (
        'chdir("/usr"); umask(0777); signal(SIGUSR1, SIG_IGN); open("/etc/passwd", 0); '
        'struct rlimit l; getrlimit(RLIMIT_CORE, &l); l.rlim_cur = 99; setrlimit(RLIMIT_CORE, &l); '
        "go(); for (;;) pause();",
        "struct rlimit l; getrlimit(RLIMIT_CORE, &l); signal(SIGUSR1, SIG_DFL); "
        'printf("%d\\n", l.rlim_cur == 99); start(1);'),
    "that maps and unmaps": ("go(); for (;;) munmap(mmap(0, 1 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS | "
                             "MAP_POPULATE, -1, 0), 1 << 20);", "start(2);"),
    "that opens and closes": ('go(); for (;;) close(open("/etc/passwd", 0));', "start(2);"),
    "that changes attributes": ("go(); for (int n = 0;; ++n) { prctl(PR_SET_DUMPABLE, n & 1); "
                                "prctl(PR_SET_TIMERSLACK, 70000 + n); signal(SIGRTMIN + n % 8, SIG_IGN); }",
                                'printf("%d\\n", prctl(PR_GET_DUMPABLE)); start(2);'),
    "that starts threads": ("pthread_t next; go(); for (;;) { if (arg) pause(); "
                            "pthread_create(&next, 0, run, run); usleep(50); }",
                            "start(1); usleep(2000);"),
    "that hands over to the next": ("pthread_t next; pthread_detach(pthread_self()); go(); "
                                    "usleep(20); pthread_create(&next, 0, run, 0); return 0;",
                                    "pthread_attr_t a; start(2); usleep(2000);"),
    "that forks": ("for (;;) { pid_t child = fork(); if (child == 0) _exit(0); waitpid(child, 0, 0); go(); }",
                   "start(1);"),
    "that runs programs": ('for (;;) { system("exit 3"); go(); }', "start(1);"),
    "many": ("go(); for (;;) pause();", "start(200);"),
}
# The end comes from another thread than the first.
ENDS = {
    "exit": ("go(); exit(3);", "start(1); for (;;) pause();"),
    "exit, with output": ('printf("late\\n"); exit(3);', "pthread_t one; pthread_create(&one, 0, run, 0); "
                                                        "for (;;) ++seen;"),
    "_exit": ("go(); _exit(3);", "start(1); for (;;) pause();"),
    "_exit, of many": ("_exit(3);", "pthread_t one; for (int i = 0; i < 50; ++i) "
                                    "pthread_create(&one, 0, run, 0); pause();"),
    "exit while the first waits for it": ("go(); exit(3);", "pthread_t one; pthread_create(&one, 0, run, 0); "
                                                            "pthread_join(one, 0);"),
    "exit while the first holds a lock": ("go(); while (!seen); exit(3);",
                                          "flockfile(stdin); start(1); seen = 1; for (;;) free(malloc(9));"),
    "exit on both sides": ("go(); _exit(3);", "start(1); _exit(3);"),
    "exit beside others": ("if (arg) for (;;) pause(); sleep(0); usleep(3000); exit(3);",
                           "pthread_t one; for (long i = 0; i < 9; ++i) "
                           "pthread_create(&one, 0, run, (void *)i); for (;;) pause();"),
}


def program_of(folder, work, body, more=""):
    return [folder.compile("threads.c", SOURCE + more + """
static void *run(void *arg) { %s return 0; }
int main(void) { look_around(); %s puts("done"); return 3; }""" % (work, body), "-pthread", "-D_GNU_SOURCE")]


def expect_workers_stayed(warm):
    """All but one, at most: on a busy machine a thread may not get to its end in time."""
    assert [why for why, _ in warm.retired] in ([], ["threads"]), warm.retired


# From glibc 2.41 on (and in Ubuntu's 2.39), exit() waits for a stream that another thread has locked, for
# ever: a plain process of these programs does not end.
NEVER_ENDS = {"with the lock of a stream", "exit while the first holds a lock"}


def run_to_its_end(name, argv):
    if name in NEVER_ENDS:
        try:
            subprocess.run(argv, input=b"", capture_output=True, timeout=10)
        except subprocess.TimeoutExpired:
            pytest.skip("with this glibc a plain process of it does not end")
    return run_plainly(argv)


@pytest.mark.parametrize("name", LEFT)
def test_a_thread_left_behind_ends_with_its_request(folder, name):
    argv = program_of(folder, *LEFT[name])
    plain = run_to_its_end(name, argv)
    assert plain.code == 3 and plain.stdout.endswith(b"done\n")
    with Warm(argv) as warm:
        for _ in range(TIMES):
            assert warm.ask().seen() == plain.seen()
        if name in ("that forks", "that runs programs"):  # its child, which nobody waits for
            assert {why for why, _ in warm.retired} <= {"children", "threads"}
        else:
            expect_workers_stayed(warm)


@pytest.mark.parametrize("name", ENDS)
def test_a_request_may_be_ended_by_another_thread(folder, name):
    argv = program_of(folder, *ENDS[name])
    plain = run_to_its_end(name, argv)
    assert plain.code == 3
    with Warm(argv) as warm:
        for _ in range(TIMES):
            assert warm.ask().seen() == plain.seen()
        expect_workers_stayed(warm)


def test_a_thread_that_prints_until_the_end_prints_nothing_after_it(folder):
    """Nor into the next visitor's answer."""
    argv = program_of(folder, 'for (;;) { write(1, "t\\n", 2); go(); }', "start(2);")
    with Warm(argv) as warm:
        for _ in range(TIMES):
            lines = warm.ask().text.split("\n")
            assert lines[:2] == warm.ask().text.split("\n")[:2] and set(lines[2:]) == {"t", "done", ""}
        expect_workers_stayed(warm)


@pytest.mark.parametrize("name", ["asleep", "spinning", "in malloc", "that maps and unmaps"])
@pytest.mark.parametrize("tracking", ["compare", "scan", "soft-dirty"])
def test_each_way_to_find_changed_pages_bears_threads(folder, tracking, name):
    argv = program_of(folder, *LEFT[name])
    with Warm(argv, tracking=tracking) as warm:
        plain = run_plainly(argv)
        for _ in range(20):
            assert warm.ask().seen() == plain.seen()
        expect_workers_stayed(warm)


def answers_that_cost_a_worker(argv, times):
    """As many, each as in classic, and each the last of its worker because of a thread."""
    plain = run_plainly(argv)
    with Warm(argv) as warm:
        answers = [warm.ask() for _ in range(times)]
    for answer in answers:
        assert answer.seen() == plain.seen() and answer.retirement == "threads"
    return answers


def test_what_cannot_be_ended_costs_the_worker(folder):
    """A thread that blocks every signal, also those that libc's calls leave alone."""
    argv = program_of(folder, "unsigned long all = ~0ul; syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, "
                      "8); go(); for (;;) pause();", "start(1);")
    for answer in answers_that_cost_a_worker(argv, 3):
        assert not answer.stays
        assert answer.reason == "another thread is alive, and cannot be ended"


def test_a_thread_within_vfork_costs_the_worker(folder):
    """It waits for a child that shares its memory, and no signal wakes it."""
    argv = program_of(folder, "go(); if (vfork() == 0) { for (int i = 0; i < 3; ++i) close(i); sleep(1); "
                      "_exit(0); } for (;;) pause();", "start(1); usleep(20000);")
    assert answers_that_cost_a_worker(argv, 2)


def test_a_first_thread_that_has_ended_costs_the_worker(folder):
    argv = program_of(folder, r"""
  char state[200] = "";
  while (strstr(state, ") Z") == 0) {  /* the first thread's */
    int fd = open("/proc/self/stat", 0);
    state[read(fd, state, 199)] = 0;
    close(fd);
    usleep(100);
  }
  exit(3);""", "pthread_t one; pthread_create(&one, 0, run, 0); pthread_exit(0);")
    assert answers_that_cost_a_worker(argv, 3)


SHARED = r"""
static pthread_mutex_t *shared(void) {
  char *at = mmap(0, 4096, 3, MAP_SHARED, open("%s", O_RDWR), 0);
  pthread_mutexattr_t kind;
  if (at[4000]) return (void *)at;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init((void *)at, &kind);
  at[4000] = 1;
  return (void *)at;
}"""


def test_the_next_owner_of_a_thread_s_robust_mutex_is_told(folder):
    """The mutex is in a file that requests share; a thread holds it at the end of each."""
    held = folder.path / "held"
    held.write_bytes(b"\0" * 4096)
    argv = program_of(folder, 'printf("%d\\n", pthread_mutex_lock(shared())); fflush(stdout); go(); '
                      "for (;;) pause();", "start(1);", SHARED % held)
    with Warm(argv) as warm:
        told = [warm.ask().text.split("\n")[2] for _ in range(3)]
    assert told[0] == "0" and told[1] == "130"  # EOWNERDEAD


def test_timers_of_threads_are_no_next_visitor_s(folder):
    """A thread may be ended between the kernel's call and the note of it: that costs the worker."""
    argv = program_of(folder, "go(); for (;;) { timer_t t; struct sigevent e = {.sigev_notify = "
                      "SIGEV_SIGNAL, .sigev_signo = SIGURG}; timer_create(CLOCK_REALTIME, &e, &t); "
                      "timer_delete(t); usleep(9); }", "start(2);")
    with Warm(argv) as warm:
        for _ in range(60):
            answer = warm.ask()
            assert answer.stays or "a call on a timer" in answer.reason, answer.reason
        assert warm.workers < 60
