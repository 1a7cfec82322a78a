"""Threads that a program has at its checkpoint: each request has them as a fresh process would, and nothing
of what they did for the request before."""

import pytest

from driver import Warm, run_plainly

TIMES = 5

# Constructors run before the checkpoint. setup() starts what it likes there; main() does the request's work.
SOURCE = r"""
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/personality.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, ready = PTHREAD_COND_INITIALIZER;
static sem_t begin, end;
static pthread_t threads[300];
static int count, jobs, done, quits, event;
static long sum;
static __thread int mine = 7;
static void *run(void *);
static void noted(int number) { done = number; mine = 50; }
static void ends(void *value) { puts(value); }
static void start(int how_many) {
  for (count = 0; count < how_many; ++count)
    if (pthread_create(&threads[count], 0, run, (void *)(long)count)) abort();
}
static void do_job(int job) { sum += job * job; ++mine; if (++done == 100) pthread_cond_signal(&ready); }
static void *pool(void) {
  pthread_mutex_lock(&mutex);
  for (;;) {
    while (jobs == 0 && !quits) pthread_cond_wait(&work, &mutex);
    if (quits) break;
    do_job(jobs--);
  }
  pthread_mutex_unlock(&mutex);
  return (void *)(long)mine;
}
static void give(int how_many) {
  pthread_mutex_lock(&mutex);
  jobs = how_many;
  pthread_cond_broadcast(&work);
  while (done < how_many) pthread_cond_wait(&ready, &mutex);
  pthread_mutex_unlock(&mutex);
}
static int thread_count(void) { struct stat s; stat("/proc/self/task", &s); return (int)s.st_nlink - 2; }
"""

