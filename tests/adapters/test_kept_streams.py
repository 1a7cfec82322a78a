"""A request's 0, 1 and 2 stay open for the next one if nothing was done with them but reading and writing.
Whatever else is done to them, to a copy of them, or to their files by a name, is noticed: the next request
gets new ones, as every request does that is not clean (test_clean.py)."""

import os
import signal

import pytest

from conftest import Folder
from driver import Warm, Zygote, adapters_dir, run_plainly
from python import python_argv

SOURCE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>
static int watches;
__attribute__((constructor)) static void early(void) { watches = epoll_create1(EPOLL_CLOEXEC); }
static long by_instruction(long n, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}
/* What a request sees of its streams. */
static void show(void) {
  for (int fd = 0; fd < 3; ++fd) {
    struct stat status; fstat(fd, &status);
    printf("%d: %o %o %o %d %d %d\n", fd, fcntl(fd, F_GETFL), fcntl(fd, F_GETFD), status.st_mode,
           status.st_uid, fcntl(fd, F_GETOWN), fcntl(fd, F_GETPIPE_SZ));
  }
  int waiting = -1; char byte; ioctl(0, FIONREAD, &waiting);
  struct pollfd none = {watches};
  struct epoll_event event;
  printf("%d %d %d\n", waiting, epoll_wait(watches, &event, 1, 0), (int)read(0, &byte, 1));
  fflush(stdout);
}
static void give(int sends) {
  int pair[2], fds[1] = {1}; char byte = 0, room[CMSG_SPACE(sizeof fds)] = "";
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room,
                           .msg_controllen = sizeof room};
  struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET; rights->cmsg_type = SCM_RIGHTS; rights->cmsg_len = CMSG_LEN(sizeof fds);
  memcpy(CMSG_DATA(rights), fds, sizeof fds);
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  struct mmsghdr many = {message};
  sends == 1 ? sendmsg(pair[0], &message, 0) : sendmmsg(pair[0], &many, 1, 0);
}
static void deed(const char *what) {
  struct flock all = {.l_type = F_WRLCK};
  struct f_owner_ex owner = {F_OWNER_PID, getpid()};
  struct epoll_event event = {EPOLLOUT};
  struct timeval times[2] = {{1, 0}, {1, 0}};
  struct timespec late[2] = {{1, 0}, {1, 0}};
  struct utimbuf past = {1, 1};
  int on = 1, copy, fd;
  char path[40];
#define DEED(name, ...) if (!strcmp(what, name)) { __VA_ARGS__; return; }
  DEED("close input", close(0))
  DEED("close output", close(1))
  DEED("close errors", close(2))
  DEED("close all", close(0); close(1); close(2))
  DEED("close_range", close_range(0, 2, 0))
  DEED("close and open", close(0); open("/etc/passwd", O_RDONLY))
  DEED("close and make a pipe", close(0); int ends[2]; pipe(ends))
  DEED("dup2", dup2(2, 1))
  DEED("dup3", dup3(1, 2, 0))
  DEED("dup2 of a file", dup2(open("/dev/null", O_RDWR), 0))
  DEED("fclose", fclose(stdout))
  DEED("fclose of input", fclose(stdin))
  DEED("fcloseall", fcloseall())
  DEED("freopen", freopen("/dev/null", "r", stdin))
  DEED("freopen of no file", freopen(NULL, "a", stdout))
  DEED("fdopen", fdopen(1, "a"))
  DEED("fdopen of a copy", fdopen(dup(1), "a"))
  DEED("nonblocking", fcntl(1, F_SETFL, O_NONBLOCK))
  DEED("nonblocking input", fcntl(0, F_SETFL, O_NONBLOCK))
  DEED("nonblocking copy", fcntl(dup(2), F_SETFL, O_NONBLOCK))
  DEED("nonblocking copy of a copy", fcntl(fcntl(dup(1), F_DUPFD, 50), F_SETFL, O_NONBLOCK))
  DEED("FIONBIO", ioctl(1, FIONBIO, &on))
  DEED("FIONBIO of a copy", ioctl(dup(1), FIONBIO, &on))
  DEED("FIOASYNC", ioctl(0, FIOASYNC, &on))
  DEED("FIOCLEX", ioctl(1, FIOCLEX))
  DEED("closed at exec", fcntl(1, F_SETFD, FD_CLOEXEC))
  DEED("owner", fcntl(0, F_SETOWN, getpid()))
  DEED("owner of a copy", fcntl(dup(0), F_SETOWN_EX, &owner))
  DEED("FIOSETOWN", on = getpid(); ioctl(0, 0x8901, &on))
  DEED("signal", fcntl(1, F_SETSIG, SIGUSR1))
  DEED("size", fcntl(1, F_SETPIPE_SZ, 8192))
  DEED("size of a copy", fcntl(dup(2), F_SETPIPE_SZ, 8192))
  DEED("flock", flock(1, LOCK_EX))
  DEED("flock of a copy", flock(dup(0), LOCK_SH))
  DEED("lockf", lockf(1, F_LOCK, 1))
  DEED("record", fcntl(1, F_SETLK, &all))
  DEED("description", fcntl(1, F_OFD_SETLK, &all))
  DEED("lease", fcntl(0, F_SETLEASE, F_RDLCK))
  DEED("fchmod", fchmod(1, 0644))
  DEED("fchown", fchown(2, getuid(), getgid()))
  DEED("futimens", futimens(1, late))
  DEED("futimes", futimes(1, times))
  DEED("fsetxattr", fsetxattr(1, "user.x", "y", 1, 0))
  DEED("chmod", chmod("/proc/self/fd/1", 0644))
  DEED("chmod by another name", symlink("/dev/fd/2", "link"); chmod("link", 0644); unlink("link"))
  DEED("chmod in a folder", chdir("/proc/self/fd"); chmod("0", 0644))
  DEED("fchmodat", fchmodat(open("/proc/self/fd", O_RDONLY), "1", 0644, 0))
  DEED("chown", chown("/dev/stdout", getuid(), getgid()))
  DEED("utime", utime("/proc/self/fd/1", &past))
  DEED("utimes", utimes("/proc/self/fd/0", times))
  DEED("utimensat", utimensat(AT_FDCWD, "/proc/self/fd/0", late, 0))
  DEED("setxattr", setxattr("/proc/self/fd/1", "user.x", "y", 1, 0))
  DEED("write into input", fd = open("/dev/stdin", O_WRONLY); write(fd, "left", 4))
  DEED("write into input by fopen", FILE *f = fopen("/proc/self/fd/0", "w"); fputs("left", f); fflush(f))
  DEED("write into input by openat",
       fd = openat(open("/proc/self/fd", O_RDONLY), "0", O_RDWR | O_NONBLOCK); write(fd, "left", 4))
  DEED("write into input by creat", fd = creat("/dev/stdin", 0600); write(fd, "left", 4))
  DEED("watched", epoll_ctl(watches, EPOLL_CTL_ADD, 1, &event))
  DEED("a watched copy", epoll_ctl(watches, EPOLL_CTL_ADD, dup(2), &event))
  DEED("sendmsg", give(1))
  DEED("sendmmsg", give(2))
  DEED("child", if (fork() == 0) _exit(0); wait(NULL))
  DEED("shell", system("true"))
  DEED("vmsplice", struct iovec part = {"", 0}; vmsplice(1, &part, 1, 0))
  DEED("fcntl by number", syscall(SYS_fcntl, 1, F_SETFL, O_NONBLOCK))
  DEED("close by number", syscall(SYS_close, 1))
  DEED("dup2 by number", syscall(SYS_dup3, 1, 2, 0))
  DEED("ioctl by number", syscall(SYS_ioctl, 1, FIONBIO, &on))
  DEED("fchmod by number", syscall(SYS_fchmod, 1, 0644))
  DEED("flock by number", syscall(SYS_flock, 1, LOCK_EX))
  DEED("fcntl by an instruction", by_instruction(SYS_fcntl, 1, F_SETFL, O_NONBLOCK))
  DEED("close by an instruction", by_instruction(SYS_close, 1, 0, 0))
  DEED("ioctl by an instruction", by_instruction(SYS_ioctl, dup(1), FIONBIO, (long)&on))
  /* What leaves nothing. */
  DEED("nothing")
  DEED("ask", fcntl(1, F_GETFL); isatty(1); struct stat s; fstat(1, &s); poll(0, 0, 0))
  DEED("copies", close(dup(1)); close(fcntl(2, F_DUPFD_CLOEXEC, 20)))
  DEED("a copy that stays open", dup(1); dup2(2, 77))
  DEED("files", FILE *f = fopen("/etc/passwd", "r"); fcntl(fileno(f), F_SETFD, FD_CLOEXEC); fclose(f))
  DEED("a lock on a file", fd = open("/tmp", O_RDONLY); flock(fd, LOCK_SH))
  DEED("a socket",
       fd = socket(AF_UNIX, SOCK_STREAM, 0); fcntl(fd, F_SETFL, O_NONBLOCK); ioctl(fd, FIONBIO, &on))
  DEED("reads its output's name", close(open("/dev/stdout", O_RDONLY | O_NONBLOCK)))
  puts("no such deed"); exit(9);
}
int main(int argc, char **argv) {
  show();
  deed(argc > 1 ? argv[1] : "nothing");
  return 0;
}
"""
HARMLESS = ["nothing", "ask", "copies", "a copy that stays open", "files", "a lock on a file", "a socket",
            "reads its output's name"]


def deeds():
    names = [line.split('"')[1] for line in SOURCE.splitlines() if line.startswith('  DEED("')]
    assert len(names) > 75 and set(HARMLESS) < set(names)
    return names


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return [Folder(tmp_path_factory.mktemp("program")).compile("x.c", SOURCE)]


@pytest.mark.parametrize("deed", deeds())
def test_what_is_done_to_them_is_noticed(program, deed):
    plain = run_plainly(program)
    with Warm(program) as warm:
        for _ in range(3):
            before = warm.ask()
            assert before.text == plain.text and before.keeps
            answer = warm.ask(deed)
            assert (answer.text, answer.code) == (plain.text, 0)
            assert answer.keeps == (deed in HARMLESS)
            # Before and after it, with a body as well: then they are replaced.
            assert warm.ask().text == plain.text
            assert warm.ask(body=b"body").text.endswith("\n4 0 1\n")


READS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv) {
  char body[70000]; struct stat status;
  size_t most = argc > 1 ? atoi(argv[1]) : sizeof body, got = fread(body, 1, most, stdin);
  fstat(1, &status);
  printf("%zu %d\n", got, (int)(got ? body[0] : 0));
  fprintf(stderr, "%lu\n", (unsigned long)status.st_ino);
}
"""


