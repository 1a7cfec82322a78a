"""Threads of the checkpoint that wait for what only the program itself does are made again when a request
first needs one, and a request that needs none is clean. Whatever could wake one, name one, or show what
threads there are makes them before: the answer is always a fresh process's."""

import platform

import pytest

from driver import Warm, run_plainly

TIMES = 2

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64",
                                reason="threads are carried over on x86-64 only")

# Four threads wait: for a condition, a semaphore, a lock, and an epoll instance with an eventfd and a pipe.
SOURCE = r"""
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static cnd_t *as_c11 = (cnd_t *)&work;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t other_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t other_condition = PTHREAD_COND_INITIALIZER;
static sem_t begin, end, other_semaphore;
static pthread_t threads[4];
static int jobs, event, ends[2], epoll, woken;
static volatile int signalled, ends_all, early, slack, privileges;
static FILE *early_stream;
static void wake(int which) { __atomic_fetch_add(&woken, which, __ATOMIC_SEQ_CST); sem_post(&end); }
static void *on_condition(void *unused) {
  pthread_mutex_lock(&mutex);
  while (!jobs) pthread_cond_wait(&work, &mutex);
  pthread_mutex_unlock(&mutex);
  wake(1);
  return (void *)7l;
}
static void *on_semaphore(void *unused) {
  while (sem_wait(&begin) != 0) {}
  if (ends_all) exit(puts("the last"));
  slack = prctl(PR_GET_TIMERSLACK), privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
  wake(10);
  return 0;
}
static void *on_lock(void *unused) {
  pthread_rwlock_wrlock(&lock);
  wake(100);
  return 0;
}
static void *on_epoll(void *unused) {
  struct epoll_event e = {0};
  while (epoll_wait(epoll, &e, 1, -1) != 1) {}
  wake(e.data.fd == event ? 1000 : 2000);
  return 0;
}
static void noted(int number) { signalled = gettid() == getpid() ? 1 : 2; }
static void posts(int number) { sem_post(&begin); }
__attribute__((constructor)) static void set_up(void) {
  event = eventfd(0, EFD_CLOEXEC); pipe2(ends, O_CLOEXEC); epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event of_event = {.events = EPOLLIN, .data.fd = event}, of_pipe = {.events = EPOLLIN};
  epoll_ctl(epoll, EPOLL_CTL_ADD, event, &of_event);
  epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &of_pipe);
  sem_init(&begin, 0, 0); sem_init(&end, 0, 0); sem_init(&other_semaphore, 0, 0);
  pthread_rwlock_rdlock(&lock);
  BEFORE
  void *(*work_of[])(void *) = {on_condition, on_semaphore, on_lock, on_epoll};
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], 0, work_of[i], 0);
  signal(SIGUSR1, noted); signal(SIGUSR2, posts);
  AFTER
}
static int await_end(void) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until); until.tv_sec += 3;
  while (sem_timedwait(&end, &until) != 0) if (errno == ETIMEDOUT) return -1;
  return __atomic_load_n(&woken, __ATOMIC_SEQ_CST);
}
static long by_instruction(long n, long a, long b, long c) {
  long result;
  register long r10 __asm__("r10") = 0, r8 __asm__("r8") = 0, r9 __asm__("r9") = 0;
  __asm__ volatile("syscall" : "=a"(result)
                   : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
}
static int tasks(void) { struct stat s; return stat("/proc/self/task", &s) == 0 ? (int)s.st_nlink - 2 : -1; }
static int entries(DIR *folder) { int n = 0; while (readdir(folder)) ++n; closedir(folder); return n; }
static long number_in(const char *path, const char *word) {
  static char text[8192]; int fd = open(path, O_RDONLY); long got = read(fd, text, sizeof text - 1);
  close(fd);
  text[got < 0 ? 0 : got] = 0;
  char *at = strstr(text, word);
  return at ? atol(at + strlen(word)) : -1;
}
static int waits(pid_t pid) {
  char path[40], text[200] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  int fd = open(path, O_RDONLY); read(fd, text, sizeof text - 1); close(fd);
  char *end = strrchr(text, ')');
  return end && end[2] == 'S';
}
static void give_job(void) { pthread_mutex_lock(&mutex); jobs = 1; pthread_mutex_unlock(&mutex); }
int main(int argc, char **argv) {
  int is_asked = argc > 1;
  static const uint64_t one = 1;
  if (!is_asked) { puts("nothing"); return 3; }
  ACT
  return 4;
}
"""