# name: (a thread's work, the constructor's, main's)
KINDS = {
    "a pool with a condition": ("return pool();", "start(4);", 'give(100); printf("%ld %d\\n", sum, done);'),
    "one thread that is joined": (
        "return pool();", "start(1);",
        'give(100); pthread_mutex_lock(&mutex); quits = 1; pthread_cond_signal(&work); '
        'pthread_mutex_unlock(&mutex); void *got; pthread_join(threads[0], &got); '
        'printf("%ld\\n", (long)got);'),
    "many threads": ("return pool();", "start(100);", 'give(100); printf("%ld %d\\n", sum, thread_count());'),
    "as many as can be": ("return pool();", "start(256);", 'printf("%d\\n", thread_count());'),
    "semaphores": ("for (;;) { sem_wait(&begin); sum += 3; sem_post(&end); }",
                   "sem_init(&begin, 0, 0); sem_init(&end, 0, 0); start(3);",
                   'for (int i = 0; i < 50; ++i) { sem_post(&begin); sem_wait(&end); } '
                   'printf("%ld\\n", sum);'),
    "an epoll": (
        "struct epoll_event e; uint64_t v; for (;;) { epoll_wait((int)sum, &e, 1, -1); read(event, &v, 8); "
        "done += v; sem_post(&end); }",
        "event = eventfd(0, EFD_CLOEXEC); sum = epoll_create1(EPOLL_CLOEXEC); "
        "struct epoll_event e = {.events = EPOLLIN}; epoll_ctl((int)sum, EPOLL_CTL_ADD, event, &e); "
        "start(1);",
        'uint64_t v = 5; for (int i = 0; i < 20; ++i) { write(event, &v, 8); sem_wait(&end); } '
        'printf("%d\\n", done);'),
    "a read of an event": ("uint64_t v; for (;;) { read(event, &v, 8); done += v; sem_post(&end); }",
                           "event = eventfd(0, 0); start(1);",
                           'uint64_t v = 5; write(event, &v, 8); sem_wait(&end); printf("%d\\n", done);'),
    "a wait for signals": (
        "sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR1); int n; sigwait(&s, &n); "
        "return (void *)(long)n;",
        "sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR1); pthread_sigmask(SIG_BLOCK, &s, 0); start(1);",
        'void *got; kill(getpid(), SIGUSR1); pthread_join(threads[0], &got); printf("%ld\\n", (long)got);'),
    "pause": ("pause(); return 0;", "start(2);", 'printf("%d\\n", thread_count());'),
    "state of its own": (
        'mine = 40; errno = 33; fesetround(FE_UPWARD); prctl(PR_SET_NAME, "own name"); sigset_t s; '
        'sigemptyset(&s); sigaddset(&s, SIGUSR2); pthread_sigmask(SIG_BLOCK, &s, 0); '
        'static char other[65536]; stack_t a = {.ss_sp = other, .ss_size = sizeof other}; '
        'sigaltstack(&a, 0); '
        'register double kept __asm__("xmm7") = 1.5; __asm__ volatile("" : "+x"(kept)); '
        'while (sem_wait(&begin)); __asm__ volatile("" : "+x"(kept)); char name[20] = ""; '
        'prctl(PR_GET_NAME, name); sigset_t now; pthread_sigmask(0, 0, &now); stack_t b; sigaltstack(0, &b); '
        'printf("%d %d %d %s %d %d %g %d %d\\n", mine, fegetround() == FE_UPWARD, '
        'pthread_self() == threads[0], name, sigismember(&now, SIGUSR2), b.ss_sp == other, 1.5, '
        'gettid() != getpid(), pthread_equal(pthread_self(), threads[0])); return 0;',
        "sem_init(&begin, 0, 0); start(1);", "sem_post(&begin); pthread_join(threads[0], 0);"),
    "cancelled": ("return pool();", "start(1);", 'void *got; pthread_cancel(threads[0]); '
                  'pthread_join(threads[0], &got); printf("%d\\n", got == PTHREAD_CANCELED);'),
    "signalled": ("while (!done) pause(); return (void *)(long)mine;",
                  "signal(SIGUSR1, noted); start(1);",
                  'void *got; while (!done) { pthread_kill(threads[0], SIGUSR1); usleep(1000); } '
                  'pthread_join(threads[0], &got); printf("%ld %d\\n", (long)got, done);'),
    "with a destructor": (
        "pthread_key_t key; pthread_key_create(&key, ends); "
        'pthread_setspecific(key, "its end"); sem_wait(&begin); return 0;',
        "sem_init(&begin, 0, 0); start(1);", "sem_post(&begin); pthread_join(threads[0], 0);"),
    "a mutex that the first thread holds": (
        "pthread_mutex_lock(&mutex); ++sum; pthread_mutex_unlock(&mutex); return 0;",
        "pthread_mutex_lock(&mutex); start(3);",
        'sum = 5; pthread_mutex_unlock(&mutex); for (int i = 0; i < 3; ++i) pthread_join(threads[i], 0); '
        'printf("%ld\\n", sum);'),
    "a barrier": ("pthread_barrier_wait((void *)&sum); return 0;",
                  "static pthread_barrier_t b; pthread_barrier_init(&b, 0, 4); event = 1; "
                  "barrier = &b; start(3);",
                  'pthread_barrier_wait(barrier); for (int i = 0; i < 3; ++i) pthread_join(threads[i], 0); '
                  'puts("all");'),
    "a join": ("if (arg) { pthread_join(threads[0], 0); return 0; } return pool();", "start(2);",
               'pthread_mutex_lock(&mutex); quits = 1; pthread_cond_signal(&work); '
               'pthread_mutex_unlock(&mutex); pthread_join(threads[1], 0); puts("both");'),
    "more started by the request": ("return pool();", "start(2);",
                                    'for (; count < 8; ++count) pthread_create(&threads[count], 0, run, 0); '
                                    'give(100); printf("%ld %d\\n", sum, thread_count());'),
    "a child of the request": ("return pool();", "start(2);",
                               'pid_t child = fork(); if (!child) _exit(thread_count()); int s; '
                               'waitpid(child, &s, 0); give(100); printf("%d %ld\\n", s, sum);'),
    "its end in one of them": ('sem_wait(&begin); puts("late"); exit(5);',
                               "sem_init(&begin, 0, 0); start(2);",
                               "sem_post(&begin); for (;;) pause();"),
    "the last of them": ("return pool();", "start(2);",
                         'puts("x"); fflush(stdout); pthread_mutex_lock(&mutex); '
                         'jobs = 1000000; pthread_cond_broadcast(&work); pthread_mutex_unlock(&mutex);'),
}


