"""reset=rewind: what retires a worker, with its reason, and what does not. Whatever a request did, the next
one meets a new process."""

import os
import pathlib
import pty
import shutil
import signal
import subprocess
import tempfile

import pytest

from acts import compile_act
from driver import RETIREMENTS, Warm, Zygote, library, run_plainly
from harness.processes import alive, stat_of, wait_until

# name: (what the request does, the acceptable reasons; None: the worker stays)
RULES = {
    "a thread": ("pthread_t t; pthread_create(&t, 0, waits, 0);", {None}),
    "a detached thread": ("pthread_t t; pthread_create(&t, 0, waits, 0); pthread_detach(t);", {None}),
    "a thread that ended, not joined": ("pthread_t t; pthread_create(&t, 0, ends, 0); usleep(20000);",
                                        {None}),
    "a thread that cannot be ended": ("pthread_t t; pthread_create(&t, 0, waits_deaf, 0); usleep(20000);",
                                      {"threads"}),
    "a child that runs": ("sleeper();", {"children"}),
    "children that ended": ("for (int i = 0; i < 3; ++i) { pid_t p = fork(); if (p == 0) _exit(i); "
                            "siginfo_t who; waitid(P_PID, p, &who, WEXITED | WNOWAIT); }", {None}),
    "a command not waited for": ('popen("exit 3", "r"); one_ends();', {None}),
    "a child that ended, and one that runs": ("sleeper(); if (fork() == 0) _exit(0); one_ends();",
                                              {"children"}),
    "a child that shares its memory": (
        "char *s = malloc(65536); clone(child_waits, s + 65536, CLONE_VM, 0);", {"threads", "children"}),
    "a process group joined": ("setpgid(0, getpgid(getppid()));", {None, "session"}),
    "a new process group's member": ("pid_t p = sleeper(); setpgid(p, p); setpgid(0, p);", {"session",
                                                                                            "children"}),
    "a session": ("setpgid(0, getpgid(getppid())); if (setsid() < 0) abort();", {"session"}),
    "another user": ("setuid(65534);", {"identity"}),
    "another effective user": ("seteuid(65534);", {None, "identity"}),
    "another group": ("setgid(65534);", {"identity", None}),
    "other groups": ("gid_t g = 65534; setgroups(1, &g);", {"identity", None}),
    "capabilities dropped": ("drop_capabilities();", {"identity"}),
    "a capability dropped for ever": ("if (prctl(PR_CAPBSET_DROP, CAP_SYS_MODULE)) abort();", {"identity"}),
    "secure bits": ("prctl(PR_SET_SECUREBITS, 1);", {"identity", None}),
    "a root of its own": ('if (chroot("/usr")) abort();', {"identity"}),
    "a namespace": ("if (unshare(CLONE_NEWUTS)) abort();", {"identity"}),
    "a mount namespace": ("if (unshare(CLONE_NEWNS)) abort();", {"identity"}),
    "a pid namespace for children": ("if (unshare(CLONE_NEWPID)) abort();", {"identity"}),
    "files no more shared": ("unshare(CLONE_FILES | CLONE_FS | CLONE_SYSVSEM);", {None, "identity", "call"}),
    "seccomp": ("prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); allow_all();", {"identity"}),
    "no new privileges": ("prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);", {"identity"}),
    "a soft limit": ("limit(RLIMIT_NOFILE, 1);", {None}),
    "a hard limit": ("limit(RLIMIT_NOFILE, 0);", {None, "limits"}),
    "a limit of memory": ("struct rlimit l = {1 << 30, 1 << 30}; setrlimit(RLIMIT_AS, &l);", {None,
                                                                                              "limits"}),
    "a limit of files": ("limit(RLIMIT_FSIZE, 0);", {None, "limits"}),
    "nice": ("setpriority(PRIO_PROCESS, 0, 1 + getpriority(PRIO_PROCESS, 0));", {None, "limits"}),
    "a schedule": ("scheduler(SCHED_BATCH);", {None, "limits"}),
    "a schedule for idle times": ("scheduler(SCHED_IDLE);", {None, "limits"}),
    "one processor": ("one_processor();", {None, "limits"}),
    "a priority of input and output": ("syscall(SYS_ioprio_set, 1, 0, (2 << 13) | 7);", {None, "limits"}),
    "a personality": ("syscall(SYS_personality, 0x0040000);", {None, "limits", "call", "identity"}),
    "not dumpable": ("prctl(PR_SET_DUMPABLE, 0);", {None, "identity", "fault"}),
    "a reaper of orphans": ("prctl(PR_SET_CHILD_SUBREAPER, 1);", {None, "children", "call"}),
    "an undo of semaphores": ("undo();", {"call"}),
    "locked memory": ("mlock(malloc(8192), 8192);", {None, "mappings", "limits", "call"}),
    "all memory locked": ("mlockall(MCL_CURRENT | MCL_FUTURE);", {None, "mappings", "limits", "call"}),
    "a timer": ("timer_of(CLOCK_REALTIME);", {None, "call"}),
    "many timers": ("for (int i = 0; i < 50; ++i) timer_of(CLOCK_MONOTONIC);", {None, "call"}),
    "an alarm": ("alarm(1000);", {None}),
    "interval timers": ("struct itimerval t = {{9, 0}, {9, 0}}; for (int i = 0; i < 3; ++i) setitimer(i, "
                        "&t, 0);", {None}),
    "signal handlers": ("for (int i = 1; i < 65; ++i) signal(i, handler);", {None}),
    "signals ignored": ("for (int i = 1; i < 65; ++i) signal(i, SIG_IGN);", {None}),
    "signals pending": ("sigset_t s; sigfillset(&s); sigprocmask(SIG_BLOCK, &s, 0); for (int i = 1; i < "
                        "65; ++i) "
                        "if (i != SIGKILL && i != SIGSTOP && i != 32 && i != 33) { raise(i); "
                        "kill(getpid(), i); }", {None}),
    "an alternate stack": ("stack_t s = {.ss_sp = malloc(65536), .ss_size = 65536}; sigaltstack(&s, 0);",
                           {None}),
    "descriptors": ('for (int i = 0; i < 30; ++i) { open("/etc/passwd", 0); eventfd(0, 0); epoll_create1(0); '
                    "socket(AF_UNIX, SOCK_STREAM, 0); }", {None}),
    "descriptors that tell of events": ("timerfd_create(0, 0); inotify_add_watch(inotify_init(), \"/\", "
                                        "IN_CREATE);"
                                        "memfd_create(\"x\", 0);", {None}),
    "a descriptor with a high number": ("dup2(1, 900);", {None}),
    "descriptors passed to itself": ("int s[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, s); write(s[0], \"x\", "
                                     "1);", {None}),
    "a lock": ('flock(open("/etc/passwd", 0), LOCK_SH);', {None}),
    "shared memory": ("int id = shmget(IPC_PRIVATE, 8192, 0600); char *p = shmat(id, 0, 0); "
                      "shmctl(id, IPC_RMID, 0); p[0] = 1;", {None, "mappings"}),
    "a shared mapping": ("char *p = mmap(0, 8192, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0); p[0] = 1;",
                         {None, "mappings"}),
    "another directory and umask": ('chdir("/"); umask(0777);', {None}),
    "another name": ('prctl(PR_SET_NAME, "left");', {None}),
    "a slack of timers": ("prctl(PR_SET_TIMERSLACK, 99999);", {None, "limits"}),
    "an option that no kernel knows": ("prctl(0x7fffffff, 1, 2, 3, 4); syscall(SYS_prctl, 0x7fffffff, 1);",
                                       {None}),
    "an option that fails": ("prctl(PR_CAPBSET_DROP, 4096); prctl(PR_SET_MM, 99, 0, 0, 0);", {None}),
    "a name for its own memory": ("char *p = mmap(0, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); "
                                  "prctl(0x53564d41, 0, p, 8192, \"left\");", {None}),
    "no huge pages": ("prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);", {None}),
    "pages merged": ("prctl(67, 1, 0, 0, 0);", {None}),
    "a tracer": ("prctl(PR_SET_PTRACER, getppid(), 0, 0, 0);", {None}),
    "machine checks": ("prctl(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_EARLY, 0, 0);", {"call"}),
    "death with its parent": ("prctl(PR_SET_PDEATHSIG, SIGUSR1);", {None}),
    "its channel closed": ("for (int i = 3; i < 4096; ++i) close(i);", {None, "descriptors"}),
    "every descriptor closed": ("fflush(stdout); syscall(SYS_close_range, 0, ~0u, 0);", {None,
                                                                                         "descriptors"}),
}
# The worker cannot report these.
SILENT = {"its channel closed", "every descriptor closed"}


