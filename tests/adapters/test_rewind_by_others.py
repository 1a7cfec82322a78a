"""reset=rewind: changes to a process that are made by its children, through /proc, or through functions that
are reached in other ways, are put back or retire the worker, too."""

import os
import re

import pytest

from acts import compile_act
from driver import SHALLOWER, Warm, Zygote, run_plainly

HELPERS = r"""
#include <sys/xattr.h>
static void put(const char *path, const char *text) {
  int fd = open(path, O_WRONLY); write(fd, text, strlen(text)); close(fd); }
static void put_of(pid_t pid, const char *name, const char *text) {
  char path[64]; sprintf(path, "/proc/%d/%s", (int)pid, name); put(path, text); }
static void fewer_files(pid_t pid) {
  struct rlimit l; getrlimit(RLIMIT_NOFILE, &l); l.rlim_cur = 77; prlimit(pid, RLIMIT_NOFILE, &l, 0); }
static cpu_set_t *first_processor(void) {
  static cpu_set_t one; CPU_ZERO(&one); CPU_SET(0, &one); return &one; }
static int thread_of_c(void *unused) { return 0; }
static void *of_libc(const char *name) { return dlsym(dlopen("libc.so.6", RTLD_NOW), name); }
"""


def by_child(act):
    return "pid_t own = getpid(); if (fork() == 0) { %s; _exit(0); } wait(0);" % act


def unheard(act):
    return "signal(SIGCHLD, SIG_IGN); " + by_child(act)