def source(work, constructor, body):
    more = "static pthread_barrier_t *barrier;" if "barrier" in constructor else ""
    work = work.replace("(void *)&sum", "barrier")
    return SOURCE + more + """
static void *run(void *arg) { %s }
__attribute__((constructor)) static void setup(void) { %s
  usleep(20000); }
int main(void) {
  printf("%%d %%d %%d %%d\\n", thread_count(), jobs, done, mine); fflush(stdout);
  mine = 9; %s return 3;
}""" % (work, constructor, body)


def program_of(folder, *parts, name="threads.c", words=()):
    return [folder.compile(name, source(*parts), "-pthread", "-D_GNU_SOURCE", "-w", *words)]


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_request_has_the_threads_of_the_start(folder, kind, reset):
    argv = program_of(folder, *KINDS[kind], words=["-lm"])
    plain = run_plainly(argv)
    assert plain.code in (3, 5), plain.stderr
    with Warm(argv, reset=reset) as warm:
        assert (warm.reset, warm.threads, warm.weaker) == (reset, 1, "")
        for _ in range(TIMES):
            assert warm.ask().seen() == plain.seen()
        assert [why for why, _ in warm.retired if why != "threads"] == []


# The first thread hides from signal 33, and comes only after the first attempt to park it: a timer's signal,
# which the kernel keeps until the second thread goes on, makes that one show the first. libc's calls for all
# threads need the handler that libc has for this signal.
COMES_LATE = r"""
#include <ucontext.h>
static long bare(long number, long a, long b, long c, long d) {
  register long r10 __asm__("r10") = d;
  __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return number;
}
static void show(int n, siginfo_t *i, void *frame) {
  *(uint64_t *)&((ucontext_t *)frame)->uc_sigmask &= ~(1ull << 32);
}
static int timer;
static void tell(int n) {
  bare(SYS_timer_delete, timer, 0, 0, 0);
  pthread_kill(threads[0], SIGUSR1);
  usleep(50000);
}
static void hide(void) { uint64_t one = 1ull << 32; bare(SYS_rt_sigprocmask, SIG_BLOCK, (long)&one, 0, 8); }
static void expect(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2};
  struct itimerspec when = {.it_value.tv_nsec = 500000000};
  event._sigev_un._tid = (int)bare(SYS_gettid, 0, 0, 0, 0);
  bare(SYS_timer_create, CLOCK_MONOTONIC, (long)&event, (long)&timer, 0);
  bare(SYS_timer_settime, timer, 0, (long)&when, 0);
}
static void *run(void *arg) {
  if (arg) expect(); else hide();
  for (;;) if (arg) pause(); else sem_wait(&begin);
}
__attribute__((constructor)) static void setup(void) {
  struct sigaction action = {.sa_sigaction = show, .sa_flags = SA_SIGINFO | SA_RESTART};
  sigaction(SIGUSR1, &action, 0);
  signal(SIGUSR2, tell);
  start(2);
  usleep(20000);
}
int main(void) { alarm(20); printf("%d %d\n", setuid(getuid()), thread_count()); return 3; }
"""


@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_libc_reaches_all_threads_though_one_came_late(folder, reset):
    argv = [folder.compile("late.c", SOURCE + COMES_LATE, "-pthread", "-D_GNU_SOURCE", "-w")]
    with Warm(argv, reset=reset) as warm:
        assert (warm.reset, warm.threads, warm.weaker) == (reset, 1, "")
        answer = warm.ask()
        assert (answer.text, answer.code) == ("0 3\n", 3)