@pytest.mark.parametrize("name", RULES)
def test_what_a_request_may_leave(folder, name):
    act, right = RULES[name]
    if os.getuid() != 0 and right == {"identity"}:
        pytest.skip("needs root")
    argv = compile_act(folder, act)
    plain = run_plainly(argv)
    with Warm(argv) as warm:
        first = warm.ask()
        # It leads its own group, which a program started by hand does not.
        wanted = first.seen()
        assert (first.code, first.stderr) == (plain.code, plain.stderr)
        if not (name in SILENT and first.done is None):
            assert first.retirement in right, (first.retirement, first.reason)
            assert first.stays == (first.retirement is None)
            assert first.stays or first.reason
        for _ in range(4):
            assert warm.ask().seen() == wanted


def test_the_first_look_is_that_of_a_plain_process(folder):
    argv = compile_act(folder, "")
    process = subprocess.run(argv, capture_output=True, cwd="/", process_group=0, timeout=20) \
        if "process_group" in subprocess.Popen.__init__.__code__.co_varnames else None
    if process is None:
        pytest.skip("this Python cannot start a process in a group of its own")
    with Warm(argv) as warm:
        for _ in range(3):
            assert warm.ask().text.replace("session 1", "session 0") == process.stdout.decode()


@pytest.fixture
def readable_folder():
    """A folder that any user may enter, with the library in it."""
    with tempfile.TemporaryDirectory() as path:
        os.chmod(path, 0o755)
        shutil.copy(library(), path)
        yield pathlib.Path(path)