AWAIT = 'printf("woken %d\\n", await_end());'

# name: main's work; the awaited thread, if there is one, then tells who it is.
WAKES = {
    "signal": "give_job(); pthread_cond_signal(&work);" + AWAIT,
    "broadcast": "give_job(); pthread_cond_broadcast(&work);" + AWAIT,
    "C11's signal": "give_job(); cnd_signal(as_c11);" + AWAIT,
    "C11's broadcast": "give_job(); cnd_broadcast(as_c11);" + AWAIT,
    "sem_post": "sem_post(&begin);" + AWAIT,
    "sem_post in a handler": "raise(SIGUSR2);" + AWAIT,
    "unlock": "pthread_rwlock_unlock(&lock);" + AWAIT,
    "all of them": 'give_job(); pthread_cond_signal(&work); sem_post(&begin); pthread_rwlock_unlock(&lock); '
                   'write(event, &one, 8); for (int i = 0; i < 4; ++i) await_end(); printf("%d\\n", woken);',
    "write": "write(event, &one, 8);" + AWAIT,
    "write to the pipe": 'write(ends[1], "x", 1);' + AWAIT,
    "writev": "struct iovec v = {(void *)&one, 8}; writev(event, &v, 1);" + AWAIT,
    "pwritev2": "struct iovec v = {(void *)&one, 8}; pwritev2(event, &v, 1, -1, 0);" + AWAIT,
    "eventfd_write": "eventfd_write(event, 1);" + AWAIT,
    "dprintf": 'dprintf(ends[1], "%d", 5);' + AWAIT,
    "syscall": "syscall(SYS_write, event, &one, 8);" + AWAIT,
    "an instruction of its own": "by_instruction(SYS_write, event, (long)&one, 8);" + AWAIT,
    "an instruction that wakes": "give_job(); work.__data.__wseq.__value64 += 0; pthread_cond_signal(&work);"
                                 "by_instruction(SYS_getppid, 0, 0, 0);" + AWAIT,
    "dup": "write(dup(event), &one, 8);" + AWAIT,
    "dup2": "dup2(event, 77); write(77, &one, 8);" + AWAIT,
    "dup3": "dup3(event, 77, O_CLOEXEC); write(77, &one, 8);" + AWAIT,
    "fcntl": "write(fcntl(event, F_DUPFD, 60), &one, 8);" + AWAIT,
    "dup by its number": "write((int)syscall(SYS_dup, event), &one, 8);" + AWAIT,
    "a stream": 'FILE *f = fdopen(ends[1], "w"); fputs("x", f); fflush(f);' + AWAIT,
    "stdout in its place": 'int kept = dup(1); dup2(ends[1], 1); puts("x"); fflush(stdout); '
                           'dup2(kept, 1);' + AWAIT,
    "sendfile": 'int fd = open("/bin/sh", O_RDONLY); sendfile(ends[1], fd, 0, 1);' + AWAIT,
    "splice": 'int p[2]; pipe(p); write(p[1], "x", 1); splice(p[0], 0, ends[1], 0, 1, 0);' + AWAIT,
    "tee": 'int p[2]; pipe(p); write(p[1], "x", 1); tee(p[0], ends[1], 1, 0);' + AWAIT,
    "a child": "if (fork() == 0) { write(event, &one, 8); _exit(0); } wait(0);" + AWAIT,
    "a child by vfork": "if (vfork() == 0) { write(event, &one, 8); _exit(0); } wait(0);" + AWAIT,
    "a program with the pipe": (
        "posix_spawn_file_actions_t a; posix_spawn_file_actions_init(&a); "
        "posix_spawn_file_actions_adddup2(&a, ends[1], 1); "
        'char *words[] = {"echo", "x", 0}; pid_t pid; posix_spawn(&pid, "/bin/echo", &a, 0, words, 0); '
        "waitpid(pid, 0, 0);" + AWAIT),
    "system": 'char text[80]; fcntl(ends[1], F_SETFD, 0); '
              'snprintf(text, sizeof text, "echo x >&%d", ends[1]); system(text);' + AWAIT,
    "by its name in /proc": 'char path[40]; snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]); '
                            'write(open(path, O_WRONLY), "x", 1);' + AWAIT,
    "by its name in /dev": 'char path[40]; snprintf(path, sizeof path, "/dev/fd/%d", ends[1]); '
                           'FILE *f = fopen(path, "w"); fputs("x", f); fclose(f);' + AWAIT,
    "passed along": (
        "int s[2]; socketpair(AF_UNIX, SOCK_DGRAM, 0, s); char room[CMSG_SPACE(sizeof(int))] = {0}; "
        "struct iovec v = {room, 1}; struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, "
        ".msg_controllen = sizeof room}; struct cmsghdr *c = CMSG_FIRSTHDR(&m); c->cmsg_level = SOL_SOCKET; "
        "c->cmsg_type = SCM_RIGHTS; c->cmsg_len = CMSG_LEN(sizeof(int)); memcpy(CMSG_DATA(c), &event, 4); "
        "sendmsg(s[0], &m, 0); recvmsg(s[1], &m, 0); int got; memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&m)), 4); "
        "write(got, &one, 8);" + AWAIT),
    "more to watch": ("int p[2]; pipe(p); struct epoll_event e = {.events = EPOLLOUT, .data.fd = 0}; "
                      "epoll_ctl(epoll, EPOLL_CTL_ADD, p[1], &e);" + AWAIT),
    "another kind of event": ("struct epoll_event e = {.events = EPOLLOUT, .data.fd = 0}; "
                              "epoll_ctl(epoll, EPOLL_CTL_MOD, event, &e);" + AWAIT),
    "a signal by its number": 'printf("%d\\n", tgkill(getpid(), gettid(), 0));',
    "the pipe's end": "close(ends[1]);" + AWAIT,
    "the pipe's end by its number": "syscall(SYS_close, ends[1]);" + AWAIT,
    "the pipe's end, with all others": "close_range(ends[1], ends[1], 0);" + AWAIT,
}