BY_CHILDREN = {
    "a limit": (by_child("fewer_files(own)"), {None}),
    "a limit, by one that is not heard of": (unheard("fewer_files(own)"), {None}),
    "processors": (by_child("sched_setaffinity(own, sizeof(cpu_set_t), first_processor())"), {None}),
    "a schedule": (by_child("struct sched_param p = {0}; sched_setscheduler(own, SCHED_BATCH, &p)"),
                   {None, "limits"}),
    "nice": (by_child("setpriority(PRIO_PROCESS, own, 1 + getpriority(PRIO_PROCESS, own))"),
             {None, "limits"}),
    "a priority of input": (by_child("syscall(SYS_ioprio_set, 1, own, (2 << 13) | 7)"), {None}),
    "its way out of memory": (by_child('put_of(own, "oom_score_adj", "77")'), {None, "limits"}),
    "what is dumped of it": (by_child('put_of(own, "coredump_filter", "0x1")'), {None}),
    "its slack of timers": (by_child('put_of(own, "timerslack_ns", "77777")'), {None}),
    "its name": (by_child('put_of(own, "comm", "left")'), {None}),
    # Whoever shares it, a child of that child too, sets it for all, at any later time.
    "a priority of input that is shared": (
        "syscall(SYS_ioprio_set, 1, 0, (2 << 13) | 7); "
        "if (syscall(SYS_clone, CLONE_IO | SIGCHLD, 0, 0, 0, 0) == 0) _exit(0); wait(0);", {"children"}),
    "its group": (by_child("setpgid(own, getpgid(getppid()))"), {None, "session"}),
}
BY_HANDLE = {
    "a limit": ('struct rlimit l = {77, 1000}; ((int (*)())of_libc("setrlimit"))(RLIMIT_NOFILE, &l);',
                {None, "limits"}),
    "a slack of timers": ('((int (*)())of_libc("prctl"))(PR_SET_TIMERSLACK, 77777L);', {None}),
    "processors": ('((int (*)())of_libc("sched_setaffinity"))(0, sizeof(cpu_set_t), first_processor());',
                   {None}),
    "of a library that needs libc": ('struct rlimit l = {77, 1000}; void *m = dlopen("libm.so.6", 2); '
                                     '((int (*)())dlsym(m, "setrlimit"))(RLIMIT_NOFILE, &l);',
                                     {None, "limits"}),
    "a signal": ('((void *(*)())of_libc("signal"))(SIGRTMIN + 1, SIG_IGN);', {None}),
    "a file system's user": ('((int (*)())of_libc("setfsuid"))(65534);', {"identity"}),
    "a system call": ('((long (*)())of_libc("syscall"))((long)SYS_setfsuid, 65534L);', {"identity"}),
    "a library before all others": ('dlopen("libm.so.6", RTLD_NOW | RTLD_DEEPBIND);', {"call"}),
    "another libc": ('dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);', {"call"}),
}
BY_OTHER_NAMES = {
    "ulimit": ("ulimit(UL_SETFSIZE, 1000L);", {None, "limits"}),
    "pthread_setaffinity_np": ("pthread_setaffinity_np(pthread_self(), sizeof(cpu_set_t), "
                               "first_processor());", {None}),
    "pthread_setschedparam": ("struct sched_param p = {0}; "
                              "pthread_setschedparam(pthread_self(), SCHED_BATCH, &p);", {None, "limits"}),
    "what children inherit": ("struct sched_param p = {0}; sched_setscheduler(0, SCHED_RESET_ON_FORK, &p);",
                              {None, "limits"}),
    "sched_setattr": ("unsigned long a[8] = {56, 3}; syscall(SYS_sched_setattr, 0, a, 0);", {None, "limits"}),
    "nice": ("nice(3);", {None, "limits"}),
    "setfsuid": ("setfsuid(65534);", {"identity"}),
    "setfsgid": ("setfsgid(65534);", {"identity"}),
    "sigignore": ("sigignore(SIGRTMIN + 1); sigignore(SIGUSR1);", {None}),
    "ssignal": ("ssignal(SIGRTMIN + 1, handler); ssignal(SIGUSR1, handler);", {None}),
    "bsd_signal": ("extern void *bsd_signal(); bsd_signal(SIGRTMIN + 1, handler);", {None}),
    "thrd_create": ("thrd_t t; thrd_create(&t, thread_of_c, 0); thrd_join(t, 0);", {None}),
    "aio_read": ("static char text[10]; "
                 "struct aiocb one = {.aio_fildes = 0, .aio_buf = text, .aio_nbytes = 1}; "
                 "aio_read(&one); while (aio_error(&one) == EINPROGRESS) usleep(100);", {"threads", None}),
    "vmsplice": ('int p[2]; pipe(p); struct iovec v = {"text", 4}; vmsplice(p[1], &v, 1, 0);', {"call"}),
    "a mark on itself": ('fsetxattr(syscall(434, getpid(), 0), "trusted.x", "x", 1, 0);', {"call"}),
    "a mark on itself, by number": (
        'syscall(SYS_fsetxattr, syscall(434, getpid(), 0), "trusted.x", "x", 1, 0);', {"call"}),
    "a mark on a file": ('setxattr("/nowhere", "user.x", "x", 1, 0);', {None}),
    "a handle of a file": ("syscall(SYS_open_by_handle_at, AT_FDCWD, 0L, O_RDWR);", {"call"}),
    "zero copies": ("int on = 1, one = socket(AF_INET, SOCK_STREAM, 0); "
                    "setsockopt(one, SOL_SOCKET, SO_ZEROCOPY, &on, 4);", {"call"}),
    "pkey_alloc": ("pkey_alloc(0, 0);", {"call"}),
    "a call that nobody knows": ("syscall(4000L);", {"call"}),
    "a ring": ("syscall(SYS_io_uring_setup, 1L, 0L);", {"call"}),
    "a memory policy": ("syscall(SYS_set_mempolicy, 0L, 0L, 0L);", {"call"}),
    "moved memory": ("static char big[1 << 16] __attribute__((aligned(4096))); big[1] = 1; "
                     "mremap(big, 8192, 8192, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0);", {None, "mappings"}),
}
BY_FILES = {
    "its name": ('put("/proc/self/comm", "left");', {None}),
    "of the thread": ('put("/proc/thread-self/comm", "left");', {None}),
    "its slack, by its number": ('put_of(getpid(), "timerslack_ns", "77777");', {None}),
    "out of memory": ('put("/proc/self/oom_score_adj", "77");', {None, "limits"}),
    "what is dumped": ('fputs("0x1", fopen("/proc/self/coredump_filter", "w"));', {None}),
    "its references": ('put("/proc/self/clear_refs", "4");', {"call"}),
    "its memory": ('char path[32]; sprintf(path, "/proc/self/m%s", "em"); close(open64(path, O_RDWR));',
                   {"call"}),
    "its memory, to read": ('close(open("/proc/self/mem", O_RDONLY));', {"call"}),
    "its memory, from its folder": ('close(openat(open("/proc/self", 0), "mem", O_RDONLY));', {"call"}),
    "its memory, by number": ('close(syscall(SYS_open, "/proc/self/mem", O_RDONLY));', {"call"}),
    "its page map": ('fclose(fopen("/proc/self/pagemap", "r"));', {"call"}),
    "a file of that name": ('chdir("/tmp"); close(open("mem", O_RDONLY));', {None}),
    "its label": ('put("/proc/self/attr/current", "x");', {"call"}),
    "by its folder": ('chdir("/proc/self"); put("clear_refs", "4");', {"call"}),
    "from its folder": ('write(openat(open("/proc/self", 0), "clear_refs", O_WRONLY), "4", 1);', {"call"}),
    "by a link": ('put("/dev/fd/../clear_refs", "4");', {"call"}),
    "by number": ('write(syscall(SYS_openat, AT_FDCWD, "/proc/self/clear_refs", O_WRONLY), "4", 1);',
                  {"call"}),
    "by creat": ('write(creat("/proc/self/clear_refs", 0600), "4", 1);', {"call"}),
    "by freopen": ('fputs("4", freopen("/proc/self/clear_refs", "w", fopen("/dev/null", "r")));', {"call"}),
    "by a place, then for writing": ('char path[32]; sprintf(path, "/proc/self/fd/%d", '
                                     'open("/proc/self/clear_refs", O_PATH)); put(path, "4");', {"call"}),
    "only read": ('close(open("/proc/self/comm", O_RDONLY)); fclose(fopen("/proc/self/status", "re"));',
                  {None}),
    "a stream": ('put("/proc/self/fd/1", "");', {None}),
    "a device": ('put("/dev/null", "x"); fclose(fopen("/dev/null", "a+"));', {None}),
}
CASES = {f"{group}: {name}": case for group, cases in
         [("child", BY_CHILDREN), ("handle", BY_HANDLE), ("function", BY_OTHER_NAMES), ("file", BY_FILES)]
         for name, case in cases.items()}


