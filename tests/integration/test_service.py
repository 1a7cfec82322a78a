"""The bridge under a service manager, and what happens when the bridge itself is killed."""

import os
import signal
import socket
import time

import pytest

from harness import processes, programs
from harness.fastcgi import Peer, whole_request
from harness.processes import alive, wait_until
from harness.service_manager import ServiceManager


@pytest.mark.parametrize("abstract", [False, True])
def test_it_says_when_it_serves_that_it_lives_and_that_it_ends(site, abstract):
    path = f"{site.folder}/notify.sock"
    name = "@" + path if abstract else path
    with ServiceManager("\0" + path if abstract else path) as manager:
        bridge = site.prepare_bridge('mode = "classic"')
        bridge.start(env={"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "200000"})
        assert f"MAINPID={bridge.pid}" in manager.expect("READY=1")
        for _ in range(3):
            manager.expect("WATCHDOG=1")
        bridge.expect_clean_stop()
        manager.expect("STOPPING=1")
    if not abstract:
        os.unlink(path)


def test_a_watchdog_that_is_meant_for_another_process_is_left_alone(site):
    path = f"{site.folder}/notify.sock"
    with ServiceManager(path) as manager:
        bridge = site.prepare_bridge('mode = "classic"')
        bridge.start(env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "100000", "WATCHDOG_PID": "1"})
        manager.expect("READY=1")
        bridge.expect_clean_stop()
        assert manager.next()[0] == "STOPPING=1"
    os.unlink(path)


def test_a_manager_whose_queue_is_full_misses_signs_of_life_but_not_the_end(site):
    path = f"{site.folder}/notify.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        bridge = site.prepare_bridge('mode = "classic"')
        bridge.start(env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "10000"})
        bridge.expect_log('does not hear "WATCHDOG=1"')
        os.kill(bridge.pid, signal.SIGTERM)
        time.sleep(0.3)  # the queue is still full when the bridge reports its end
        manager.settimeout(20)
        while not manager.recv(4096).startswith(b"STOPPING=1"):
            pass
    bridge.expect_end()
    os.unlink(path)


def test_a_manager_that_is_gone_hinders_nothing(site):
    bridge = site.prepare_bridge('mode = "classic"')
    bridge.start(env={"NOTIFY_SOCKET": f"{site.folder}/nobody"})
    assert bridge.request(programs.hello(site)).body == b"hello\n"


# ---- a bridge that is killed ----

def busy_peer(bridge, script):
    peer = bridge.connect()
    peer.start(script, query="60")
    return peer, int(peer.wait_for_output(b"started ").split()[-1])


@pytest.mark.parametrize("defaults", [
    'mode = "classic"', 'mode = "persistent"', 'mode = "persistent"\nreset = "fork"'])
def test_its_zygotes_workers_and_programs_end_with_it(site, defaults):
    sleeper = programs.sleeper(site)
    hello = programs.pid(site)
    script = site.python("module", """
        import json
        print("Content-Type: text/plain\\n\\n%d" % __import__("os").getpid())
        """)
    bridge = site.start_bridge(defaults)
    for program in (hello, script, sleeper):
        bridge.request(program, query="0")
        if "persistent" in defaults:
            bridge.wait_warm(program)
    peer, _ = busy_peer(bridge, sleeper)
    with peer:
        # sleep(1) is the shell's child: it runs to its own end, as under any web server.
        sleeping = wait_until(lambda: [pid for pid in processes.descendants_of(bridge.pid)
                                       if pid not in processes.children_of(bridge.pid)], "it sleeps")
        own = processes.children_of(bridge.pid)
        bridge.kill()
        wait_until(lambda: not any(alive(pid) for pid in own), "all are gone", 5)
    for pid in sleeping:
        processes.kill_quietly(pid)
    for address in (bridge.address, bridge.control):
        os.unlink(address)


def test_programs_that_speak_fastcgi_end_with_it(site):
    script = site.perl("speaks", """
        use FCGI;
        my $request = FCGI::Request();
        print "Content-Type: text/plain\\n\\n$$\\n" while $request->Accept() >= 0;
        """)
    bridge = site.start_bridge('mode = "persistent"\nlaunch = "fastcgi"\n')
    pid = int(bridge.request(script).body)
    bridge.kill()
    wait_until(lambda: not alive(pid), "it is gone", 5)
    for address in (bridge.address, bridge.control):
        os.unlink(address)


def test_a_node_process_that_waits_ahead_of_need_ends_with_it(site):
    script = site.script("ahead", """
        #!/usr/bin/node
        process.stdout.write("Content-Type: text/plain\\n\\n" + process.pid + "\\n");
        """)
    bridge = site.start_bridge('mode = "persistent"\n')
    bridge.request(script)
    bridge.wait_warm(script)
    workers = processes.children_of(bridge.pid)
    bridge.kill()
    wait_until(lambda: not any(alive(pid) for pid in workers), "all are gone", 5)
    for address in (bridge.address, bridge.control):
        os.unlink(address)


def start_on(site, listener):
    """Starts a bridge with that listening socket on descriptor 3, as systemd does."""
    bridge = site.prepare_bridge('mode = "persistent"', listen=[])
    bridge.addresses = []
    script = 'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@" 3<&%d' % listener.fileno()
    return bridge.start(["/bin/bash", "-c", script, "systemd"], pass_fds=[listener.fileno()])


def test_its_restart_serves_those_that_came_meanwhile(site):
    hello = programs.hello(site)
    path = str(site.folder / "held.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(100)
        bridge = start_on(site, listener)
        with Peer(path) as peer:
            assert peer.request(hello).body == b"hello\n"
        os.kill(bridge.pid, signal.SIGKILL)
        bridge.kill()
        waiting = [Peer(path) for _ in range(20)]
        for peer in waiting:
            peer.send(whole_request(hello, keep=False))
        start_on(site, listener)
        for peer in waiting:
            assert peer.response().body == b"hello\n"
            peer.close()
    os.unlink(path)