LOOKS = {
    "how many tasks": 'printf("%d\\n", tasks());',
    "by statx": 'struct statx s; statx(AT_FDCWD, "/proc/self/task", 0, STATX_NLINK, &s); '
                'printf("%d\\n", s.stx_nlink);',
    "by its number": 'struct statx s; syscall(SYS_statx, AT_FDCWD, "/proc/self/task", 0, STATX_NLINK, &s); '
                     'printf("%d\\n", s.stx_nlink);',
    "the folder's list": 'printf("%d\\n", entries(opendir("/proc/self/task")));',
    "in a folder": 'chdir("/proc/self"); printf("%d\\n", entries(opendir("task")));',
    "in an open folder": 'int fd = open("/proc/self", O_DIRECTORY); '
                         'printf("%d\\n", entries(fdopendir(openat(fd, "task", O_DIRECTORY))));',
    "in a folder of all": 'char path[40]; snprintf(path, sizeof path, "%d/task", getpid()); chdir("/proc"); '
                          'printf("%d\\n", entries(opendir(path)));',
    "the status": 'printf("%ld\\n", number_in("/proc/self/status", "Threads:\\t"));',
    "the schedule": 'printf("%d\\n", number_in("/proc/self/sched", "threads: ") > 3);',
    "by another program": 'fflush(stdout); char text[80]; snprintf(text, sizeof text, '
                          '"grep Threads /proc/%d/status", getpid()); system(text);',
    "its name": 'char name[20] = ""; int r = pthread_getname_np(threads[0], name, 20); '
                'printf("%d %s\\n", r, name);',
    "its processors": 'cpu_set_t s; printf("%d\\n", pthread_getaffinity_np(threads[1], sizeof s, &s)); '
                      'printf("%d\\n", CPU_COUNT(&s) > 0);',
    "its clock": 'clockid_t c; struct timespec t; printf("%d", pthread_getcpuclockid(threads[1], &c)); '
                 'printf(" %d\\n", clock_gettime(c, &t));',
    "its schedule": 'int p; struct sched_param s; '
                    'printf("%d\\n", pthread_getschedparam(threads[2], &p, &s));',
    "its attributes": 'pthread_attr_t a; printf("%d\\n", pthread_getattr_np(threads[3], &a));',
    "a kill of nothing": 'printf("%d\\n", pthread_kill(threads[0], 0));',
    "a signal": 'pthread_kill(threads[1], SIGUSR1); while (!signalled) sched_yield(); '
                'printf("%d\\n", signalled);',
    "a queued signal": 'union sigval v = {0}; pthread_sigqueue(threads[1], SIGUSR1, v); '
                       'while (!signalled) sched_yield(); printf("%d\\n", signalled);',
    "a join": 'void *got; give_job(); pthread_cond_signal(&work); pthread_join(threads[0], &got); '
              'printf("%ld\\n", (long)got);',
    "a try to join": 'void *got; printf("%d\\n", pthread_tryjoin_np(threads[0], &got));',
    "a join with a limit": 'void *got; struct timespec t = {1, 0}; '
                           'printf("%d\\n", pthread_timedjoin_np(threads[0], &got, &t));',
    "C11's join": 'int got; give_job(); pthread_cond_signal(&work); thrd_join(threads[0], &got); '
                  'printf("%d\\n", got);',
    "a cancellation": 'void *got; pthread_cancel(threads[1]); pthread_join(threads[1], &got); '
                      'printf("%d\\n", got == PTHREAD_CANCELED);',
    "detached": 'printf("%d", pthread_detach(threads[1])); printf(" %d\\n", pthread_detach(threads[1]));',
    "a signal that it alone can take": (
        'sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR1); pthread_sigmask(SIG_BLOCK, &s, 0); '
        'kill(getpid(), SIGUSR1); while (!signalled) sched_yield(); printf("%d\\n", signalled);'),
    "a signal while main waits with a mask": (
        'sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR1); struct timespec t = {0, 400000000}; '
        'if (fork() == 0) { while (!waits(getppid())) sched_yield(); kill(getppid(), SIGUSR1); _exit(0); } '
        'ppoll(0, 0, &t, &s); printf("%d\\n", signalled);'),
    "a new thread": 'pthread_t t; void *work(void *p) { return (void *)(long)tasks(); } void *got; '
                    'pthread_create(&t, 0, work, 0); pthread_join(t, &got); printf("%ld\\n", (long)got);',
    "main's slack is not its own": 'prctl(PR_SET_TIMERSLACK, 12345); sem_post(&begin); await_end(); '
                                   'printf("%d\\n", slack);',
    "nor main's privileges": 'prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); sem_post(&begin); await_end(); '
                             'printf("%d\\n", privileges);',
    "main ends first": 'puts("main"); fflush(stdout); ends_all = 1; sem_post(&begin); pthread_exit(0);',
    "all but main end": 'void *got; for (int i = 0; i < 4; ++i) { if (i == 2) continue; '
                        'pthread_cancel(threads[i]); pthread_join(threads[i], &got); } '
                        'printf("%d\\n", tasks());',
}

