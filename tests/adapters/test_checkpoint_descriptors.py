"""Descriptors that a program opened before its checkpoint: either each worker has them as its own, or the
program cannot stop at that checkpoint, and says why."""

import ctypes
import os
import select

import pytest

from driver import Zygote, run_plainly

# A constructor opens files, and a request uses them.
EARLY = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>
static int one, other;
__attribute__((unused)) static void look_at(int poll, int fd, unsigned events) {
  struct epoll_event event = {.events = events, .data.u64 = (uint64_t)fd << 40};
  epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
}
__attribute__((unused)) static void tell(int poll) {
  struct epoll_event events[8];
  uint64_t sum = 0;
  int count = epoll_wait(poll, events, 8, 0);
  for (int i = 0; i < count; ++i) sum += events[i].data.u64 * events[i].events;
  printf("%%d events, %%llx; ", count, (unsigned long long)sum);
}
__attribute__((constructor)) static void early(void) { %s }
int main(void) {
  char text[8]; memset(text, '-', 8);
  %s
  fflush(stdout); return 3;
}
"""
LOOK = ('printf("%d %d %d %d\\n", (int)read(one, text, 8), (int)write(one, "x", 1), '
        'fcntl(one, F_GETFL), fcntl(one, F_GETFD)); fwrite(text, 8, 1, stdout);'
        'fcntl(one, F_SETFL, O_NONBLOCK); fcntl(one, F_SETFD, 1);')
PIPE = "int p[2]; pipe2(p, %s); one = p[0]; other = p[1];"
# What is in it, its flags, and whether both ends belong together; it is left full, with other flags.
PIPE_LOOK = (
    'int unread; ioctl(one, FIONREAD, &unread); printf("%d %d %d %d %d ", unread, fcntl(one, F_GETFL), '
    'fcntl(other, F_GETFL), fcntl(one, F_GETFD), fcntl(other, F_GETFD)); write(other, "new", 3);'
    'fcntl(one, F_SETFL, O_NONBLOCK); while (read(one, text, 1) == 1) putchar(text[0]);'
    'fcntl(other, F_SETFL, O_NONBLOCK); while (write(other, "L", 1) == 1) ; fcntl(other, F_SETFD, 1);')
ENDED = "int p[2]; socketpair(AF_UNIX, SOCK_STREAM%s, 0, p); one = p[0]; close(p[1]);"
ENDED_LOOK = (
    'int size; socklen_t bytes = sizeof size; getsockopt(one, SOL_SOCKET, SO_SNDBUF, &size, &bytes);'
    'printf("%d %d %d %d %d ", (int)read(one, text, 8), (int)send(one, "x", 1, MSG_NOSIGNAL), size, '
    'fcntl(one, F_GETFL), fcntl(one, F_GETFD)); struct ucred peer; bytes = sizeof peer; '
    'getsockopt(one, SOL_SOCKET, SO_PEERCRED, &peer, &bytes); printf("%d", peer.pid == getpid());'
    'size = 1 << 14; setsockopt(one, SOL_SOCKET, SO_SNDBUF, &size, sizeof size); '
    'fcntl(one, F_SETFL, fcntl(one, F_GETFL) ^ O_NONBLOCK); fcntl(one, F_SETFD, 1);')
BORNE = {
    "a socket whose other end is closed": (ENDED % "", ENDED_LOOK),
    "such a socket that does not block, and its copy": (
        ENDED % " | SOCK_NONBLOCK | SOCK_CLOEXEC" + "other = dup(one);",
        ENDED_LOOK + 'printf(" %d", (int)send(other, "x", 1, MSG_NOSIGNAL)); dup2(1, other);'),
    "null": ('one = open("/dev/null", O_RDWR);', LOOK),
    "null, to write to": ('one = open("/dev/null", O_WRONLY | O_APPEND | O_CLOEXEC);', LOOK),
    "zero": ('one = open("/dev/zero", O_RDWR);', LOOK),
    "full": ('one = open("/dev/full", O_RDWR);', LOOK),
    "urandom": ('one = open("/dev/urandom", O_RDONLY);',
                'int got = read(one, text, 8); printf("%d %d %d", got, memcmp(text, "--------", 8) != 0, '
                'memcmp(text, "\\0\\0\\0\\0\\0\\0\\0\\0", 8) != 0); close(one);'),
    "random": ('one = open("/dev/random", O_RDONLY);',
               'printf("%d", (int)read(one, text, 8)); dup2(1, one);'),
    "a file and its copy": ('one = open("/etc/passwd", O_RDONLY); other = fcntl(one, F_DUPFD_CLOEXEC, 3);',
                            'lseek(one, 5, SEEK_CUR); printf("%d %d", (int)lseek(other, 0, SEEK_CUR), '
                            'fcntl(other, F_GETFD)); lseek(one, 7, SEEK_SET); close(other);'),
    "a file, twice": ('one = open("/etc/passwd", O_RDONLY); other = open("/etc/passwd", O_RDONLY);',
                      'lseek(one, 5, SEEK_CUR); printf("%d", (int)lseek(other, 0, SEEK_CUR));'),
    "an event and its copy": ('one = eventfd(3, EFD_NONBLOCK); other = dup(one);',
                              'printf("%d ", (int)read(one, text, 8)); '
                              'printf("%d", (int)read(other, text, 8));'),
    "an epoll instance": (
        'one = epoll_create1(EPOLL_CLOEXEC); other = eventfd(0, 0);'
        'look_at(one, other, EPOLLIN | EPOLLRDHUP);',
        'tell(one); uint64_t count = 1; write(other, &count, 8); tell(one);'
        'printf("%d", fcntl(one, F_GETFD)); epoll_ctl(one, EPOLL_CTL_DEL, other, NULL);'),
    "an epoll instance, its copy, and two events, one of them a copy": (
        'int event = eventfd(0, 0); one = epoll_create1(0); other = dup(one); int more = dup(event);'
        'look_at(one, event, EPOLLIN); look_at(other, more, EPOLLOUT); look_at(one, eventfd(3, 0), EPOLLIN);',
        'tell(one); tell(other); tell(other); epoll_ctl(other, EPOLL_CTL_DEL, 3, NULL); close(one);'),
    "a pipe": (PIPE % 0, PIPE_LOOK),
    "a pipe with something in it": (PIPE % 0 + 'write(other, "unread", 6);', PIPE_LOOK),
    "a pipe that is full of a little": (PIPE % 0 + 'for (int i = 0; i < 64; ++i) write(other, "x", 1);',
                                        PIPE_LOOK),
    "a pipe that does not block": (PIPE % "O_NONBLOCK | O_CLOEXEC", PIPE_LOOK),
    "a pipe that blocks at one end, with copies": (
        PIPE % "O_NONBLOCK" + 'fcntl(one, F_SETFL, 0); dup(other); dup(one); write(other, "ab", 2);',
        PIPE_LOOK + 'write(6, "c", 1); printf(" %d", (int)read(5, text, 8));'),
    "a pipe, its ends in the other order": (
        PIPE % 0 + 'dup2(one, 20); dup2(other, one); dup2(20, other); close(20);'
        'int end = one; one = other; other = end;', PIPE_LOOK),
    "a pipe after an epoll instance, in a request that keeps its streams": (
        'int poll = epoll_create1(0); look_at(poll, eventfd(0, 0), EPOLLIN);' + PIPE % "O_NONBLOCK",
        'write(other, "x", 1); printf("%d %d", (int)read(one, text, 8), (int)read(one, text, 8));'),
    "a small pipe": (PIPE % 0 + 'fcntl(one, F_SETPIPE_SZ, 4096);',
                     'printf("%d", fcntl(one, F_GETPIPE_SZ)); fcntl(one, F_SETPIPE_SZ, 1 << 16);'),
    "many pipes": ('int p[2]; for (int i = 0; i < 20; ++i) pipe(p), write(p[1], &i, 1); one = p[0]; '
                   'other = p[1];', PIPE_LOOK),
    "an epoll instance that looks at a pipe": (
        PIPE % 0 + 'int poll = epoll_create1(0); look_at(poll, one, EPOLLIN); '
        'look_at(poll, other, EPOLLOUT);',
        'tell(5); write(other, "x", 1); tell(5); close(other); tell(5);'),
    "an epoll instance that tells of edges": (
        'one = epoll_create1(0); other = eventfd(0, EFD_NONBLOCK); look_at(one, other, EPOLLIN | EPOLLET);',
        'tell(one); uint64_t count = 1; write(other, &count, 8); tell(one); tell(one);'),
    "an epoll instance that tells of edges, and has": (
        'one = epoll_create1(0); other = eventfd(1, EFD_NONBLOCK); look_at(one, other, EPOLLIN | EPOLLET);'
        'tell(one); uint64_t count; read(other, &count, 8);',
        'tell(one); uint64_t count = 1; write(other, &count, 8); tell(one); tell(one);'),
    "an epoll instance that has told once": (
        'one = epoll_create1(0); other = eventfd(1, EFD_NONBLOCK); '
        'look_at(one, other, EPOLLIN | EPOLLONESHOT); struct epoll_event event; '
        'epoll_wait(one, &event, 1, 0);',
        'tell(one); struct epoll_event event = {.events = EPOLLIN}; '
        'epoll_ctl(one, EPOLL_CTL_MOD, other, &event); tell(one);'),
    "a timer that does not run": (
        'one = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC); other = timerfd_create(0, 0);',
        'struct itimerspec set = {{0}, {0, 1}}; printf("%d %d ", (int)read(one, text, 8), '
        'fcntl(one, F_GETFD)); timerfd_settime(other, 0, &set, 0); printf("%d", (int)read(other, text, 8));'
        'timerfd_settime(one, 0, &(struct itimerspec){{0}, {99, 0}}, 0);'),
    "null and its copy": ('one = open("/dev/null", O_RDWR); other = dup(one);',
                          'fcntl(one, F_SETFL, O_APPEND); printf("%x", fcntl(other, F_GETFL));'),
}


@pytest.mark.parametrize("reset", ["rewind", "fork"])
@pytest.mark.parametrize("name", BORNE)
def test_what_each_worker_gets_of_its_own(folder, name, reset):
    argv = [folder.compile("x.c", EARLY % BORNE[name])]
    plain = run_plainly(argv)
    assert plain.text
    with Zygote(argv, reset=reset, accept="random") as zygote:
        assert zygote.stands, zygote.notes
        workers = [zygote.worker() for _ in range(2)]
        for n in range(6):
            answer = workers[n % 2].request(argv, say_ready=True)
            assert answer.seen() == plain.seen(), n
            if not answer.stays:
                workers[n % 2] = zygote.worker()
        assert (reset == "fork") == (zygote.workers > 2)


REFUSED = {
    "stdout's copy": ("one = dup(1);", "a copy of a standard stream"),
    "stderr, kept": ("one = fcntl(2, F_DUPFD_CLOEXEC, 10);", "a copy of a standard stream"),
    "a terminal's master": ('one = open("/dev/ptmx", O_RDWR | O_NOCTTY);', "reads its input"),
    "a file for writing": ('one = open("/tmp", O_TMPFILE | O_RDWR, 0600);', "changes files"),
    "an epoll instance that tells an event once": (
        'one = epoll_create1(0); look_at(one, eventfd(1, 0), EPOLLIN | EPOLLET);', "have reported"),
    "an epoll instance that looks at another": (
        'one = epoll_create1(0); look_at(one, epoll_create1(0), EPOLLIN);', "no worker can have"),
    "an epoll instance that looks at what is closed but for a copy": (
        'one = epoll_create1(0); int event = eventfd(1, 0); look_at(one, event, EPOLLIN); dup(event);'
        'dup2(eventfd(2, 0), event);', "no worker can have"),
    "one end of a pipe": ("int p[2]; pipe(p); one = p[0]; close(p[1]);", "not both its own"),
    "the other end of a pipe": ("int p[2]; pipe(p); close(p[0]);", "not both its own"),
    "an end of a pipe, opened twice": (
        'int p[2]; pipe(p); char path[40]; sprintf(path, "/proc/self/fd/%d", p[0]); open(path, O_RDONLY);',
        "(a pipe "),
    "a pipe of packets": ("int p[2]; pipe2(p, O_DIRECT);", "special kind"),
    "a pipe with much in it": ("int p[2]; pipe(p); write(p[1], early, 65);", "much in it"),
    "a named pipe": ('mkfifo("f", 0600); one = open("f", O_RDWR); unlink("f");', ""),
    "a timer that runs": ("one = timerfd_create(0, 0); timerfd_settime(one, 0, &(struct itimerspec){{0}, "
                          "{99, 0}}, 0);", "a timer that runs"),
    "a socket in which something was left": (
        'int p[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, p); write(p[1], "x", 1); close(p[1]);', "not a file"),
    "a socket that its other end left in anger": (
        'int p[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, p); write(p[0], "x", 1); close(p[1]);', "not a file"),
    "an ended socket with an option": (
        ENDED % "" + "int on = 1; setsockopt(one, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);", "options"),
    "an ended socket of packets": (
        "int p[2]; socketpair(AF_UNIX, SOCK_SEQPACKET, 0, p); close(p[1]);", "not a file"),
    "sockets": ("int p[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, p);", "not a file"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_worker_could_have_of_its_own(folder, name):
    early, reason = REFUSED[name]
    argv = [folder.compile("x.c", EARLY % (early, "(void)one;"))]
    with Zygote(argv, reset="rewind", cwd=str(folder.path), accept="pid") as zygote:
        assert not zygote.stands
        [(_, text)] = zygote.notes
        assert reason in text, text


# Each at rest, after an answer: (what was opened before the checkpoint, what is done to its descriptors)
CHANGED = {
    "a pipe's content": (PIPE % 0, lambda one, other: os.write(other, b"x")),
    "a pipe's content, by as much": (PIPE % 0 + 'write(other, "a", 1);',
                                     lambda one, other: (os.read(one, 1), os.write(other, b"b"))),
    "a folder's flags": ('one = other = open("/etc", O_RDONLY | O_NOFOLLOW);',
                         lambda one, other: os.set_blocking(one, False)),
    "a pipe's flags": (PIPE % 0, lambda one, other: os.set_blocking(one, False)),
    "an event's count": ("one = eventfd(0, 0); other = eventfd(0, 0);",
                         lambda one, other: os.write(other, (1).to_bytes(8, "little"))),
    "what else is watched": (
        "one = epoll_create1(0); other = eventfd(0, 0); look_at(one, other, EPOLLIN);",
        lambda one, other: select.epoll.fromfd(os.dup(one)).register(other, select.EPOLLIN)),
    "a file's position": ('one = open("/etc/passwd", O_RDONLY); lseek(one, 5, SEEK_SET); other = dup(one);',
                          lambda one, other: os.lseek(one, 57, os.SEEK_SET)),
    "a timer": ("one = other = timerfd_create(0, 0);", lambda one, other: settime(one)),
}


def settime(fd):
    ctypes.CDLL(None).timerfd_settime(fd, 0, (ctypes.c_long * 4)(0, 0, 99, 0), None)


def descriptor_of(pid, fd):
    """A copy of another process's."""
    pidfd, pidfd_getfd = os.pidfd_open(pid), 438
    copy = ctypes.CDLL(None).syscall(pidfd_getfd, pidfd, fd, 0)
    os.close(pidfd)
    return copy


@pytest.mark.parametrize("name", CHANGED)
def test_verify_finds_a_descriptor_that_changed(folder, name):
    early, change = CHANGED[name]
    argv = [folder.compile("x.c", EARLY % (early, 'printf("%d %d", one, other);'))]
    with Zygote(argv, reset="rewind") as zygote:
        worker = zygote.worker()
        numbers = map(int, worker.request(argv, say_ready=True).text.split())
        assert zygote.verify(worker)[1] == ""
        copies = [descriptor_of(worker.pid, number) for number in numbers]
        if min(copies) < 0:
            pytest.skip("another process's descriptors cannot be copied here")
        change(*copies)
        assert "descriptor" in zygote.verify(worker)[1]
        for copy in copies:
            os.close(copy)
        assert worker.request(argv, say_ready=True).stays and zygote.verify(worker)[1] == ""
