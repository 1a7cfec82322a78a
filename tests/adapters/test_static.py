"""Static executables: launched in a program of ours, entered at their first instruction or at main(). What
holds for dynamic ones has to hold for them, so tests of other files run here once more, with programs that
are linked with -static. Further down: what only such programs can do, with glibc and with musl."""

import os
import re
import shutil
import subprocess

import pytest

import driver
import test_rewind_retirement as retirement
from conftest import Folder
from driver import REQUEST_ENV, Warm, Zygote, run_plainly
from harness.compiled import compile_program
from test_children import (test_a_child_has_none_of_the_library_s_descriptors,  # noqa: F401
                           test_a_grandchild_that_hardly_reads_is_seen_in_the_group,
                           test_a_grandchild_that_shares_descriptors_or_the_folder_costs_the_worker,
                           test_users_that_were_changed_and_changed_back_leave_nothing)
from test_events_and_timers import (test_a_timer_that_a_request_leaves_does_not_cost_its_worker,  # noqa: F401
                                    test_each_request_has_an_eventfd_of_its_own)
from test_letting_go import program, test_it_is_over_at_done  # noqa: F401
from test_natives import TestCPlusPlus as CPlusPlus
from test_natives import TestSignalStacks  # noqa: F401
from test_rewind_endings import (test_an_end_that_may_cost_the_worker,  # noqa: F401
                                 test_an_end_that_the_worker_survives)
from test_rewind_memory import test_what_a_request_may_do_to_its_mappings  # noqa: F401
from test_rewind_threads import (test_a_request_may_be_ended_by_another_thread,  # noqa: F401
                                 test_a_thread_left_behind_ends_with_its_request,
                                 test_a_thread_within_vfork_costs_the_worker,
                                 test_the_next_owner_of_a_thread_s_robust_mutex_is_told)
from test_rewind_unique import test_c_and_cplusplus_tokens  # noqa: F401

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="elsewhere they run classic")
TIMES = 8


class StaticFolder(Folder):
    def compile(self, name, text, *flags):
        return super().compile(name, text, "-static", *flags)


@pytest.fixture
def folder(tmp_path):
    return StaticFolder(tmp_path)


class TestStaticCPlusPlus(CPlusPlus):
    def test_a_thread_before_main_is_refused_with_its_reason(self, folder):
        pytest.skip("constructors run in the request: the checkpoint is before the first instruction")


# After a filter such a program is left alone, and ends as a process.
@pytest.mark.parametrize("name", [name for name in retirement.RULES if name != "seccomp"])
def test_what_a_request_may_leave(folder, name):
    retirement.test_what_a_request_may_leave(folder, name)


