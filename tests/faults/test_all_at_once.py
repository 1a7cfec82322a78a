"""Everything mixed: programs and clients in trouble, kills, broken settings, touched programs, rotated logs,
crowds of connections, while several programs are under load. No request of the load fails, and nothing grows.
It runs for ten seconds in every run, and for half an hour as a slow test.

CGIBRIDGE_SOAK_MINUTES sets how long the slow one takes.
"""

import contextlib
import os
import random
import signal
import threading
import time

import pytest

from harness import processes
from harness.processes import wait_until
from harness.trouble import BODY, CLIENTS_OF_TROUBLE, LIMITED, PROGRAMS, TROUBLE, Load

MINUTES = float(os.environ.get("CGIBRIDGE_SOAK_MINUTES", 30))
# How much allocators may still take after everything has happened a few times.
GROWTH_KIB = 6 * 1024
HELLO = r'print "Content-Type: text/plain\n\nhello\n";'
DEFAULTS = """
    mode = "persistent"
    workers = { max = 6, spare = 2 }
    queue = { max = 200, timeout = "60s" }
    timeouts = { start = "30s", request = "90s", kill_grace = "200ms" }
    """
OWN_MODES = """
    [[program]]
    match = "*/classic"
    mode = "classic"
    [[program]]
    match = "*/forked"
    reset = "fork"
    """


class World:
    """The bridge, the programs under load, and everything that may happen; each kind of trouble is a
    method."""

    def __init__(self, site):
        self.site, self.chance = site, random.Random(11)
        self.scripts = [site.perl(name, HELLO) for name in ("rewound", "forked", "classic")]
        self.trouble = site.perl("trouble", TROUBLE)
        self.endless = site.perl("endless", TROUBLE)
        self.access = site.folder / "access.log"
        self.bridge = site.start_bridge(DEFAULTS, LIMITED + OWN_MODES,
                                        bridge=f'access_log = {{ file = "{self.access}" }}\n')
        for pattern in ("program=.*/(trouble|endless)", "config.toml", "connection"):
            self.bridge.allow_log(pattern)
        self.happened = {}

    def a_program_in_trouble(self):
        query = self.chance.choice(list(PROGRAMS))
        method, body, status, _ = PROGRAMS[query]
        script = self.endless if status == 504 else self.trouble
        answer = self.bridge.request(script, method, query, body)
        # It may meet a kill, an aborted client or a full pool; then it gets one of these statuses.
        assert answer.status in (status, 502, 503), (query, answer)

    def a_client_in_trouble(self):
        self.chance.choice(CLIENTS_OF_TROUBLE)(self.bridge, self.trouble)

    def a_kill(self):
        entry = self.bridge.program(self.trouble)
        pids = [pid for pid in [*entry["worker_pids"], entry["zygote_pid"] or -1] if pid > 1] if entry else []
        if pids:
            processes.kill_quietly(self.chance.choice(pids), signal.SIGKILL)

    def broken_settings(self):
        good = self.bridge.config.read_text()
        self.bridge.write_settings(good + "\nthis = is [ not toml\n")
        self.bridge.hangup()
        time.sleep(0.2)
        self.bridge.write_settings(good)
        self.bridge.hangup()

    def a_touched_program(self):
        os.utime(self.chance.choice(self.scripts))

    def a_crowd(self):
        peers = [self.bridge.connect() for _ in range(200)]
        for peer in peers:
            peer.close()

    def a_rotated_log(self):
        if self.access.exists():
            self.access.rename(self.access.with_suffix(".1"))
        os.kill(self.bridge.pid, signal.SIGUSR1)

    def looks_at_it(self):
        self.bridge.status()
        self.bridge.command("status", "--openmetrics")

    def body_of_a_megabyte(self):
        answer = self.bridge.request(self.trouble, "POST", "half-read", BODY[:1 << 20])
        assert answer.status in (200, 502, 503), answer

    def go_on_until(self, end, happenings, problems):
        while time.monotonic() < end and not problems:
            happening = self.chance.choice(happenings)
            try:
                getattr(self, happening)()
            except Exception as error:  # reported by the test itself
                problems.append(f"{happening}: {error!r}")
            self.happened[happening] = self.happened.get(happening, 0) + 1

    def measure(self):
        self.bridge.wait_idle(60)
        return processes.memory_kib(self.bridge.pid)


# At most one of each at a time, because they work on the same files.
ALONE = ["broken_settings", "a_touched_program", "a_rotated_log", "looks_at_it", "a_crowd"]
TOGETHER = ["a_program_in_trouble", "a_client_in_trouble", "a_kill", "body_of_a_megabyte"]


def a_while(world, seconds):
    """Lets everything happen for this long, during the load."""
    problems = []
    end = time.monotonic() + seconds
    threads = [threading.Thread(target=world.go_on_until, args=(end, which, problems))
               for which in (ALONE, TOGETHER, TOGETHER)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems


def soak(site, seconds, phases):
    world = World(site)
    for script in world.scripts:
        world.bridge.request(script)
    measured = []
    for _ in range(phases):
        with contextlib.ExitStack() as stack:
            loads = [stack.enter_context(Load(world.bridge, script)) for script in world.scripts]
            a_while(world, seconds / phases)
            for load in loads:
                load.goes_on(20)
        for load in loads:
            assert not load.problems, load.problems[:3]
        measured.append(world.measure())
    assert measured[-1] - measured[phases // 3] < GROWTH_KIB, measured
    wait_until(lambda: len(processes.descendants_of(world.bridge.pid)) < 60, "stray processes are gone", 60)
    wait_until(lambda: processes.zombies_of(world.bridge.pid) == [], "those that ended are waited for")
    print(f"{seconds:.0f} s: {world.happened}, memory of the bridge {measured} KiB")


def test_ten_seconds_of_everything(site):
    soak(site, 10, 2)


@pytest.mark.slow
def test_half_an_hour_of_everything(site):
    soak(site, 60 * MINUTES, 10)
