"""Trouble for a bridge: a program that does what no program should, clients that do the same, and a load that
must not notice any of it."""

import os
import threading
import time

import pytest

from harness.fastcgi import Closed, variables_for
from harness.processes import wait_until

CLIENTS = 3
PAUSE = 0.02  # seconds, between the requests of one client
# The same program with a short time limit.
LIMITED = """
    [[program]]
    match = "*/endless"
    timeouts = { request = "500ms", kill_grace = "200ms" }
    """
BODY = b"x" * (4 << 20)

# The troublesome program; the query says what it does.
TROUBLE = r"""
    use strict; use warnings;
    binmode STDIN; binmode STDOUT; $| = 1;
    my $what = $ENV{QUERY_STRING};
    sub head { print "Content-Type: text/plain\n\n" }
    if ($what eq "hang") { sleep 60 }
    if ($what eq "fork") {
      for (1 .. 60) { my $child = fork; if (defined $child && !$child) { sleep 60; exit } }
      sleep 60;
    }
    if ($what eq "memory") { my $held = "x" x (200 << 20); head(); print length $held }
    if ($what eq "flood") { head(); print "y" x (1 << 20) for 1 .. 8 }
    if ($what eq "errors") { print STDERR "a complaint\n" while 1 }
    if ($what eq "closes") { head(); print "said\n"; close STDOUT; select undef, undef, undef, 0.3 }
    if ($what eq "unread") { head(); print "not read\n" }
    if ($what eq "half-read") { head(); read STDIN, my $some, 1000; print length $some; exit 3 }
    if ($what eq "stubborn") { $SIG{TERM} = "IGNORE"; 1 while sleep 60 }
    if ($what eq "fine") { head(); print "fine\n" }
    if ($what eq "killed") { head(); print "half"; kill 9, $$ }
"""


class Load:
    """Clients that send requests to one program, one after another, from the beginning of the `with` to its
    end. Each must be answered correctly."""

    def __init__(self, bridge, script):
        self.bridge, self.script = bridge, script
        self.answered, self.problems = 0, []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(CLIENTS)]

    def _run(self):
        while not self._stop.is_set():
            try:
                # Many other requests may be queued before it.
                answer = self.bridge.request(self.script, seconds=60)
                if (answer.stdout, answer.app_status) != (b"Content-Type: text/plain\n\nhello\n", 0):
                    self.problems.append(answer)
            except Exception as error:  # reported by the test itself
                self.problems.append(repr(error))
            self.answered += 1
            # The processors are not all the load's: whatever happens must get its turn, too.
            self._stop.wait(PAUSE)

    def goes_on(self, requests=60):
        """Waits until this many more requests are answered."""
        wanted = self.answered + requests
        wait_until(lambda: self.problems or self.answered >= wanted, "the load is answered", 60)
        assert not self.problems, self.problems[:3]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()


PROGRAMS = {
    # query: (method, body, status, exit code or None for a signal's or the bridge's own)
    "hang": ("GET", b"", 504, None),
    "fork": ("GET", b"", 504, None),
    "errors": ("GET", b"", 504, None),
    "stubborn": ("GET", b"", 504, None),
    "memory": ("GET", b"", 200, 0),
    "flood": ("GET", b"", 200, 0),
    "closes": ("GET", b"", 200, 0),
    "unread": ("POST", BODY, 200, 0),
    "half-read": ("POST", BODY, 200, 3),
    "killed": ("GET", b"", 200, 137),
}


def leaves_early(bridge, script):
    with bridge.connect() as peer:
        peer.begin()
        peer.send(b"\x01\x04\x00\x01\x10")


def leaves_in_its_body(bridge, script):
    with bridge.connect() as peer:
        peer.begin()
        peer.params(variables_for(script, "POST", "half-read", BODY))
        peer.stdin(BODY[:100_000])


def sends_a_byte_at_a_time(bridge, script):
    with bridge.connect() as peer:
        for byte in b"\x01\x01\x00\x01\x00\x08\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01\x04":
            peer.send(bytes([byte]))
            time.sleep(0.01)


def sends_nonsense(bridge, script):
    with bridge.connect() as peer:
        peer.send(b"\xff" + os.urandom(200))  # after a record of version 1 the bridge would wait for more
        with pytest.raises(Closed):
            peer.next_record()


def does_not_read(bridge, script):
    with bridge.connect() as peer:
        peer.start(script, query="flood")
        time.sleep(0.3)


CLIENTS_OF_TROUBLE = [leaves_early, leaves_in_its_body, sends_a_byte_at_a_time, sends_nonsense,
                      does_not_read]
