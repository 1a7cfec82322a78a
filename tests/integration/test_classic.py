"""Classic mode: one process per request, and all the ways in which it can end."""

import os
import re
import signal

import pytest

from harness import fastcgi, processes, programs
from harness.processes import alive, wait_until

# Enough to show a leak of one descriptor or zombie in a hundred; `tests/run slow` does 100,000.
REQUESTS = 2000
REQUESTS_SLOW = 100_000


@pytest.fixture
def bridge(site):
    return site.start_bridge("""
        mode = "classic"
        workers = { max = 4 }
        timeouts = { request = "60s", kill_grace = "300ms" }
        """)


def start_request(peer, script, id=1, **more):
    """A request whose program has printed `started PID`; returns the pid."""
    peer.start(script, id=id, **more)
    output = wait_for_pid(peer, id)
    return int(output)


def wait_for_pid(peer, id):
    output = b""
    while not (found := re.search(rb"started (\d+)\n", output)):
        peer._take()
        output = peer._responses[id].stdout
    return found.group(1)


@pytest.mark.parametrize("leave", ["abort", "close", "reset"])
def test_a_client_that_leaves_ends_the_program_and_its_children(site, bridge, leave):
    notes = site.folder / "pids"
    script = site.sh("family", f"""
        printf 'Content-Type: text/plain\\n\\nstarted %s\\n' $$
        sleep 61 & echo $! > {notes}
        wait
        """)
    peer = bridge.connect()
    pid = start_request(peer, script)
    child = int(wait_until(lambda: notes.exists() and notes.read_text(), "the child is noted"))
    if leave == "abort":
        peer.abort()
        peer.response()
    getattr(peer, "reset" if leave == "reset" else "close")()
    wait_until(lambda: not alive(pid) and not alive(child), "program and child have ended")


def test_a_program_may_tidy_up_at_sigterm(site):
    mark = site.folder / "tidied"
    bridge = site.start_bridge('mode = "classic"\ntimeouts = { kill_grace = "60s" }')
    script = site.sh("tidy", f"""
        trap 'touch {mark}; exit' TERM
        printf 'Content-Type: text/plain\\n\\nstarted %s\\n' $$
        while :; do sleep 0.01; done
        """)
    with bridge.connect() as peer:
        start_request(peer, script)
        peer.abort()
        peer.response()
    wait_until(mark.exists, "the program has tidied up")


def test_a_program_that_ignores_sigterm_is_killed_after_the_grace_time(site, bridge):
    heard = site.folder / "heard"
    script = site.sh("stubborn", f"""
        trap 'echo and goes on >{heard}' TERM
        printf 'Content-Type: text/plain\\n\\nstarted %s\\n' $$
        while :; do sleep 0.01; done
        """)
    with bridge.connect() as peer:
        pid = start_request(peer, script)
        peer.abort()
        wait_until(lambda: not alive(pid), "it was killed")
    # A shell runs its trap when its sleep has ended, so it was given the time.
    assert heard.read_text() == "and goes on\n"


def test_a_request_that_takes_too_long_before_its_head_is_a_504(site):
    script = site.sh("silent", "sleep 60\n")
    bridge = site.start_bridge('mode = "classic"\n'
                               'timeouts = { request = "300ms", kill_grace = "100ms" }')
    bridge.allow_log("silent")
    assert bridge.request(script).status == 504
    bridge.expect_log(r"silent.*(time|took|long)|(time|took|long).*silent")
    wait_until(lambda: not processes.children_of(bridge.pid), "the program has ended")


def test_a_request_that_takes_too_long_in_its_body_is_broken_off(site):
    """A web server must not take the partial answer for the whole: the connection ends without an
    END_REQUEST."""
    script = site.sh("endless", """
        printf 'Content-Type: text/plain\\n\\n'
        while :; do echo tick; sleep 0.02; done
        """)
    bridge = site.start_bridge('mode = "classic"\n'
                               'timeouts = { request = "4s", kill_grace = "100ms" }')
    bridge.allow_log("endless")
    with bridge.connect() as peer:
        peer.start(script)
        found = peer.expect_closed()
    assert any(b"tick" in record.content for record in found)
    assert not any(record.type == fastcgi.END_REQUEST for record in found)


def test_a_program_that_prints_nothing_for_too_long_is_ended(site):
    script = site.sh("quiet", "sleep 60\n")
    bridge = site.start_bridge('mode = "classic"\n'
                               'timeouts = { request = "30s", output = "300ms", kill_grace = "100ms" }')
    bridge.allow_log("quiet")
    assert bridge.request(script).status == 504
    bridge.expect_log(r"no output for 300 ms \(timeouts.output\)")


def test_a_background_child_holds_no_response_and_lives_on(site, bridge):
    notes = site.folder / "child"
    script = site.sh("forking", f"""
        sleep 600 & echo $! > {notes}
        printf 'Content-Type: text/plain\\n\\ndone\\n'
        """)
    response = bridge.request(script)
    assert (response.body, response.app_status) == (b"done\n", 0)
    child = int(notes.read_text())
    site.expect_survivor(child)
    bridge.wait_idle()
    assert alive(child)
    bridge.expect_clean_stop()
    assert alive(child)


def test_a_daemon_in_a_session_of_its_own_lives_on(site, bridge):
    notes = site.folder / "daemon"
    script = site.python("daemon", f"""
        import os, time
        print("Content-Type: text/plain\\n\\nleft", flush=True)
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                open("{notes}", "w").write(str(os.getpid()))
                time.sleep(600)
            os._exit(0)
        os.wait()
        """)
    assert bridge.request(script).body == b"left\n"
    pid = int(wait_until(lambda: notes.exists() and notes.read_text(), "the daemon runs"))
    site.expect_survivor(pid)
    bridge.wait_idle()
    assert alive(pid)