OF_AN_ORDINARY_USER = {
    "a hard limit": ("limit(RLIMIT_NOFILE, 0);", {"limits"}),
    "a soft limit": ("limit(RLIMIT_CORE, 1);", {None}),
    "nice": ("setpriority(PRIO_PROCESS, 0, 1 + getpriority(PRIO_PROCESS, 0));", {"limits"}),
    "a schedule for idle times": ("scheduler(SCHED_IDLE);", {None, "limits"}),
    "an alarm and a umask": ("alarm(1000); umask(0);", {None}),
    "a handler": ("signal(SIGUSR1, handler);", {None}),
    "a thread": ("pthread_t t; pthread_create(&t, 0, waits, 0);", {None}),
    "no new privileges": ("prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);", {"identity"}),
    "a namespace": ("if (unshare(CLONE_NEWUSER)) puts(strerror(errno));", {None, "identity"}),
}


@pytest.mark.root
@pytest.mark.parametrize("name", OF_AN_ORDINARY_USER)
def test_what_an_ordinary_user_s_request_may_leave(folder, readable_folder, name):
    """An ordinary user cannot undo everything that root can."""
    act, right = OF_AN_ORDINARY_USER[name]
    argv = [shutil.copy(compile_act(folder, act)[0], readable_folder)]
    with Warm(argv, preload=str(readable_folder / os.path.basename(library())), user=65534,
              group=65534, extra_groups=[]) as warm:
        assert warm.stands and warm.reset == "rewind", (warm.weaker, warm.log())
        first = warm.ask()
        assert first.retirement in right, (first.retirement, first.reason)
        for _ in range(3):
            assert warm.ask().text == first.text


def test_a_child_left_behind_lives_on(folder):
    argv = compile_act(folder, 'printf("%d\\n", sleeper())')
    with Warm(argv) as warm:
        answer = warm.ask()
        pid = int(answer.text.split()[-2])
        assert answer.retirement == "children"
        os.kill(pid, 0)
        wait_until(lambda: stat_of(pid)[1] != warm.current.pid, "it has another parent", 20)
        os.kill(pid, signal.SIGKILL)


def test_every_retirement_has_a_word():
    assert len(RETIREMENTS) == 11 and len(set(RETIREMENTS)) == 11


def test_a_worker_that_is_killed_at_rest_leaves_its_next_request_unread(folder):
    argv = compile_act(folder, "")
    with Zygote(argv, reset="rewind") as zygote:
        worker = zygote.worker()
        assert worker.request(argv, say_ready=True).stays
        os.kill(worker.pid, signal.SIGKILL)
        wait_until(lambda: not alive(worker.pid), "it is dead")
        assert worker.request(argv).unread


def test_without_the_reset_the_library_is_as_in_fork(folder):
    argv = compile_act(folder, "alarm(1000)")
    with Zygote(argv, reset="fork") as zygote:
        answer = zygote.worker().request(argv)
        assert (zygote.reset, answer.stays, answer.retirement, answer.done) == ("fork", False, None, 3)


def test_a_program_that_cannot_be_rewound_says_why_at_its_checkpoint(folder):
    """It has a thread that does not rest, so it can be neither forked nor rewound."""
    program = folder.compile("early.cc", """
#include <pthread.h>
#include <unistd.h>
static pthread_t one;
static void *work(void *) { for (;;) sleep(1); }
static int started = pthread_create(&one, nullptr, work, nullptr);
int main() {}
""", "-pthread")
    with Zygote([program], reset="rewind") as zygote:
        assert zygote.threads == 2 and "for a limited time" in zygote.weaker
    assert os.path.exists(library())


LEAVES_TERMINAL = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
int main(int argc, char **argv) {
  (void)argv;
  int terminal = open("/dev/tty", O_RDWR);
  puts(terminal >= 0 ? "has one" : "has none");
  if (argc > 1) ioctl(terminal, TIOCNOTTY);
}
"""


def test_who_leaves_its_terminal(folder):
    program = folder.compile("leaves.c", LEAVES_TERMINAL)
    pid, master = pty.fork()
    if pid == 0:  # with a terminal, which a zygote and its workers inherit
        try:
            with Warm([program]) as warm:
                said = [warm.ask(*words).text for words in ([], ["leave"], [])]
                why = [kind for kind, _ in warm.retired]
            os._exit(0 if said == ["has one\n"] * 3 and why == ["call"] else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(master)
