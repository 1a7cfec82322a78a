"""Under constant load on one program, something befalls another program, a client, or what the
bridge stands on: no request of the load fails, and when it is over all is as before."""

import os
import random
import signal
import threading
import time

import pytest

from harness import processes, programs
from harness.fastcgi import Closed, variables_for
from harness.processes import alive, wait_until

CLIENTS = 3
# The same program with little time.
LIMITED = """
    [[program]]
    match = "*/endless"
    timeouts = { request = "1s", kill_grace = "200ms" }
    """
BODY = b"x" * (4 << 20)

# What the other program does, by its query.
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
    """Clients that ask one program, one request after the other, from the beginning of the `with` to
    its end. Each must be answered, and rightly."""

    def __init__(self, bridge, script):
        self.bridge, self.script = bridge, script
        self.answered, self.problems = 0, []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(CLIENTS)]

    def _run(self):
        while not self._stop.is_set():
            try:
                answer = self.bridge.request(self.script)
                if (answer.stdout, answer.app_status) != (b"Content-Type: text/plain\n\nhello\n", 0):
                    self.problems.append(answer)
            except Exception as error:  # told by the test itself
                self.problems.append(repr(error))
            self.answered += 1

    def goes_on(self, requests=60):
        """So many more are answered."""
        wanted = self.answered + requests
        wait_until(lambda: self.problems or self.answered >= wanted, "the load is answered", 30)
        assert not self.problems, self.problems[:3]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()


@pytest.fixture(params=["classic", "persistent"])
def mode(request):
    return f'mode = "{request.param}"\n'


@pytest.fixture
def settings(mode):
    return mode + ('workers = { max = 6, spare = 2 }\n'
                   'timeouts = { start = "20s", request = "60s", kill_grace = "200ms" }\n')


@pytest.fixture
def bridge(site, settings):
    bridge = site.start_bridge(settings, LIMITED)
    # What the other program does is worth lines of any level.
    bridge.allow_log("program=.*/(trouble|endless)")
    return bridge


@pytest.fixture
def trouble(site):
    site.perl("endless", TROUBLE)
    return site.perl("trouble", TROUBLE)


@pytest.fixture
def load(site, bridge):
    script = programs.hello(site)
    bridge.request(script)
    with Load(bridge, script) as load:
        load.goes_on(20)
        yield load
        load.goes_on()
    assert not load.problems, load.problems[:3]


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


@pytest.mark.parametrize("query", PROGRAMS)
def test_a_program_s_trouble_is_its_own(bridge, load, trouble, query):
    method, body, status, code = PROGRAMS[query]
    if status == 504:
        trouble = trouble.with_name("endless")
    for _ in range(2):
        answer = bridge.request(trouble, method, query, body)
        assert answer.status == status
        assert code is None or answer.app_status == code
        load.goes_on(10)
    entry = bridge.program(trouble)
    assert entry["workers"]["busy"] == 0
    if query == "fork":
        wait_until(lambda: len(processes.descendants_of(bridge.pid)) < 40, "its children are gone")


@pytest.mark.parametrize("mode", ["persistent"], indirect=True)
def test_workers_and_zygotes_that_are_killed_at_random_moments(bridge, load, trouble):
    chance = random.Random(7)
    bridge.request(trouble, query="fine")
    for _ in range(40):
        entry = bridge.program(trouble)
        victims = [pid for pid in [*entry["worker_pids"], entry["zygote_pid"] or -1] if pid > 0]
        if victims:
            processes.kill_quietly(chance.choice(victims), signal.SIGKILL)
        answer = bridge.request(trouble, query="fine")
        # One that dies with a request in its hands costs that request, and says so.
        assert answer.body == b"fine\n" or answer.status == 502
    load.goes_on()
    assert bridge.request(trouble, query="fine").body == b"fine\n"


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
        peer.send(os.urandom(200))
        with pytest.raises(Closed):
            peer.next_record()


def does_not_read(bridge, script):
    with bridge.connect() as peer:
        peer.begin()
        peer.params(variables_for(script, query="flood"))
        peer.stdin(b"")
        time.sleep(0.3)


@pytest.mark.parametrize("client", [leaves_early, leaves_in_its_body, sends_a_byte_at_a_time,
                                    sends_nonsense, does_not_read])
def test_a_client_s_trouble_is_its_own(bridge, load, trouble, client):
    bridge.allow_log("connection")
    bridge.request(trouble, query="fine")
    for _ in range(3):
        client(bridge, trouble)
        load.goes_on(5)
    bridge.request(trouble, query="fine")


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_connections_at_once(bridge, load, count):
    peers = [bridge.connect() for _ in range(count)]
    load.goes_on()
    for peer in peers[::10]:
        assert peer.request(load.script).body == b"hello\n"
    for peer in peers:
        peer.close()


def test_a_broken_config_changes_nothing(site, bridge, load, trouble):
    bridge.request(trouble, query="fine")
    good = bridge.config.read_text()
    for _ in range(3):
        bridge.config.write_text(good + "\nthis = is [ not toml\n")
        bridge.hangup()
        bridge.expect_log("config.toml(:| is refused)")
        load.goes_on(10)
    bridge.config.write_text(good)
    bridge.hangup()
    assert bridge.request(trouble, query="fine").body == b"fine\n"


def test_a_log_on_a_full_disk_stops_nobody(site, settings, trouble):
    script = programs.hello(site)
    bridge = site.prepare_bridge(settings, LIMITED)
    bridge.start(command_prefix=["sh", "-c", 'exec "$@" 2>/dev/full >/dev/full', "sh"])
    with Load(bridge, script) as load:
        for name, query in [("trouble", "fine"), ("endless", "errors"), ("trouble", "killed")]:
            bridge.request(trouble.with_name(name), query=query)
        load.goes_on()
    assert bridge.request(trouble, query="fine").body == b"fine\n"
    assert alive(bridge.pid)