def test_descriptors_are_0_1_2_and_nothing_else(site, bridge):
    script = site.python("fds", """
        import os
        found = []
        for name in sorted(os.listdir("/proc/self/fd"), key=int):
            try:
                found.append(name + "=" + os.readlink("/proc/self/fd/" + name).split(":")[0])
            except FileNotFoundError:
                pass
        print("Content-Type: text/plain\\n\\n" + " ".join(found))
        """)
    found = bridge.request(script).body.decode().split()
    assert [entry.partition("=")[0] for entry in found] == ["0", "1", "2"]


def test_signals_and_limits_are_those_of_a_fresh_process(site, bridge):
    script = site.python("fresh", """
        import os, signal
        status = open("/proc/self/status").read().splitlines()
        wanted = [line for line in status if line.startswith(("SigBlk", "SigIgn"))]
        umask = os.umask(0)
        print("Content-Type: text/plain\\n\\n" + "\\n".join(wanted) + "\\n%o" % umask)
        print(os.getpgrp() == os.getpid())
        """)
    lines = bridge.request(script).body.decode().splitlines()
    assert lines[0].split()[1] == "0" * 16
    # Python itself ignores SIGPIPE (13) and SIGXFSZ (25).
    assert int(lines[1].split()[1], 16) & ~(1 << 12 | 1 << 24) == 0
    assert lines[3] == "True"


def test_no_more_programs_run_at_once_than_workers_max(site, bridge):
    notes = site.folder / "running"
    notes.mkdir()
    script = site.sh("counted", f"""
        touch {notes}/$$
        printf 'Content-Type: text/plain\\n\\n%s\\n' $(ls {notes} | wc -l)
        sleep 0.02
        rm {notes}/$$
        """)
    with bridge.connect() as peer:
        for id in range(1, 31):
            peer.start(script, id=id)
        most = max(int(peer.response(id).body) for id in range(1, 31))
    assert 1 < most <= 4


def test_a_full_queue_and_a_long_wait_are_503(site):
    script = programs.sleeper(site)
    bridge = site.start_bridge("""
        mode = "classic"
        workers = { max = 1 }
        queue = { max = 1, timeout = "300ms" }
        timeouts = { kill_grace = "100ms" }
        """)
    bridge.allow_log("sleeper")
    with bridge.connect() as peer:
        start_request(peer, script, 1)
        for id in (2, 3):
            peer.start(script, id=id)
        assert peer.response(3).status == 503
        assert peer.response(2).status == 503
        peer.abort(1)
        peer.response(1)


def run_many(bridge, script, count):
    with bridge.connect() as peer:
        at_once = 4
        for id in range(1, at_once + 1):
            peer.start(script, id=id)
        left = count - at_once
        done = 0
        while done < count:
            found = peer._take()
            if found.type != 3:
                continue
            response = peer._responses.pop(found.id)
            assert response.body == b"hello\n"
            done += 1
            if left > 0:
                peer.start(script, id=found.id)
                left -= 1


def check_many(site, bridge, script, count):
    run_many(bridge, script, 50)
    before = processes.memory_kib(bridge.pid)
    run_many(bridge, script, count)
    bridge.wait_idle()
    bridge.check_descriptors()
    wait_until(lambda: not processes.zombies_of(bridge.pid), "no zombie is left", 5)
    assert processes.memory_kib(bridge.pid) - before < 4096
    assert bridge.program(script)["requests"] >= count


HELLO_C = r"""
    #include <stdio.h>
    int main(void) { puts("Content-Type: text/plain\n\nhello"); return 0; }
    """


@pytest.mark.plain_build
def test_nothing_leaks_in_thousands_of_requests(site, mode):
    script = site.c("hello", HELLO_C)
    bridge = site.start_bridge(f'mode = "{mode}"')
    check_many(site, bridge, script, REQUESTS)


@pytest.mark.slow
@pytest.mark.plain_build
def test_nothing_leaks_in_a_hundred_thousand_requests(site, mode):
    script = site.c("hello", HELLO_C)
    bridge = site.start_bridge(f'mode = "{mode}"')
    check_many(site, bridge, script, REQUESTS_SLOW)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_a_stop_lets_running_requests_end(site, stop):
    script = programs.sleeper(site)
    bridge = site.start_bridge('mode = "classic"')
    with bridge.connect() as peer:
        start_request(peer, script, query="0.5")
        os.kill(bridge.pid, stop)
        assert peer.response().body.endswith(b"ended\n")
        bridge.expect_end()


def test_a_stop_does_not_wait_longer_than_the_drain_timeout(site):
    script = programs.sleeper(site)
    bridge = site.start_bridge('mode = "classic"\ntimeouts = { kill_grace = "100ms" }',
                               bridge='drain_timeout = "300ms"\n')
    bridge.allow_log("sleeper|drain")
    with bridge.connect() as peer:
        pid = start_request(peer, script)
        os.kill(bridge.pid, signal.SIGTERM)
        bridge.expect_end()
        wait_until(lambda: not alive(pid), "the program has ended")


def test_programs_end_with_a_bridge_that_is_killed(site, mode):
    """Warm workers and zygotes end at once; nothing of the bridge may outlive it for long."""
    script = programs.hello(site)
    bridge = site.start_bridge(f'mode = "{mode}"')
    bridge.request(script)
    if mode == "persistent":
        bridge.wait_warm(script)
    left = processes.descendants_of(bridge.pid)
    bridge.kill()
    wait_until(lambda: not any(alive(pid) for pid in left), "zygotes and workers have ended")
    for path in (bridge.address, bridge.control):
        os.unlink(path)
