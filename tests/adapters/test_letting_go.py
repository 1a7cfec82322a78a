"""Everything that another process can see of a request is gone when its worker says DONE: locks, names, the
ends of pipes that others wait for. The bridge may send the next request at once, to any worker."""

import contextlib
import ctypes
import fcntl
import os
import socket
import struct

import pytest

import node
from conftest import Folder
from driver import Warm, Zygote

# A program whose memory takes long to put back, or to release at its end.
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
static int lock(const char *path, int command) {
  int fd = open(path, O_RDWR);
  struct flock whole = {.l_type = F_WRLCK};
  if (command ? fcntl(fd, command, &whole) : flock(fd, LOCK_EX | LOCK_NB)) puts("busy");
  return fd;
}
static void *waits(void *unused) { for (;;) pause(); }
int main(int argc, char **argv) {
  const char *kind = argv[1], *path = argv[2];
  enum { kBytes = 192 << 20 };
  memset(sbrk(kBytes), 1, kBytes);
  if (strstr(kind, "flock")) lock(path, 0);
  if (strstr(kind, "record")) lock(path, F_SETLK);
  if (strstr(kind, "description")) lock(path, F_OFD_SETLK);
  if (strstr(kind, "lease")) fcntl(open(path, O_RDWR), F_SETLEASE, F_WRLCK);
  if (strstr(kind, "mapping")) { int fd = lock(path, 0); mmap(0, 4096, 1, MAP_PRIVATE, fd, 0); close(fd); }
  if (strstr(kind, "stdin")) { dup2(lock(path, 0), 0); }
  if (strstr(kind, "name")) {
    struct sockaddr_un name = {AF_UNIX};
    strcpy(name.sun_path + 1, path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(fd, (void *)&name, 3 + strlen(path))) puts("busy");
    listen(fd, 1);
  }
  if (strstr(kind, "pipe")) write(open(path, O_WRONLY), "x", 1);
  if (strstr(kind, "segment")) shmat(atoi(path), 0, 0);
  if (strstr(kind, "semaphore")) {
    struct sembuf down = {0, -1, SEM_UNDO | IPC_NOWAIT};
    if (semop(atoi(path), &down, 1)) puts("busy");
  }
  if (strstr(kind, "thread")) { pthread_t one; pthread_create(&one, 0, waits, 0); }
  puts("done");
  return 3;
}
"""


LIBC = ctypes.CDLL(None)
F_OFD_SETLK = 37
IPC_RMID, IPC_STAT, SETVAL, GETVAL = 0, 2, 16, 12
ATTACHED_AT = 88  # the offset of shm_nattch in struct shmid_ds, on 64-bit machines


@contextlib.contextmanager
def lock_is_free(path, command):
    yield path
    # This way, opening a leased file fails at once.
    with open(os.open(path, os.O_RDWR | os.O_NONBLOCK), "r+b", buffering=0) as file:
        if command is None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            fcntl.fcntl(file, command, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))


@contextlib.contextmanager
def name_is_free(path, _):
    yield path
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("\0" + path)


@contextlib.contextmanager
def end_is_seen(path, _):
    """Seen by the reader of the pipe."""
    os.unlink(path)
    os.mkfifo(path)
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield path
        assert os.read(fd, 10) == b"x" and os.read(fd, 10) == b""
    finally:
        os.close(fd)


@contextlib.contextmanager
def segment_is_alone(_path, _):
    number, status = LIBC.shmget(0, 4096, 0o600), ctypes.create_string_buffer(256)
    try:
        yield str(number)
        LIBC.shmctl(number, IPC_STAT, status)
        assert struct.unpack_from("@Q", status, ATTACHED_AT) == (0,)
    finally:
        LIBC.shmctl(number, IPC_RMID, None)


@contextlib.contextmanager
def semaphore_is_up(_path, _):
    number = LIBC.semget(0, 1, 0o600)
    LIBC.semctl(number, 0, SETVAL, 1)
    try:
        yield str(number)
        assert LIBC.semctl(number, 0, GETVAL, 0) == 1
    finally:
        LIBC.semctl(number, 0, IPC_RMID)


# kind: what must be true at DONE
KINDS = {
    "flock": (lock_is_free, None),
    "record": (lock_is_free, fcntl.F_SETLK),
    "description": (lock_is_free, F_OFD_SETLK),
    "lease": (lock_is_free, None),
    "mapping": (lock_is_free, None),
    "stdin locked": (lock_is_free, None),
    "name": (name_is_free, None),
    "pipe": (end_is_seen, None),
    "segment": (segment_is_alone, None),
    "semaphore": (semaphore_is_up, None),
    "flock and a thread": (lock_is_free, None),
    "record and a thread": (lock_is_free, fcntl.F_SETLK),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return Folder(tmp_path_factory.mktemp("program")).compile("x.c", PROGRAM, "-pthread")


def answer_at_done(worker, argv, by_its_end):
    """If there is no DONE, the process's end is the end of the answer."""
    if by_its_end:
        answer = worker.request(argv)
        assert (answer.done, answer.code) == (None, 3)
        return answer
    answer = worker.answer_until_done(argv)
    assert answer.done == 3
    return answer