# The constructor has done something before, or after, it started the threads; then they are there from the
# beginning.
ALWAYS = {
    "a stream": ('early_stream = fdopen(ends[1], "w");', "",
                 'fputs("x", early_stream); fflush(early_stream);' + AWAIT),
    "a copy": ("early = fcntl(event, F_DUPFD_CLOEXEC, 0);", "", "write(early, &one, 8);" + AWAIT),
    "a copy of the instance": ("early = fcntl(epoll, F_DUPFD_CLOEXEC, 0);", "",
                               "struct epoll_event e = {.events = EPOLLOUT, .data.fd = 0}; "
                               "epoll_ctl(early, EPOLL_CTL_MOD, event, &e);" + AWAIT),
    "a timer": ("early = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC); "
                "struct epoll_event e = {.events = EPOLLIN}; "
                "epoll_ctl(epoll, EPOLL_CTL_ADD, early, &e);", "",
                "struct itimerspec t = {{0, 0}, {0, 1000000}}; timerfd_settime(early, 0, &t, 0);" + AWAIT),
    "a signal that only others take": (
        "", "sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR1); pthread_sigmask(SIG_BLOCK, &s, 0);",
        'kill(getpid(), SIGUSR1); while (!signalled) sched_yield(); printf("%d\\n", signalled);'),
}

