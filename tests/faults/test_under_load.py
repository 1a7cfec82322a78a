"""Under constant load on one program, something happens to another program, a client, or the bridge's
surroundings: no request of the load fails, and when it is over everything is as before."""

import os
import pathlib
import random
import resource
import signal
import subprocess
import time

import pytest

from harness import processes, programs
from harness.bridge import BINARY, write_at_once
from harness.fastcgi import Closed
from harness.processes import alive, wait_until
from harness.trouble import CLIENTS_OF_TROUBLE, LIMITED, PROGRAMS, TROUBLE, Load


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
    # Log lines of any level are allowed about the other program.
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


def test_the_bridge_stays_one_thread(bridge, load):
    """So ThreadSanitizer has nothing to check: libuv starts its thread pool only for requests about files and
    names, and the bridge makes none."""
    for _ in range(10):
        assert os.listdir(f"/proc/{bridge.pid}/task") == [str(bridge.pid)]
        load.goes_on(5)


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
    wait_until(lambda: bridge.program(trouble)["workers"]["busy"] == 0, "nothing of it runs")
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
        # A worker that dies during a request costs that request, and the bridge says so.
        assert answer.body == b"fine\n" or answer.status == 502
    load.goes_on()
    assert bridge.request(trouble, query="fine").body == b"fine\n"


@pytest.mark.parametrize("client", CLIENTS_OF_TROUBLE)
def test_a_client_s_trouble_is_its_own(bridge, load, trouble, client):
    bridge.allow_log("connection")
    bridge.request(trouble, query="fine")
    for _ in range(3):
        client(bridge, trouble)
        load.goes_on(5)
    bridge.request(trouble, query="fine")