CPP = r"""
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <future>
#include <mutex>
#include <queue>
#include <semaphore>
#include <shared_mutex>
#include <thread>
#include <vector>
struct Pool {
  std::mutex mutex; std::condition_variable any; std::queue<std::function<void()>> tasks; bool ends = false;
  std::atomic<int> turn{0}; std::counting_semaphore<10> left{0}; std::shared_mutex shared; int read = 0;
  std::vector<std::thread> threads;
  Pool() {
    for (int i = 0; i < 3; ++i) threads.emplace_back([this] {
      for (;;) {
        std::unique_lock lock(mutex);
        any.wait(lock, [this] { return ends || !tasks.empty(); });
        if (tasks.empty()) return;
        auto task = std::move(tasks.front()); tasks.pop(); lock.unlock(); task();
      }
    });
    threads.emplace_back([this] {
      turn.wait(0);
      std::unique_lock lock(shared);
      read += turn;
      left.release();
    });
  }
  ~Pool() {
    { std::unique_lock lock(mutex); ends = true; }
    any.notify_all();
    for (auto &thread : threads) thread.join();
    std::printf("joined %d\n", read);
  }
  std::future<int> add(int value) {
    auto task = std::make_shared<std::packaged_task<int()>>([value] { return value * 2; });
    auto result = task->get_future();
    { std::unique_lock lock(mutex); tasks.push([task] { (*task)(); }); }
    any.notify_one();
    return result;
  }
};
static Pool pool;
int main() {
  std::vector<std::future<int>> all;
  for (int i = 0; i < 50; ++i) all.push_back(pool.add(i));
  int sum = 0;
  for (auto &one : all) sum += one.get();
  pool.turn = 4; pool.turn.notify_all(); pool.left.acquire();
  std::shared_lock lock(pool.shared);
  std::printf("%d %d\n", sum, pool.read);
}
"""

OPENMP = r"""
#include <omp.h>
#include <stdio.h>
static double table[1000];
__attribute__((constructor)) static void fill(void) {
#pragma omp parallel for num_threads(4)
  for (int i = 0; i < 1000; ++i) table[i] = i;
}
int main(void) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(4)
  for (int i = 0; i < 1000; ++i) sum += table[i];
  printf("%g\n", sum);
}
"""

PROGRAMS = {"pool.cc": (CPP, ["-pthread", "-std=c++20"]), "openmp.c": (OPENMP, ["-fopenmp"])}


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_languages_make_of_threads(folder, name, reset):
    text, words = PROGRAMS[name]
    argv = [folder.compile(name, text, *words)]
    plain = run_plainly(argv)
    assert plain.code == 0 and plain.stdout
    with Warm(argv, reset=reset) as warm:
        assert (warm.reset, warm.threads, warm.weaker) == (reset, 1, "")
        for _ in range(TIMES):
            assert warm.ask().seen() == plain.seen()


# What a thread writes that looks like locks of its own but for one word: tables of small numbers do, where
# ids of threads are small.
LIKE_LOCKS = r"""
  pthread_mutex_lock(&mutex);
  unsigned id = (unsigned)mutex.__data.__owner;  /* to ask the kernel before main() would be noticed */
  pthread_mutex_unlock(&mutex);
  static unsigned table[][14] = {
    {1, 32, 0, 1, 16}, {1, 0, 0, 1, 0, 1}, {2, 0, 0, 2, 64, 770}, {1, 0, 0, 1, 0, 0, 4}, {1, 3, 0, 1, 0},
    {1, 0, 0, 1, 3, 65536}, {0, 0, 0, 1, 32, 0, 9}, {1, 0, 0, 0}, {3, 0, 0, 1}, {1, 0, 0, 1, 1024},
    {3, 0, 1, 1, 0, 0, 0, 0, 7}, {3, 0, 1, 1, 0, 0, 0, 2}, {3, 0, 1, 2},
    {3, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 3}};
  for (size_t i = 0; i < sizeof table / sizeof *table; ++i) table[i][i < 10 ? 2 : 6] = id;
  table[6][0] = id;
  unsigned *heap = calloc(1, sizeof table);
  memcpy(heap, table, sizeof table);
  sem_post(&end);
  pause();
  return heap;
"""


@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_numbers_that_only_look_like_a_lock_are_none(folder, reset):
    argv = program_of(folder, LIKE_LOCKS, "sem_init(&end, 0, 0); start(1); sem_wait(&end);", 'puts("main");')
    with Warm(argv, reset=reset) as warm:
        assert (warm.reset, warm.threads, warm.weaker) == (reset, 1, "")
        assert warm.ask().seen() == run_plainly(argv).seen()