# One deed a word; what it prints, and its end, are compared with a plain run's.
DEEDS = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
extern char **environ;
static int calls;
static volatile int caught;
static sigjmp_buf place;
static void on_signal(int number) { caught = number; }
static void on_signal_with_calls(int number) {
  char name[64] = "";
  caught = number;
  prctl(PR_GET_NAME, name);
  sigset_t now;
  sigprocmask(SIG_BLOCK, NULL, &now);
  printf("in a handler: %s, blocked %d\n", name, sigismember(&now, SIGUSR2));
}
static void on_alarm_jump(int number) { siglongjmp(place, number); }
static void handle(int number, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  sigfillset(&action.sa_mask);
  sigaction(number, &action, NULL);
}
static int run(char *const argv[]) {
  pid_t child;
  int status = -1;
  fflush(stdout);
  int failure = posix_spawn(&child, argv[0], NULL, NULL, argv, environ);
  if (failure) return -failure;
  waitpid(child, &status, 0);
  return status;
}
static void deed(const char *what, char **argv) {
  if (!strcmp(what, "executable")) {
    char path[4096];
    struct stat by_link, by_path;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    path[length > 0 ? length : 0] = 0;
    printf("%s %s %d\n", path, strcmp(path, argv[0]) ? "another" : "argv[0]", access("/proc/self/exe", X_OK));
    stat("/proc/self/exe", &by_link);
    stat(argv[0], &by_path);
    int fd = open("/proc/self/exe", O_RDONLY);
    char head[4];
    printf("%d %zd\n", by_link.st_ino == by_path.st_ino, read(fd, head, 4));
    printf("%d\n", (int)readlink("/proc/self/exe", (char *)8, 10) == -1 ? errno : 0);
  }
  if (!strcmp(what, "itself")) {
    fflush(stdout);
    execl("/proc/self/exe", argv[0], "executed", (char *)0);
    perror("exec");
  }
  if (!strcmp(what, "executed")) puts("executed again");
  if (!strcmp(what, "children")) {
    volatile int shared = 1;
    pid_t child = vfork();
    if (child == 0) {
      char deep[8192];
      shared = 2;
      memset(deep, 1, sizeof deep);
      __asm__("" : : "r"(deep) : "memory");
      _exit(5);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("vfork: %d %d\n", shared, WEXITSTATUS(status));
    fflush(stdout);
    printf("system: %d\n", system("echo from a shell; exit 3"));
    char *none[] = {"/nonexistent", NULL}, *words[] = {"/bin/echo", "spawned", NULL};
    printf("%d ", run(none));
    printf("%d\n", run(words));
    FILE *pipe = popen("tr a-z A-Z", "w");
    fputs("through a pipe\n", pipe);
    printf("pclose: %d\n", pclose(pipe));
    fflush(stdout);
    if (fork() == 0) { printf("child %d\n", ++calls); exit(0); }
    wait(&status);
    printf("parent %d\n", calls);
  }
  if (!strcmp(what, "grandchildren")) {
    static char stack[65536];
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    for (int turn = 0; turn < 2; ++turn) {
      fflush(stdout);
      pid_t child = turn ? vfork() : fork();
      if (child == 0) {
        char path[4096] = "";
        readlink("/proc/self/exe", path, sizeof path - 1);
        if (strcmp(path, argv[0])) _exit(9);
        if (vfork() == 0) { execl("/proc/self/exe", "another name", "executed", (char *)0); _exit(8); }
        int status = 0;
        wait(&status);
        _exit(WEXITSTATUS(status));
      }
      int status = 0;
      waitpid(child, &status, 0);
      printf("turn %d: %d\n", turn, WEXITSTATUS(status));
      sigaltstack(&own, NULL);
    }
  }
  if (!strcmp(what, "signals")) {
    handle(SIGUSR1, on_signal_with_calls, 0);
    raise(SIGUSR1);
    handle(SIGUSR1, on_signal_with_calls, SA_ONSTACK);
    raise(SIGUSR1);
    sigset_t all, old, some;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    handle(SIGUSR2, on_signal, 0);
    kill(getpid(), SIGUSR2);
    printf("blocked: %d\n", caught);
    sigpending(&some);
    printf("pending: %d\n", sigismember(&some, SIGUSR2));
    sigemptyset(&some);
    printf("sigsuspend: %d %d\n", sigsuspend(&some), caught);
    caught = 0;
    kill(getpid(), SIGUSR2);
    struct timespec moment = {0, 1000000};
    printf("ppoll: %d %d\n", ppoll(NULL, 0, &moment, &some), caught);
    caught = 0;
    kill(getpid(), SIGUSR2);
    printf("pselect: %d %d\n", pselect(0, NULL, NULL, NULL, &moment, &some), caught);
    sigprocmask(SIG_SETMASK, &old, NULL);
    sigprocmask(SIG_BLOCK, NULL, &some);
    printf("mask: %d\n", sigismember(&some, SIGUSR2));
    if (syscall(SYS_rt_sigaction, SIGUSR2, 8, 0, 8)) perror("sigaction");
    if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, 8, 0, 8)) perror("sigprocmask");
  }
  if (!strcmp(what, "jumps")) {
    handle(SIGALRM, on_alarm_jump, SA_NODEFER);
    for (int i = 0; i < 6; ++i) {
      struct itimerval soon = {{0, 0}, {0, 2000}};
      if (sigsetjmp(place, 1) == 0) {
        setitimer(ITIMER_REAL, &soon, NULL);
        int ends[2];
        char byte;
        pipe(ends);
        read(ends[0], &byte, 1);
      } else {
        printf("jumped %d\n", i);
      }
    }
  }
  if (!strcmp(what, "sigsys")) {
    struct sigaction action = {.sa_handler = on_signal}, old;
    printf("%d ", sigaction(SIGSYS, NULL, &old));
    printf("%d\n", old.sa_handler == SIG_DFL);
    sigaction(SIGSYS, &action, NULL);
    sigaction(SIGSYS, NULL, &old);
    printf("%d\n", old.sa_handler == on_signal);
    raise(SIGSYS);
    printf("caught %d\n", caught == SIGSYS);
    sigset_t it;
    sigemptyset(&it);
    sigaddset(&it, SIGSYS);
    sigprocmask(SIG_BLOCK, &it, NULL);
    caught = 0;
    raise(SIGSYS);
    printf("blocked %d ", caught);
    sigprocmask(SIG_UNBLOCK, &it, NULL);
    printf("then %d\n", caught == SIGSYS);
    signal(SIGSYS, SIG_DFL);
    if (argv[2]) { fflush(stdout); raise(SIGSYS); }
  }
  if (!strcmp(what, "altstack")) {
    static char stacks[2][65536];
    stack_t first = {.ss_sp = stacks[0], .ss_size = sizeof stacks[0]}, old;
    printf("%d\n", sigaltstack(&first, NULL));
    handle(SIGUSR1, on_signal_with_calls, SA_ONSTACK);
    raise(SIGUSR1);
    stack_t second = {.ss_sp = stacks[1], .ss_size = sizeof stacks[1]};
    printf("%d ", sigaltstack(&second, &old));
    printf("%d %d\n", old.ss_sp == stacks[0], old.ss_flags);
    raise(SIGUSR1);
    stack_t small = {.ss_sp = stacks[1], .ss_size = 16}, off = {.ss_flags = SS_DISABLE};
    printf("%d ", sigaltstack(&small, NULL));
    printf("%d\n", errno == ENOMEM);
    printf("%d\n", sigaltstack(&off, NULL));
    printf("%d ", sigaltstack(NULL, &old));
    printf("%d\n", old.ss_flags == SS_DISABLE);
  }
  if (!strcmp(what, "limits")) {
    struct rlimit limit, now;
    getrlimit(RLIMIT_NOFILE, &now);
    printf("%d\n", now.rlim_cur == 77);
    limit = (struct rlimit){77, now.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &now);
    printf("%d\n", now.rlim_cur == 77);
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    printf("%d\n", used.tv_sec == 0 && used.tv_nsec < 500000000);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%d\n", usage.ru_utime.tv_sec == 0 && usage.ru_stime.tv_sec == 0);
    umask(0);
    chdir("/");
    nice(3);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_NAME, "another");
  }
  if (!strcmp(what, "memory")) {
    char *block = malloc(3 << 20);
    for (int i = 0; i < 3 << 20; i += 4096) if (block[i]) puts("not empty");
    memset(block, 1, 3 << 20);
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[0] = 1;
    mprotect(page, 4096, PROT_READ);
    munmap(page + 4096, 4096);
    static char data[100000];
    for (int i = 0; i < 100000; i += 100) if (data[i]) puts("data");
    memset(data, 2, sizeof data);
    madvise(block, 4096, MADV_DONTNEED);
    printf("%p\n", sbrk(0) == (void *)-1 ? (void *)1 : NULL);
  }
  if (!strcmp(what, "filter")) {
    struct sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getuid, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {6, rules};
    signal(SIGSYS, on_signal);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    printf("%d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
    getuid();
    printf("trapped %d\n", caught == SIGSYS);
  }
  if (!strcmp(what, "abort")) { fflush(stdout); abort(); }
  if (!strcmp(what, "fault")) { fflush(stdout); *(volatile int *)argv[5000] = 1; }
}
int main(int argc, char **argv, char **envp) {
  char body[100];
  ssize_t got = read(0, body, sizeof body);
  printf("call %d of %d words, %zd bytes, ", ++calls, argc, got);
  printf("%s, %d\n", getenv("QUERY_STRING"), envp == environ);
  int variables = 0;
  unsigned sum = 0;
  for (char **entry = environ; *entry; ++entry, ++variables)
    for (char *at = *entry; *at; ++at) sum = sum * 31 + *at;
  printf("%d variables, %u\n", variables, sum);
  setenv("LEFT", "behind", 1);
  for (int i = 1; i < argc; ++i) printf("<%s>", argv[i]);
  puts("");
  deed(argc > 1 ? argv[1] : "", argv);
  return argc;
}
"""
COMPILERS = {"glibc": ["gcc", "-static"], "glibc, static-pie": ["gcc", "-static-pie"],
             "glibc, with a constructor": ["gcc", "-static", "-DEARLY"],
             "musl": ["musl-gcc", "-static", "-idirafter", "/usr/include", "-idirafter",
                      "/usr/include/x86_64-linux-gnu"]}
EARLY = """
#ifdef EARLY
__attribute__((constructor)) static void early(void) { setvbuf(stdout, NULL, _IOFBF, 1 << 14); }
#endif
"""
WORDS = [["executable"], ["itself"], ["children"], ["grandchildren"], ["signals"], ["jumps"], ["sigsys"],
         ["sigsys", "dies"], ["altstack"], ["limits"], ["memory"], ["filter"], ["abort"], ["fault"],
         ["two words", "", "three"]]


@pytest.fixture(params=COMPILERS)
def deeds(request, tmp_path):
    compiler, *flags = COMPILERS[request.param]
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    source = tmp_path / "deeds.c"
    source.write_text(DEEDS.replace("int main(", EARLY + "int main(", 1))
    compile_program(compiler, source, tmp_path / "deeds", ["-O1", "-w", *flags])
    assert driver.is_static(tmp_path / "deeds")
    return str(tmp_path / "deeds")


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_every_deed_is_done_as_in_a_plain_process(deeds, reset, words):
    plain = run_plainly([deeds, *words], body=b"body")
    assert plain.stdout
    with Warm([deeds], reset=reset) as zygote:
        assert (zygote.reset, zygote.weaker) == (reset, "")
        for _ in range(TIMES if reset == "rewind" else 3):
            assert zygote.ask(*words, body=b"body").seen() == plain.seen()
            assert zygote.ask(body=b"").stdout.startswith(b"call 1 of 1 words, 0 bytes")
        stays = words[0] not in ("itself", "filter", "abort", "fault") and "dies" not in words
        if os.getuid() != 0 and words[0] == "limits":  # its priority is lower for ever
            assert {why for why, _ in zygote.retired} <= {"limits"}
        elif stays and reset != "fork":
            assert (zygote.workers, zygote.retired) == (1, [])


@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_a_program_behind_links_finds_its_own_file(folder, reset):
    """As /proc/self/exe: what lies beside it is found there. The path of the launch is libc's AT_EXECFN."""
    program = folder.compile("opt/app.c", r"""
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv) {
  char path[4096], name[64] = "";
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  prctl(PR_GET_NAME, name);
  printf("%.*s %s %s %s\n", (int)length, path, argv[0], (char *)getauxval(AT_EXECFN), name);
}
""", "-static")
    os.symlink("opt", folder.path / "current")
    os.symlink("../current/app", folder.path / "opt/link")
    linked = str(folder.path / "current/link")
    plain = run_plainly([linked])
    assert plain.text.startswith(os.path.realpath(program) + " ")
    with Warm([linked], reset=reset) as zygote:
        for _ in range(TIMES):
            assert zygote.ask().seen() == plain.seen()