def test_they_are_the_same_ones_and_others_if_there_is_a_body(folder):
    argv = [folder.compile("reads.c", READS)]
    with Warm(argv) as warm:
        first, second = warm.ask(), warm.ask()
        assert first.stderr == second.stderr != b""
        third = warm.ask(body=b"abc")
        assert third.text == "3 97\n" and third.stderr != first.stderr and third.keeps
        fourth = warm.ask()
        assert fourth.text == "0 0\n" and fourth.stderr == third.stderr
        assert warm.workers == 1


@pytest.mark.parametrize("reads", [0, 1])
def test_a_body_that_was_not_read_to_its_end_is_not_for_the_next(folder, reads):
    argv = [folder.compile("reads.c", "#include <stdio.h>\n" + READS.replace(
        "size_t most", "setvbuf(stdin, NULL, _IONBF, 0); size_t most"))]
    with Warm(argv) as warm:
        assert warm.ask().keeps
        answer = warm.ask(str(reads), body=b"secret")
        assert answer.text.startswith(f"{reads} ") and not answer.keeps
        assert warm.ask().text == "0 0\n"


def test_a_long_request_uses_them_as_well(folder):
    argv = [folder.compile("reads.c", READS)]
    with Warm(argv) as warm:
        first = warm.ask()
        for _ in range(3):
            again = warm.ask(env={"LONG": "x" * 100_000})
            assert (again.text, again.stderr, again.keeps) == ("0 0\n", first.stderr, True)
        assert warm.ask(body=b"a", env={"LONG": "x" * 100_000}).text == "1 97\n"


