"""A worker and the bridge keep the pipes of a request for the next one, if nobody else can have them and both
have read all that was in them."""

import os
import signal
import time

import pytest

from harness import processes
from harness.processes import wait_until

ONE = 'mode = "persistent"\nworkers = { max = 1, spare = 1 }\nrewind = { verify = 1 }\n'

# Prints which pipe its output is, and as many bytes more as the query says. "child" leaves one behind, which
# speaks later.
PROGRAM_C = r"""
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/stat.h>
    #include <unistd.h>
    int main(void) {
      const char *query = getenv("QUERY_STRING");
      char body[100]; struct stat status;
      size_t got = fread(body, 1, sizeof body, stdin);
      fstat(1, &status);
      printf("Content-Type: text/plain\n\n%d %lu %zu\n", (int)getpid(), (unsigned long)status.st_ino, got);
      for (long n = atol(query); n > 0; --n) putchar('a');
      fflush(stdout);
      if (!strcmp(query, "child") && fork() == 0) {
        usleep(200000);
        printf("LATE\n");
        fflush(stdout);
        _exit(0);
      }
      if (!strcmp(query, "errors")) fprintf(stderr, "a word\n");
    }
    """


@pytest.fixture
def bridge(site):
    bridge = site.start_bridge(ONE)
    bridge.script = site.c("x", PROGRAM_C)
    ask(bridge)
    bridge.wait_warm(bridge.script)
    return bridge


def ask(bridge, query="", **more):
    """(pid, number of its pipe, bytes of the body that it got)"""
    answer = bridge.request(bridge.script, query=query, **more)
    assert answer.status == 200
    rests(bridge)
    return tuple(map(int, answer.body.split(b"\n")[0].split()))


def rests(bridge):
    """Its worker is compared with its zygote after each request."""
    entry = bridge.program(bridge.script)
    if entry and entry["zygote_pid"]:
        wait_until(lambda: bridge.program(bridge.script)["workers"]["idle"] == 1, "its worker rests")


def test_the_next_request_has_the_same_pipes(bridge):
    first = ask(bridge)
    assert ask(bridge) == ask(bridge) == first
    assert ask(bridge, "errors") == first and ask(bridge) == first


def test_one_with_a_body_has_others(bridge):
    pid, pipe, _ = ask(bridge)
    again, other, got = ask(bridge, method="POST", body=b"abc")
    assert (again, got) == (pid, 3) and other != pipe
    assert ask(bridge) == (pid, other, 0)


def test_one_whose_body_was_not_read_leaves_nothing(site, bridge):
    ask(bridge)
    for _ in range(3):
        pid, _, got = ask(bridge, method="POST", body=b"secret" * 20)
        assert got == 100
        assert ask(bridge) == (pid, ask(bridge)[1], 0)


def test_words_of_a_child_that_was_left_behind_reach_nobody(bridge):
    for _ in range(3):
        bridge.request(bridge.script, query="child")
        for _ in range(12):
            answer = bridge.request(bridge.script)
            assert answer.status == 200 and b"LATE" not in answer.stdout
            time.sleep(0.03)


def test_what_a_slow_client_has_not_taken_reaches_nobody_else(site):
    """Its answer is in the pipe yet when its worker is done, and another request comes."""
    bridge = site.start_bridge(ONE.replace("verify = 1", "verify = 0"))
    bridge.script = site.c("x", PROGRAM_C)
    ask(bridge)
    bridge.wait_warm(bridge.script)
    met = 0
    for size in range(100_000, 2_000_000, 30_000):
        with bridge.connect() as slow:
            slow.start(bridge.script, query=str(size))
            done = bridge.program(bridge.script)["requests_persistent"]
            deadline = time.monotonic() + 0.1
            while time.monotonic() < deadline:
                entry = bridge.program(bridge.script)
                if entry["workers"]["idle"] == 1 and bridge.status()["bridge"]["requests_active"] == 1:
                    break
            else:
                assert len(slow.response().stdout) > size
                continue
            met += 1
            answers = [bridge.request(bridge.script) for _ in range(2)]
            assert all(answer.status == 200 and len(answer.body) < 100 for answer in answers), done
            answer = slow.response()
            head, _, rest = answer.body.partition(b"\n")
            assert len(head.split()) == 3 and rest == b"a" * size
    assert met > 0


def test_pipes_go_with_their_worker(site):
    bridge = site.start_bridge('mode = "persistent"\nworkers = { max = 2, spare = 2, max_requests = 5 }\n')
    script = site.c("x", PROGRAM_C)
    bridge.request(script)
    bridge.wait_warm(script)
    for _ in range(200):
        assert bridge.request(script).status == 200
    pipes = sum(name == "pipe" for name in bridge.fds().values())
    assert pipes <= 15, bridge.fds()


@pytest.mark.root
def test_they_are_its_user_s(site):
    """The program may open its own standard output by its name, also in kept pipes."""
    script = site.c("x", r"""
        #include <fcntl.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        int main(void) {
          int opens = getenv("QUERY_STRING")[0] == 'o', fd = 1;
          if (opens) fd = open("/dev/stdout", O_WRONLY);
          dprintf(fd, "Content-Type: text/plain\n\n%d %d\n", (int)getuid(), (int)getpid());
        }
        """)
    bridge = site.start_bridge('mode = "persistent"\nworkers = { max = 1, spare = 1 }\nuser = "www-data"\n')
    bridge.request(script)
    bridge.wait_warm(script)
    for query in ("", "", "o", "", "o", "o"):
        answer = bridge.request(script, query=query)
        assert answer.status == 200 and answer.body.startswith(b"33 "), (query, answer.stdout)


def test_a_stopped_worker_s_request_goes_to_another(bridge):
    """It was to use the stopped one's pipes."""
    pid, pipe, _ = ask(bridge)
    assert ask(bridge) == (pid, pipe, 0)
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: processes.stat_of(pid)[0] == "T", "it stands still")
    with bridge.connect() as peer:
        peer.start(bridge.script)
        wait_until(lambda: bridge.program(bridge.script)["workers"]["busy"] == 1, "it was sent")
        time.sleep(0.01)   # its output is watched by now
        processes.kill_quietly(pid)
        answer = peer.response()
    assert answer.status == 200 and int(answer.body.split()[0]) != pid
    assert bridge.program(bridge.script)["given_back"] == 1
