"""Descriptors that a program opened before its checkpoint: either each worker has them as its own, or the
program cannot stop at that checkpoint, and says why."""

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
BORNE = {
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
    "a terminal's master": ('one = open("/dev/ptmx", O_RDWR | O_NOCTTY);', "a device"),
    "a file for writing": ('one = open("/tmp", O_TMPFILE | O_RDWR, 0600);', "changes files"),
    "an epoll instance that tells an event once": (
        'one = epoll_create1(0); look_at(one, eventfd(1, 0), EPOLLIN | EPOLLET);', "not a file"),
    "an epoll instance that looks at another": (
        'one = epoll_create1(0); look_at(one, epoll_create1(0), EPOLLIN);', "no worker can have"),
    "an epoll instance that looks at what is closed but for a copy": (
        'one = epoll_create1(0); int event = eventfd(1, 0); look_at(one, event, EPOLLIN); dup(event);'
        'dup2(eventfd(2, 0), event);', "no worker can have"),
    "a pipe": ("int p[2]; pipe(p); one = p[0];", "not a file"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_worker_could_have_of_its_own(folder, name):
    early, reason = REFUSED[name]
    argv = [folder.compile("x.c", EARLY % (early, "(void)one;"))]
    with Zygote(argv, reset="rewind") as zygote:
        assert not zygote.stands
        [(_, text)] = zygote.notes
        assert reason in text, text