@pytest.mark.parametrize("count", [0, 1, 400, 700])
def test_any_number_of_variables(deeds, count):
    env = {f"V{n}": "x" * n for n in range(count)} | {"QUERY_STRING": "q"}
    plain = run_plainly([deeds], env=env)
    with Warm([deeds]) as zygote:
        for _ in range(3):
            assert zygote.ask(env=env).seen() == plain.seen()
            assert zygote.ask(env=REQUEST_ENV).seen() == run_plainly([deeds], env=REQUEST_ENV).seen()


def test_a_file_that_is_replaced_in_place_does_not_reach_the_copy(deeds):
    plain = run_plainly([deeds])
    with Warm([deeds]) as zygote:
        assert zygote.ask().seen() == plain.seen()
        with open(deeds, "r+b") as file:
            file.write(b"\0" * os.path.getsize(deeds))
        for _ in range(5):
            assert zygote.ask().seen() == plain.seen()


@pytest.mark.parametrize("early, count", [("", 1), (EARLY.replace("#ifdef EARLY", "#if 1"), TIMES)],
                         ids=["at main", "at the first instruction"])
def test_where_it_stops(folder, early, count):
    """libc draws its guard of stacks when it starts: once, or in each request."""
    program = folder.compile("guard.c", "#include <stdio.h>\n" + early + r"""
int main() {
  unsigned long guard;
  __asm__("mov %%fs:0x28, %0" : "=r"(guard));
  printf("%lx\n", guard);
}
""")
    sections = subprocess.run(["readelf", "-SW", program], capture_output=True, text=True, check=True).stdout
    if not early and not re.search(r" \.init_array +INIT_ARRAY +\w+ \w+ 000008 ", sections):
        pytest.skip("this libc has a constructor of its own: none of its programs stops at main()")
    with Warm([program]) as zygote:
        assert len({zygote.ask().text for _ in range(TIMES)}) == count


def test_random_numbers_of_the_start_are_drawn_anew(folder):
    program = folder.compile("random.c", r"""
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/random.h>
int main() {
  unsigned long drawn;
  getrandom(&drawn, sizeof drawn, 0);
  printf("%lx %lx\n", drawn, *(unsigned long *)getauxval(AT_RANDOM));
}
""")
    with Warm([program]) as zygote:
        seen = [word for _ in range(TIMES) for word in zygote.ask().text.split()]
    assert len(set(seen)) == len(seen) == 2 * TIMES


def test_an_executable_that_wants_its_stack_executable_is_refused(folder):
    program = folder.compile("stack.c", "int main() {}\n", "-zexecstack")
    with Zygote([program]) as zygote:
        assert not zygote.stands
        assert "executable stack" in zygote.note(driver.SHALLOWER)[0]


def test_a_file_that_is_not_whole_is_refused(folder):
    program = folder.compile("cut.c", "int main() {}\n")
    os.truncate(program, 200)
    with Zygote([program]) as zygote:
        assert not zygote.stands
        assert "program headers" in zygote.note(driver.SHALLOWER)[0]
