"""Whatever dies, hangs or runs out while the bridge runs, it answers, reports it, and goes on."""

import os
import signal
import time

import pytest

from harness import processes, programs
from harness.processes import alive, wait_until


@pytest.fixture
def bridge(site):
    programs.pid(site)
    bridge = site.start_bridge('mode = "persistent"\n'
                               'timeouts = { start = "30s", request = "60s", kill_grace = "200ms" }',
                               '[[program]]\nmatch = "*/hangs"\ntimeouts = { start = "2s" }\n')
    # Sudden deaths may cause log lines of any level.
    bridge.allow_log("worker|zygote|program")
    return bridge


def warm(bridge, script):
    """Waits until the program has a zygote."""
    bridge.request(script)
    wait_until(lambda: bridge.wait_warm(script)["zygote_pid"], "it has a zygote", 20)
    entry = bridge.program(script)
    assert entry["zygote_pid"]
    return entry


def test_a_zygote_that_is_killed_is_replaced(site, bridge):
    script = site.cgi_bin / "pid"
    for _ in range(3):
        zygote = warm(bridge, script)["zygote_pid"]
        # One that dies before its checkpoint is not simply replaced.
        wait_until(lambda: f"zygote={zygote}: ready" in bridge.log(), "it is at its checkpoint")
        os.kill(zygote, signal.SIGKILL)
        wait_until(lambda: not alive(zygote), "it is dead")
        for _ in range(5):
            assert bridge.request(script).status == 200
    wait_until(lambda: bridge.program(script)["zygote_pid"], "there is another", 15)


def test_idle_workers_that_are_killed_are_replaced(site, bridge):
    script = site.cgi_bin / "pid"
    for _ in range(5):
        killed = warm(bridge, script)["worker_pids"]
        for pid in killed:
            processes.kill_quietly(pid)
        # A worker that dies during a request is another matter.
        wait_until(lambda: not any(alive(pid) for pid in killed), "they are dead")
        for _ in range(3):
            assert bridge.request(script).status == 200
    bridge.wait_warm(script)


def test_workers_killed_in_mid_request_cost_that_request_only(site, bridge):
    script = site.perl("sleeper", r"""
        $| = 1; print "Content-Type: text/plain\n\nstarted $$\n";
        sleep $ENV{QUERY_STRING}; print "ended\n";
        """)
    bridge.request(script, query="0")
    bridge.wait_warm(script)
    with bridge.connect() as peer:
        for id in (1, 2):
            peer.start(script, query={1: "60", 2: "1"}[id], id=id)
        pid = int(peer.wait_for_output(b"started ", 1).split()[-1])
        os.kill(pid, signal.SIGKILL)
        broken = peer.response(1)
        assert broken.app_status != 0
        assert peer.response(2).body.endswith(b"ended\n")


def test_a_zygote_that_hangs_holds_no_request(site, bridge):
    script = site.cgi_bin / "pid"
    entry = warm(bridge, script)
    os.kill(entry["zygote_pid"], signal.SIGSTOP)
    try:
        for _ in range(8):
            # Fails after 10 s, which is shorter than a request may take.
            assert bridge.request(script, seconds=10).status == 200
    finally:
        processes.kill_quietly(entry["zygote_pid"], signal.SIGCONT)


def test_a_program_that_hangs_before_its_checkpoint_is_answered_classic(site, bridge):
    script = site.perl("hangs", """
        BEGIN { sleep 60 if $ENV{LD_PRELOAD} || $ENV{CGIBRIDGE_CHECKPOINT} }
        BEGIN { select undef, undef, undef, 0.01 }
        print "Content-Type: text/plain\\n\\nanswered\\n";
        """)
    for _ in range(3):
        assert bridge.request(script).body == b"answered\n"


def test_a_program_that_dies_before_its_checkpoint_is_not_started_forever(site, bridge):
    script = site.python("dies", """
        import os
        os.kill(os.getpid(), 9)
        """)
    for _ in range(5):
        assert bridge.request(script).status == 502
    time.sleep(1)
    assert len(bridge.log().splitlines()) < 100


def test_a_program_that_closes_all_its_descriptors_is_answered(site, bridge):
    script = site.python("closes", """
        import os, sys
        print("Content-Type: text/plain\\n\\nbody", flush=True)
        os.closerange(0, 1000)
        os._exit(0)
        """)
    for _ in range(4):
        assert bridge.request(script).body == b"body\n"
        time.sleep(0.05)


def test_a_program_that_forks_and_lets_its_child_run_to_the_end_is_answered_once(site, bridge):
    script = site.perl("forks", """
        $| = 1;
        print "Content-Type: text/plain\\n\\n";
        my $child = fork;
        print $child ? "parent\\n" : "child\\n";
        waitpid $child, 0 if $child;
        """)
    for _ in range(10):
        assert sorted(bridge.request(script).body.split()) == [b"child", b"parent"]


def test_out_of_descriptors_the_bridge_refuses_and_recovers(site):
    hello = programs.hello(site)
    bridge = site.prepare_bridge('mode = "classic"')
    bridge.start(["/bin/sh", "-c", 'ulimit -n 64; exec "$@"', "limited"])
    bridge.allow_log(".")
    # The first time the sanitizers check a type, they need descriptors themselves.
    assert bridge.request(hello).body == b"hello\n"
    bridge.connect().close()
    peers = []
    try:
        for _ in range(80):
            peers.append(bridge.connect())
        bridge.expect_log("connections are open")
    finally:
        for peer in peers:
            peer.close()
    wait_until(lambda: bridge.request(hello).body == b"hello\n", "it answers again")


def test_a_full_process_table_is_an_error_not_an_end(site):
    """A program may fail to start; the next one starts."""
    big = site.script("not-a-program", "\x00\x01\x02 no format at all")
    hello = programs.hello(site)
    bridge = site.start_bridge('mode = "classic"')
    bridge.allow_log("not-a-program")
    assert bridge.request(big).status in (500, 502)
    assert bridge.request(hello).body == b"hello\n"


def test_sigterm_twice_stops_at_once(site):
    sleeper = programs.sleeper(site)
    bridge = site.start_bridge('mode = "classic"\ntimeouts = { kill_grace = "100ms" }')
    bridge.allow_log(".")
    with bridge.connect() as peer:
        peer.start(sleeper)
        peer.wait_for_output(b"started")
        os.kill(bridge.pid, signal.SIGTERM)
        bridge.expect_log("SIGTERM: draining")  # two signals that are still pending count as one
        os.kill(bridge.pid, signal.SIGTERM)
        bridge.expect_end(5)