def holding(attributes, variable="static pthread_mutex_t m;"):
    return (f"pthread_mutexattr_t a; pthread_mutexattr_init(&a); {attributes} {variable} "
            "if (pthread_mutex_init(&m, &a) || pthread_mutex_lock(&m)) abort(); pause(); return 0;",
            "start(1);", "holds a lock")


ITS_OWN = "has attributes of its own"

# name: (a thread's work, the constructor's, what the reason says)
REFUSED = {
    "holding a recursive mutex": holding(
        "pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);"),
    "holding a mutex that checks": holding(
        "pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);"),
    "holding an adaptive mutex": holding("pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ADAPTIVE_NP);"),
    "holding a robust mutex": holding("pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);"),
    "holding a mutex with inheritance": holding(
        "pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);"),
    "holding a mutex that processes share": holding(
        "pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);"),
    "holding a mutex on its stack": holding("", "pthread_mutex_t m;"),
    "holding a mutex that ends in a page nobody touched": (
        "char *pages = mmap(0, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); "
        "pthread_mutex_lock((pthread_mutex_t *)(pages + 4096 - 24)); pause(); return 0;",
        "start(1);", "holds a lock"),
    "computing": ("for (;;) ++sum;", "start(1);", "does not rest"),
    "asleep for a while": ("sleep(1000); return 0;", "start(1);", "for a limited time"),
    "waiting until a moment": (
        "struct timespec t = {4000000000, 0}; pthread_mutex_lock(&mutex); "
        "pthread_cond_timedwait(&work, &mutex, &t); return 0;", "start(1);", "for a limited time"),
    "holding a mutex": ("pthread_mutex_lock(&mutex); pause(); return 0;", "start(1);", "holds a lock"),
    "with a slack of its own": ("prctl(PR_SET_TIMERSLACK, 12345); pause(); return 0;", "start(1);", ITS_OWN),
    "with a signal for its parent's death": (
        "prctl(PR_SET_PDEATHSIG, SIGUSR1); pause(); return 0;", "start(1);", ITS_OWN),
    "with another personality": ("personality(0x0040000); pause(); return 0;", "start(1);", ITS_OWN),
    "with a base of gs": ("syscall(SYS_arch_prctl, 0x1001, &sum); pause(); return 0;", "start(1);", ITS_OWN),
    "with memory by a policy": (
        "syscall(SYS_set_mempolicy, 1, (unsigned long[]){1}, 64L); pause(); return 0;", "start(1);", ITS_OWN),
    "with descriptors of its own": ("unshare(CLONE_FILES); pause(); return 0;", "start(1);", "of its own"),
    "with a folder of its own": ("unshare(CLONE_FS); pause(); return 0;", "start(1);", "of its own"),
    "holding a lock for writing": (
        "static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER; pthread_rwlock_wrlock(&l); pause(); "
        "return 0;",
        "start(1);", "holds a lock"),
    "the first one, holding a lock for writing": (
        "pause(); return 0;", "static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER; "
        "pthread_rwlock_wrlock(&l); start(1);", "holds a lock"),
    "the first one, holding a recursive mutex": (
        "pause(); return 0;", "static pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; "
        "pthread_mutex_lock(&m); start(1);", "holds a lock"),
    "the first one, holding a mutex that checks": (
        "pause(); return 0;", "static pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP; "
        "pthread_mutex_lock(&m); start(1);", "holds a lock"),
    "on one processor": ("cpu_set_t s; CPU_ZERO(&s); CPU_SET(0, &s); sched_setaffinity(0, sizeof s, &s); "
                         "pause(); return 0;", "start(1);", "of its own"),
    "too many": ("pause(); return 0;", "start(257);", "too many (at most 256)"),
}


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_carried_is_refused(folder, name, reset):
    work, constructor, reason = REFUSED[name]
    if "one processor" in name and len(__import__("os").sched_getaffinity(0)) == 1:
        pytest.skip("this machine has one processor")
    with Warm(program_of(folder, work, constructor, ""), reset=reset) as warm:
        assert warm.threads > 1, warm.threads
        assert reason in warm.weaker
        assert warm.log() == ""