CLOSES = r"""
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
static int kept;
__attribute__((constructor)) static void early(void) { kept = open("/etc/passwd", O_RDONLY); }
int main(void) {
  char byte = 0;
  read(kept, &byte, 1);
  printf("%d %d\n", dup(1) - kept, byte);
}
"""


def test_files_of_the_checkpoint_are_put_back_beside_them(folder):
    argv = [folder.compile("closes.c", CLOSES)]
    plain = run_plainly(argv)
    with Warm(argv) as warm:
        for body in (b"", b"", b"x", b"", b""):
            answer = warm.ask(body=body)
            assert (answer.text, answer.keeps) == (plain.text, body != b"x")
        assert warm.workers == 1


@pytest.mark.parametrize("language", ["perl", "python", "sh"])
def test_scripts_keep_them(folder, needs, language):
    interpreter = {"perl": "/usr/bin/perl", "python": "/usr/bin/python3", "sh": "/bin/bash"}[language]
    text = {"perl": "print qq(hello\\n);", "python": "print('hello')", "sh": "echo hello"}[language]
    script = folder.script("x", text)
    if language == "sh":
        argv = [interpreter, script]
    else:
        argv = {"perl": [interpreter, f"-I{adapters_dir()}/perl", "-MCGIBridge", script],
                "python": python_argv(script)}[language]
    with Warm(argv, level="linked" if language == "sh" else "compiled") as warm:
        for _ in range(3):
            answer = warm.ask()
            assert answer.text == "hello\n" and answer.keeps


def test_a_worker_that_was_given_none_of_its_own_ends(folder):
    """A request that says so, though the last one kept none: the bridge would have to be wrong."""
    argv = [folder.compile("reads.c", READS)]
    with Zygote(argv, reset="rewind") as zygote:
        worker = zygote.worker()
        pipes = [os.pipe() for _ in range(2)]
        worker.kept = [reading for reading, _ in pipes]
        answer = worker.request(argv)
        assert answer.code == 70 and answer.text == ""
        for _, writing in pipes:
            os.close(writing)


def test_after_its_death_nobody_writes(folder):
    argv = [folder.compile("reads.c", READS)]
    with Zygote(argv, reset="rewind") as zygote:
        worker = zygote.worker()
        assert worker.request(argv, say_ready=True).keeps
        os.kill(worker.pid, signal.SIGKILL)
        os.waitpid(worker.pid, 0)
        assert [os.read(fd, 1) for fd in worker.kept] == [b"", b""]
        worker.status = 0
