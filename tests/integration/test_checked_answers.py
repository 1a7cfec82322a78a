"""Many different requests by 16 connections, kept and new ones, some of which are given up in each phase:
every byte of each answer is that request's own, and nothing of another one is in it.

CGIBRIDGE_TESTS_REQUESTS: how many of each; 100,000 (a million in all) were tried.
"""

import contextlib
import multiprocessing
import os
import random
import shutil

import pytest

from harness.fastcgi import Closed, Peer, variables_for

REQUESTS = int(os.environ.get("CGIBRIDGE_TESTS_REQUESTS", "400"))
CLIENTS = 16
FILLER = 199

# Each prints what it was sent and what it remembers, and changes whatever a process can remember.
PROGRAMS = {
    "c": r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static int runs;
static char last[64], body[65536], folder[4096];
int main(void) {
  const char *query = getenv("QUERY_STRING"), *cookie = getenv("HTTP_COOKIE"), *left = getenv("LEFT");
  int n = atoi(query + 2);
  size_t length = fread(body, 1, sizeof body, stdin);
  if (n % 7 == 0) fprintf(stderr, "complaint %d\n", n);
  printf("Content-Type: text/plain\nX-N: %d\n\n%s %s run=%d last=%s left=%s mask=%o at=%d\n", n,
         query, cookie, ++runs, last, left ? left : "", (unsigned)umask(0),
         !strcmp(getcwd(folder, sizeof folder), "/"));
  fwrite(body, 1, length, stdout);
  for (int i = 0; i < n % 199 * 100; i++) putchar('x');
  snprintf(last, sizeof last, "%s", cookie);
  setenv("LEFT", cookie, 1);
  if (chdir("/")) return 9;
  return n % 5;
}
""",
    "pl": r"""#!/usr/bin/perl
our ($runs, $last);
my ($n) = $ENV{QUERY_STRING} =~ /(\d+)/;
my $body = do { local $/; <STDIN> };
print STDERR "complaint $n\n" if $n % 7 == 0;
require Cwd;
printf "Content-Type: text/plain\nX-N: %d\n\n%s %s run=%d last=%s left=%s mask=%o at=%d\n",
  $n, $ENV{QUERY_STRING}, $ENV{HTTP_COOKIE}, ++$runs, $last // "", $ENV{LEFT} // "", umask(0),
  Cwd::getcwd() eq "/";
print $body, "x" x ($n % 199 * 100);
$last = $ENV{LEFT} = $ENV{HTTP_COOKIE};
chdir "/";
exit $n % 5;
""",
    "py": r"""#!/usr/bin/python3
import builtins, os, sys
n = int(os.environ["QUERY_STRING"][2:])
builtins.runs = getattr(builtins, "runs", 0) + 1
body = sys.stdin.buffer.read().decode()
if n % 7 == 0:
    print("complaint", n, file=sys.stderr)
print("Content-Type: text/plain\nX-N: %d\n\n%s %s run=%d last=%s left=%s mask=%o at=%d" % (
    n, os.environ["QUERY_STRING"], os.environ["HTTP_COOKIE"], builtins.runs, getattr(os, "last", ""),
    os.environ.get("LEFT", ""), os.umask(0), os.getcwd() == "/"))
print(body + "x" * (n % 199 * 100), end="")
os.last = os.environ["LEFT"] = os.environ["HTTP_COOKIE"]
os.chdir("/")
sys.exit(n % 5)
""",
    "sh": r"""#!/bin/bash
n=${QUERY_STRING#n=}
runs=$((runs + 1))
IFS= read -r -d '' body
((n % 7)) || echo "complaint $n" >&2
mask=$(umask)
printf 'Content-Type: text/plain\nX-N: %d\n\n%s %s run=%d last=%s left=%s mask=%o at=%d\n' "$n" \
  "$QUERY_STRING" "$HTTP_COOKIE" "$runs" "$last" "$LEFT" "$mask" "$([[ $PWD == / ]]; echo $((!$?)))"
printf -v filler '%*s' $((n % 199 * 100)) ''
printf '%s' "$body" "${filler// /x}"
last=$HTTP_COOKIE
export LEFT=$HTTP_COOKIE
umask 0
cd /
exit $((n % 5))
""",
    "rb": r"""#!/usr/bin/ruby
n = ENV["QUERY_STRING"][2..].to_i
$runs = ($runs || 0) + 1
body = STDIN.read
STDERR.puts "complaint #{n}" if n % 7 == 0
printf "Content-Type: text/plain\nX-N: %d\n\n%s %s run=%d last=%s left=%s mask=%o at=%d\n",
       n, ENV["QUERY_STRING"], ENV["HTTP_COOKIE"], $runs, $last, ENV["LEFT"], File.umask(0),
       Dir.pwd == "/" ? 1 : 0
print body, "x" * (n % 199 * 100)
$last = ENV["LEFT"] = ENV["HTTP_COOKIE"]
Dir.chdir("/")
exit n % 5
""",
}


def made(site, language):
    text = PROGRAMS[language]
    if language == "c":
        return site.c("checked.c.cgi", text)
    interpreter = text.partition("\n")[0][2:]
    if not shutil.which(interpreter):
        pytest.skip(f"{interpreter} is not installed")
    return site.script(f"checked.{language}", text)


class Client:
    """One connection at a time, kept or not, of which some end in the middle of a request."""

    def __init__(self, address, program, seed):
        self.address, self.program = address, program
        self.random = random.Random(seed)
        self.peer = None
        self.checked = 0

    def connected(self):
        if self.peer is None:
            self.peer = Peer(self.address, seconds=60)
        return self.peer

    def disconnect(self, by_reset=False):
        peer, self.peer = self.peer, None
        (peer.reset if by_reset else peer.close)()

    def ask(self, n):
        body = f"<{n}>" * self.random.choice([0, 1, 50, 2000])
        variables = variables_for(self.program, "POST", f"n={n}", body, HTTP_COOKIE=f"secret{n}")
        peer, keep = self.connected(), self.random.random() < 0.8
        peer.begin(keep=keep)
        if self.random.random() < 0.1:
            return self.give_up(peer, variables, body.encode())
        peer.params(variables)
        if body:
            peer.stdin(body.encode())
        peer.stdin(b"")
        self.check(peer.response(), n, body)
        if not keep:
            peer.expect_closed()
            self.disconnect()

    def give_up(self, peer, variables, body):
        """In the middle of the request, or of its answer; by a record, or by leaving."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, Closed):
            peer.params(variables)
            if self.random.random() < 0.7:
                peer.stdin(body[:self.random.randrange(len(body) + 1)] or b"x")
            if self.random.random() < 0.5:
                peer.stdin(b"")
            if self.random.random() < 0.3:
                peer.abort()
                peer.response()
        self.disconnect(by_reset=self.random.random() < 0.5)

    def check(self, answer, n, body):
        line = f"n={n} secret{n} run=1 last= left= mask=22 at=0\n"
        wanted = f"Content-Type: text/plain\nX-N: {n}\n\n{line}{body}" + "x" * (n % FILLER * 100)
        assert answer.stdout == wanted.encode(), (n, answer.stdout[:300], answer.stderr)
        assert answer.stderr == (b"complaint %d\n" % n if n % 7 == 0 else b""), (n, answer.stderr)
        assert (answer.app_status, answer.protocol_status) == (n % 5, 0), (n, answer.app_status)
        self.checked += 1


def run_client(address, program, first):
    """How many answers were checked."""
    client = Client(address, program, first)
    for n in range(first, REQUESTS, CLIENTS):
        client.ask(n)
    return client.checked


@pytest.mark.parametrize("verify", [0, 1])
@pytest.mark.parametrize("language", PROGRAMS)
def test_each_byte_of_many_answers_is_that_request_s_own(site, language, verify):
    program = made(site, language)
    bridge = site.start_bridge(f'mode = "persistent"\nreset = "rewind"\nrewind = {{ verify = {verify} }}\n'
                               "workers = { max = 6, spare = 2 }")
    Client(bridge.address, program, 0).ask(1)
    bridge.wait_warm(program)
    with multiprocessing.get_context("fork").Pool(CLIENTS) as pool:
        checked = pool.starmap(run_client, [(bridge.address, program, n) for n in range(CLIENTS)])
    assert sum(checked) > REQUESTS * 0.8
    status = bridge.program(program)
    assert status["rewind"]["differences"] == 0 and status["requests_persistent"] > REQUESTS * 0.5, status
    bridge.wait_idle()