@pytest.fixture
def count(request):
    """How many connections to open; this process may open as many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = request.param + 500
    if needed > hard != resource.RLIM_INFINITY:
        pytest.skip(f"RLIMIT_NOFILE is {hard}, {needed} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    yield request.param
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)], indirect=True)
def test_many_connections_at_once(site, settings, count):
    # Few workers, so that there are enough descriptors for all connections.
    bridge = site.start_bridge(settings, bridge=f"connections_max = {count + 100}\nworkers_max = 20\n"
                                                "zygotes_max = 10\n")
    script = programs.hello(site)
    with Load(bridge, script) as load:
        peers = [bridge.connect() for _ in range(count)]
        load.goes_on()
        for peer in peers[::10]:
            assert peer.request(script).body == b"hello\n"
        assert bridge.status()["bridge"]["connections"] >= count
        for peer in peers:
            peer.close()
        load.goes_on()
    assert not load.problems, load.problems[:3]


class TestIdleConnections:
    """They take all available places; the load must still find one for each of its requests."""

    def crowd(self, bridge, count):
        script = bridge.script
        with Load(bridge, script) as load:
            load.goes_on(20)
            peers = [bridge.connect() for _ in range(count)]
            load.goes_on()
            for peer in peers:
                peer.close()
            load.goes_on()
        assert not load.problems, load.problems[:3]

    def test_make_room_when_all_connections_are_taken(self, site, settings):
        script = programs.hello(site)
        bridge = site.start_bridge(settings, bridge="connections_max = 40\n")
        bridge.script = script
        bridge.request(script)
        self.crowd(bridge, 120)
        assert bridge.status()["bridge"]["connections_closed_for_room"] > 0
        bridge.expect_log(r"warning 40 connections are open \(bridge.connections_max\)")

    def test_leave_descriptors_for_what_runs(self, site, settings):
        script = programs.hello(site)
        bridge = site.prepare_bridge(settings)
        bridge.start(["/bin/sh", "-c", 'ulimit -n 200; exec "$@"', "limited"])
        bridge.expect_log("200 descriptors .RLIMIT_NOFILE. are too few for connections_max = 1024")
        bridge.script = script
        bridge.request(script)
        self.crowd(bridge, 60)


def test_params_that_do_not_come_whole_end_their_connection(site, settings):
    script = programs.hello(site)
    bridge = site.start_bridge(settings, bridge='params_timeout = "3s"\n')
    with Load(bridge, script) as load, bridge.connect() as slow, bridge.connect() as kept:
        assert kept.request(script).body == b"hello\n"
        slow.begin()
        with pytest.raises((Closed, ConnectionError)):
            for byte in b"\x01\x04\x00\x01\x10" + bytes(200):  # one byte from time to time
                slow.send(bytes([byte]))
                time.sleep(0.1)
        load.goes_on()
        assert kept.request(script).body == b"hello\n", "an idle connection is in nobody's way"
    assert not load.problems, load.problems[:3]
    assert bridge.status()["bridge"]["connections_closed_unfinished"] == 1


@pytest.mark.root
@pytest.mark.parametrize("mode", ["persistent"], indirect=True)
def test_a_user_s_process_limit_is_met_by_new_processes_alone(site, settings, trouble):
    """RLIMIT_NPROC of the bridge and of a zygote: they cannot fork for a while."""
    user = 64123  # used by nobody else
    as_user = processes.as_user(user)
    if subprocess.run([*as_user, "test", "-x", BINARY]).returncode:
        pytest.skip(f"other users may not execute {BINARY}")

    def allow_processes(count):
        for pid in (bridge.pid, zygote):
            if alive(pid):
                subprocess.run([*as_user, "prlimit", f"--pid={pid}", f"--nproc={count}:"], check=True)

    os.chown(site.folder, user, user)
    script, classic = programs.hello(site), programs.hello(site, "classic")
    bridge = site.prepare_bridge(settings, LIMITED + '[[program]]\nmatch = "*/classic"\nmode = "classic"\n')
    bridge.start(as_user)
    bridge.allow_log("Resource temporarily unavailable|program=.*/(trouble|endless|classic)")
    bridge.request(script)
    bridge.wait_warm(script)
    bridge.request(trouble, query="fine")
    zygote = bridge.wait_warm(trouble)["zygote_pid"]
    with Load(bridge, script) as load:
        load.goes_on(20)
        allow_processes(1)
        answer = bridge.request(classic)
        assert answer.status == 502, answer
        bridge.expect_log("program=.*/classic.*Resource temporarily unavailable")
        for _ in range(3):
            assert bridge.request(trouble, query="killed").status in (200, 500, 502, 503, 504)
            load.goes_on(20)
        allow_processes(resource.getrlimit(resource.RLIMIT_NPROC)[1])
        assert bridge.request(classic).body == b"hello\n"
        wait_until(lambda: bridge.request(trouble, query="fine").body == b"fine\n", "it answers", 30)
    assert not load.problems, load.problems[:3]


@pytest.mark.plain_build  # the sanitizers' run-time library must come first
@pytest.mark.parametrize("mode", ["persistent"], indirect=True)
def test_a_clock_that_jumps_disturbs_nothing(site, settings, trouble):
    """The bridge's own clock jumps a day forward and back; its programs' clocks do not."""
    library = next(iter(pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1")), None)
    if library is None:
        pytest.skip("libfaketime is not installed")
    script = programs.hello(site)
    offset = site.folder / "clock"
    offset.write_text("+0")
    log = site.folder / "access.log"
    bridge = site.prepare_bridge(settings, LIMITED, bridge=f'access_log = {{ file = "{log}" }}\n')
    bridge.allow_log("program=.*/(trouble|endless)")
    bridge.start(env={"LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(offset),
                      "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"})
    with Load(bridge, script) as load:
        for jump in ("+1d", "-1d", "+0"):
            write_at_once(offset, jump)  # libfaketime ends a program that sees an empty file
            load.goes_on(30)
            assert bridge.request(trouble, query="fine").body == b"fine\n"
            # Time limits hold as before.
            assert bridge.request(trouble.with_name("endless"), query="hang").status == 504
    assert not load.problems, load.problems[:3]
    days = {line.split("[")[1][:11] for line in log.read_text().splitlines() if "[" in line}
    assert len(days) >= 2, "the clock did not jump"


def test_a_broken_config_changes_nothing(site, bridge, load, trouble):
    bridge.request(trouble, query="fine")
    good = bridge.config.read_text()
    for _ in range(3):
        bridge.write_settings(good + "\nthis = is [ not toml\n")
        bridge.hangup()
        bridge.expect_log("config.toml(:| is refused)")
        load.goes_on(10)
    bridge.write_settings(good)
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