@pytest.mark.parametrize("name", CASES)
def test_what_is_left_on_other_ways(folder, name):
    act, right = CASES[name]
    if os.getuid() != 0 and right == {"identity"}:
        pytest.skip("needs root")
    argv = compile_act(folder, act, HELPERS)
    plain = run_plainly(argv)
    with Warm(argv) as warm:
        first = warm.ask()
        assert (first.code, first.stderr) == (plain.code, plain.stderr)
        assert first.retirement in right, (first.retirement, first.reason)
        for _ in range(3):
            assert warm.ask().seen() == first.seen()


@pytest.mark.parametrize("call", ['dlopen("libm.so.6", RTLD_NOW | RTLD_DEEPBIND)',
                                  'dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW)'])
def test_a_program_that_can_go_behind_our_back_is_not_warm(folder, call):
    argv = compile_act(folder, "", f"__attribute__((constructor)) static void early(void) {{ {call}; }}")
    with Zygote(argv, reset="rewind") as zygote:
        assert not zygote.stands and "cannot be watched" in zygote.note(SHALLOWER)[0]


TOOLS = """grep -E 'Max (open files|cpu)|timeout' /proc/$$/limits; taskset -cp $$; nice; ionice -p $$
chrt -p $$; cat /proc/$$/oom_score_adj /proc/$$/coredump_filter /proc/$$/timerslack_ns
"""


def without_id(warm, answer):
    return re.sub(rf"\b{warm.current.pid}\b", "PID", answer.text)


@pytest.mark.parametrize("act", ["taskset -cp 0 $$", "prlimit --pid $$ --nofile=77:",
                                 "renice $(($(nice) + 1)) -p $$", "ionice -c 3 -p $$",
                                 "chrt -b -p 0 $$", "choom -n 77 -p $$",
                                 "sh -c 'echo 77 >/proc/$PPID/oom_score_adj'",
                                 "echo 77 >/proc/$$/oom_score_adj",
                                 "echo 0x1 >/proc/self/coredump_filter; echo 0x1 >/proc/$$/coredump_filter"])
def test_a_shell_s_tools(folder, needs, act):
    needs(act.split()[0])
    argv = ["/bin/bash", folder.script("x.sh", f"{TOOLS}{act} >/dev/null\n")]
    for shell in ("/bin/bash", "/bin/dash"):
        argv[0] = shell
        plain = run_plainly(argv)
        with Warm(argv) as warm:
            own = without_id(warm, warm.ask())
            assert len(own.splitlines()) == len(plain.text.splitlines())
            for _ in range(3):
                assert without_id(warm, warm.ask()) == own