@pytest.mark.parametrize("reset", ["rewind", "fork"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_over_at_done(folder, program, kind, reset):
    path = folder.script("held", "")
    look, argument = KINDS[kind]
    by_its_end = reset == "fork" and (kind in ("mapping", "segment") or "thread" in kind)
    with Zygote([program], reset=reset) as zygote:
        for _ in range(3):
            worker = zygote.worker()
            with look(path, argument) as name:
                answer = answer_at_done(worker, [program, kind, name], by_its_end)
            assert answer.text == "done\n"
            assert answer.stays == (reset == "rewind" and kind not in ("semaphore", "lease"))


@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_a_shell_s_lock_is_free_for_the_next_worker(folder, needs, reset):
    needs("flock")
    script = folder.script("x.sh", f"exec 9>{folder.path}/held; flock -n 9 && echo mine || echo busy")
    argv = ["/bin/bash", script]
    with Zygote(argv, reset=reset) as zygote:
        workers = [zygote.worker() for _ in range(2)]
        for n in range(200):
            answer = workers[n % 2].answer_until_done(argv)
            assert answer.text == "mine\n", n
            if not answer.stays:
                workers[n % 2] = zygote.worker()


@pytest.mark.parametrize("with_file", [0, 1])
@pytest.mark.parametrize("number", range(501, 508))
def test_what_a_program_puts_under_a_number_of_ours(folder, number, with_file):
    """The program may close any descriptor, or put one of its own there."""
    program = folder.compile("x.c", """
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
__attribute__((constructor)) static void early(void) { if (%d) open("/etc/passwd", O_RDONLY); }
int main(void) {
  struct stat status; int was_open = fstat(%d, &status) == 0;
  dup2(1, %d); printf("%%d\\n", was_open); return 0;
}""" % (with_file, number, number))
    with Zygote([program], reset="rewind") as zygote:
        worker = zygote.worker()
        answer = worker.request([program], say_ready=True)
        assert answer.retirement == ("descriptors" if answer.text == "1\n" else None), answer.reason
        if answer.stays:
            assert worker.request([program], say_ready=True).text == answer.text
            assert zygote.verify(worker)[1] == ""


# Ruby's handler of SIGCHLD writes to a pipe, and ends the process if it cannot.
HANDLER = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int woken[2], ends[2];
static void on_signal(int number) { if (write(woken[1], "x", 1) < 0) abort(); }
static void *waits(void *unused) { for (;;) pause(); }
/* From when its parent has closed the other end, until it is gone. */
static void signal_parent(pid_t parent) {
  char byte;
  signal(SIGUSR1, SIG_DFL);
  close(ends[1]), close(0), close(1), close(2);
  read(ends[0], &byte, 1);
  for (int n = 0; n < 20000 && getppid() == parent; ++n) kill(parent, SIGUSR1);
  _exit(0);
}
int main(int argc, char **argv) {
  pid_t self = getpid();
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  pipe(ends), pipe2(woken, O_NONBLOCK);
  while (open("/dev/null", O_RDONLY) < 400) { }
  sigaction(SIGUSR1, &action, 0);
  pthread_t one;
  if (!strcmp(argv[1], "thread")) pthread_create(&one, 0, waits, 0);
  if (fork() == 0) signal_parent(self);
  puts("done");
  return 0;
}
"""


@pytest.mark.parametrize("reset", ["rewind", "fork"])
@pytest.mark.parametrize("kind", ["alone", "thread"])
def test_no_handler_runs_once_its_files_are_closed(folder, reset, kind):
    argv = [folder.compile("handler.c", HANDLER, "-pthread"), kind]
    with Warm(argv, reset=reset) as warm:
        for _ in range(20):
            answer = warm.ask()
            assert (answer.text, answer.code) == ("done\n", 0)


# Go's runtime ends the process if it cannot wait for its files any more.
THREADS = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int file;
static void *looks(void *unused) { for (;;) if (fcntl(file, F_GETFD) < 0) _exit(2); }
int main(void) {
  pthread_t threads[2];
  while ((file = open("/dev/null", O_RDONLY)) < 400) { }
  file = 3;
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], 0, looks, 0);
  usleep(1000);
  puts("done");
  return 0;
}
"""


@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_no_thread_finds_its_files_closed(folder, reset):
    argv = [folder.compile("threads.c", THREADS, "-pthread")]
    with Warm(argv, reset=reset) as warm:
        for _ in range(30):
            answer = warm.ask()
            assert (answer.text, answer.code) == ("done\n", 0)


@node.needs_node
def test_node_s_streams_are_let_go_of_before_it_takes_itself_apart(folder):
    text = """const fs = require('fs'); const name = process.argv[2];
fs.writeSync(fs.openSync(name, 'w'), 'x'); console.log('done')"""
    script, path = folder.script("x.js", text), folder.script("held", "")
    for _ in range(5):
        with node.Ahead(script) as ahead, end_is_seen(path, None) as name:
            answer = ahead.worker().answer_until_done([node.NODE, script, name])
            assert answer.text == "done\n"