# Nothing here concerns the threads: the request does without.
CLEAN = {
    "nothing": 'puts("nothing");',
    "itself": 'char name[20]; pthread_getname_np(pthread_self(), name, 20); pthread_attr_t a; '
              'pthread_getattr_np(pthread_self(), &a); puts("self");',
    "other objects": 'pthread_cond_signal(&other_condition); pthread_cond_broadcast(&other_condition); '
                     'sem_post(&other_semaphore); pthread_rwlock_rdlock(&other_lock); '
                     'pthread_rwlock_unlock(&other_lock); puts("others");',
    "other descriptors": 'int p[2]; pipe(p); write(p[1], "x", 1); int e = eventfd(0, 0); write(e, &one, 8); '
                         'close(e); dup2(p[0], 50); dprintf(p[1], "x"); puts("others");',
    "other files of the kernel's": 'printf("%d\\n", number_in("/proc/meminfo", "MemTotal:") > 0);',
    "memory": 'char *p = malloc(1 << 20); memset(p, 1, 1 << 20); printf("%d\\n", p[77]); free(p);',
    "a mutex": 'pthread_mutex_lock(&mutex); ++jobs; pthread_mutex_unlock(&mutex); printf("%d\\n", jobs);',
}


def program_of(folder, act, before="", after=""):
    source = SOURCE.replace("ACT", act).replace("BEFORE", before).replace("AFTER", after)
    return [folder.compile("threads.c", source, "-pthread", "-D_GNU_SOURCE", "-w")]


def answers_as_plain(argv, is_clean, can_be_missing=True):
    """Requests that need no thread are between those that may."""
    plain, nothing = run_plainly([*argv, "act"]), run_plainly(argv)
    assert b"-1" not in plain.stdout and nothing.code == 3
    with Warm(argv) as warm:
        assert (warm.reset, warm.threads, warm.weaker) == ("rewind", 1, "")
        for _ in range(TIMES):
            answer = warm.ask()
            assert (answer.seen(), answer.is_clean) == (nothing.seen(), can_be_missing)
            answer = warm.ask("act")
            assert answer.seen() == plain.seen()
            if is_clean is not None:
                assert answer.is_clean == is_clean
        return warm.retired


@pytest.mark.parametrize("kind", WAKES)
def test_who_is_woken_is_there(folder, kind):
    answers_as_plain(program_of(folder, WAKES[kind]), is_clean=False)


@pytest.mark.parametrize("kind", LOOKS)
def test_whoever_looks_finds_all_of_them(folder, kind):
    answers_as_plain(program_of(folder, LOOKS[kind]), is_clean=None)


@pytest.mark.parametrize("kind", CLEAN)
def test_who_needs_none_is_clean(folder, kind):
    assert answers_as_plain(program_of(folder, CLEAN[kind]), is_clean=True) == []


@pytest.mark.parametrize("kind", ALWAYS)
def test_those_that_could_be_woken_unseen_are_there_from_the_beginning(folder, kind):
    before, after, act = ALWAYS[kind]
    answers_as_plain(program_of(folder, act, before, after), is_clean=False, can_be_missing=False)
