"""`cgibridge upgrade`: the binary is started again on the same sockets, and nobody notices."""

import json
import os
import signal
import socket
import subprocess
import threading

import pytest

from harness import cgroups, processes, programs
from harness.bridge import BINARY, environment
from harness.fastcgi import Closed, Peer, begin, variables_for
from harness.processes import SANITIZED, alive, wait_until
from harness.service_manager import ServiceManager

WARM = 'mode = "persistent"\narm_header = "X-CGI-Arm"\n'


class Upgraded:
    """A bridge whose process changes. The harness ends the first process; this class ends the others."""

    def __init__(self, bridge):
        self.bridge = bridge
        self.pids = [bridge.pid]

    @property
    def pid(self):
        return self.pids[-1]

    def upgrade(self, by_signal=False):
        if by_signal:
            os.kill(self.pid, signal.SIGUSR2)
        else:
            self.bridge.command("upgrade", seconds=60)
        wait_until(lambda: self.bridge.status()["bridge"]["pid"] != self.pid, "another one serves")
        self.pids.append(self.bridge.status()["bridge"]["pid"])
        return self.pid

    def expect_old_ones_gone(self, seconds=40):
        wait_until(lambda: not any(alive(pid) for pid in self.pids[:-1]), "the old ones end", seconds)
        assert self.bridge._process.wait(1) == 0

    def stop(self):
        os.kill(self.pid, signal.SIGTERM)
        wait_until(lambda: not alive(self.pid), "the last one ends", 30)
        self.bridge.stopped = True
        for address in [*self.bridge.addresses, self.bridge.control]:
            assert isinstance(address, tuple) or not os.path.exists(address), "left behind"


@pytest.fixture
def upgraded(site):
    made = []

    def of(bridge):
        made.append(Upgraded(bridge))
        return made[-1]
    yield of
    for one in made:
        for pid in one.pids:
            if not one.bridge.stopped:
                processes.kill_quietly(pid)


class Load:
    """Clients that send requests without a pause, some over connections that stay open, as nginx does."""

    def __init__(self, bridge, scripts, clients=4):
        self.bridge, self.scripts = bridge, scripts
        self.wrong, self.answers = [], 0
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(clients)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, number):
        keep = number % 2 == 0
        peer = self.bridge.connect()
        body = b"b" * (200 if number % 4 < 2 else 0)
        try:
            while not self._over.is_set():
                for script in self.scripts:
                    if not keep:
                        peer.close()
                        peer = self.bridge.connect()
                    answer = peer.request(script, "POST" if body else "GET", body=body, keep=keep)
                    if answer.status != 200 or answer.head.get("x-cgi-arm") != "rewind":
                        self.wrong.append(answer)
                    self.answers += 1
        except Exception as failed:  # whatever the reason, a request has failed
            self.wrong.append(failed)
        finally:
            peer.close()


def warm_scripts(site, bridge):
    scripts = [programs.pid(site), site.perl("perl", 'print "Content-Type: text/plain\\n\\n$$\\n";'),
               site.python("python", 'import json; print("Content-Type: text/plain\\n\\nx")')]
    for script in scripts:
        bridge.request(script)
        bridge.wait_warm(script)
    # The learned modules have made another generation.
    for script in scripts:
        bridge.request(script)
        wait_until(lambda: (lambda it: it["generation"] == it["newest_generation"]
                            and it["workers"]["idle"] > 0)(bridge.program(script)), "it is settled")
    return scripts


def upgrade_often(site, upgraded, times):
    bridge = site.start_bridge(WARM)
    scripts = warm_scripts(site, bridge)
    it = upgraded(bridge)
    with Load(bridge, scripts) as load:
        for _ in range(times):
            before = load.answers
            it.upgrade()
            wait_until(lambda: load.answers > before + 20 or load.wrong, "clients are answered")
            assert not load.wrong, load.wrong[0]
    assert not load.wrong, load.wrong[0]
    it.expect_old_ones_gone()
    it.stop()


def test_no_request_fails_or_is_answered_cold(site, upgraded):
    upgrade_often(site, upgraded, 2 if SANITIZED else 5)


@pytest.mark.slow
@pytest.mark.plain_build
def test_a_hundred_in_a_row(site, upgraded):
    upgrade_often(site, upgraded, 100)


def test_a_status_that_the_old_one_drops_is_asked_of_its_successor(site):
    """The socket's path leads to one that ends every connection, and then to the bridge."""
    bridge = site.start_bridge(WARM)
    path = site.folder / "moving.control"

    def drop_one():
        with listener.accept()[0]:
            os.unlink(path)
            os.symlink(bridge.control, path)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(1)
        dropping = threading.Thread(target=drop_one)
        dropping.start()
        done = subprocess.run([str(BINARY), "status", "--json", "--control", str(path)], env=environment(),
                              capture_output=True, text=True, timeout=40)
        dropping.join()
    os.unlink(path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bridge"]["pid"] == bridge.pid


def test_sigusr2_asks_for_one_as_well(site, upgraded):
    script = programs.hello(site)
    it = upgraded(site.start_bridge(WARM))
    assert it.bridge.request(script).body == b"hello\n"
    it.upgrade(by_signal=True)
    assert it.bridge.request(script).body == b"hello\n"
    it.expect_old_ones_gone()
    it.stop()


def reload_often(site, times):
    """Changes the settings each time, which makes another generation that takes over when it is warm."""
    bridge = site.start_bridge(WARM)
    scripts = warm_scripts(site, bridge)[:2]
    with Load(bridge, scripts) as load:
        for number in range(times):
            before = [bridge.program(script)["generation"] for script in scripts]
            site.rewrite_config(WARM + f'env = {{ ROUND = "{number}" }}\n')
            bridge.hangup()
            wait_until(lambda: load.wrong or all(
                bridge.program(script)["generation"] > old for script, old in zip(scripts, before)),
                "other generations serve", 30)
            assert not load.wrong, load.wrong[0]
    assert not load.wrong, load.wrong[0]


def test_no_request_fails_or_is_answered_cold_over_other_settings(site):
    reload_often(site, 2 if SANITIZED else 5)


@pytest.mark.slow
@pytest.mark.plain_build
def test_settings_changed_a_hundred_times_in_a_row(site):
    reload_often(site, 100)


def test_a_request_that_runs_is_answered_by_the_old_one(site, upgraded):
    over = site.folder / "over"
    long = site.sh("long", f"""
        printf 'Content-Type: text/plain\\n\\nstarted\\n'
        while [ ! -e {over} ]; do sleep 0.1; done
        echo ended
        """)
    bridge = site.start_bridge('mode = "classic"\n')
    it = upgraded(bridge)
    with bridge.connect() as peer:
        peer.start(long)
        peer.wait_for_output(b"started\n")
        it.upgrade()
        assert alive(it.pids[0])
        over.touch()
        assert peer.response().body.endswith(b"ended\n")
        # The same connection, now with the new process at its other end.
        assert peer.request(programs.hello(site)).body == b"hello\n"
        it.expect_old_ones_gone()
        assert peer.request(programs.hello(site)).body == b"hello\n"
    it.stop()


def test_a_connection_passes_through_several_bridges(site, upgraded):
    """The first one still has a request when the second has handed over to the third. What the first one
    passes on then goes through the second, which stays for that."""
    over = site.folder / "over"
    long = site.sh("long", f"""
        printf 'Content-Type: text/plain\\n\\nstarted\\n'
        while [ ! -e {over} ]; do sleep 0.1; done
        echo ended
        """)
    hello = programs.hello(site)
    it = upgraded(site.start_bridge('mode = "classic"\n'))
    with it.bridge.connect() as peer:
        peer.start(long)
        peer.wait_for_output(b"started\n")
        for _ in range(3):
            it.upgrade()
        assert it.bridge.request(hello).body == b"hello\n"
        assert all(alive(pid) for pid in it.pids)
        over.touch()
        assert peer.response().body.endswith(b"ended\n")
        assert peer.request(hello).body == b"hello\n"
        it.expect_old_ones_gone()
        assert peer.request(hello).body == b"hello\n"
    it.stop()


def test_half_a_request_is_not_lost(site, upgraded):
    """The part that has arrived stays with the old bridge, which waits for the rest."""
    hello = programs.hello(site)
    bridge = site.start_bridge('mode = "classic"\n')
    it = upgraded(bridge)
    with bridge.connect() as peer, bridge.connect() as cut:
        peer.begin()
        cut.send(begin()[:5])
        wait_until(lambda: bridge.status()["bridge"]["connections"] == 2, "both are there")
        it.upgrade()
        peer.params(variables_for(hello))
        peer.stdin(b"")
        assert peer.response().body == b"hello\n"
        cut.send(begin()[5:])
        cut.params(variables_for(hello))
        cut.stdin(b"")
        assert cut.response().body == b"hello\n"
        it.expect_old_ones_gone()
        assert peer.request(hello).body == cut.request(hello).body == b"hello\n"
    it.stop()


def test_behind_nginx_with_connections_that_stay_open(site, upgraded):
    bridge = site.start_bridge(WARM)
    scripts = warm_scripts(site, bridge)
    nginx = site.start_nginx(bridge, keep_alive=True)
    it = upgraded(bridge)
    target = "/cgi-bin/" + scripts[0].name
    assert nginx.send_request(target).status == 200
    for _ in range(2):
        it.upgrade()
        for _ in range(10):
            assert nginx.send_request(target).status == 200
    nginx.stop()
    it.expect_old_ones_gone()
    it.stop()


def test_a_new_process_that_does_not_start_leaves_the_old_one_serving(site):
    hello = programs.hello(site)
    bridge = site.start_bridge('mode = "classic"\n')
    good = bridge.config.read_text()
    bridge.write_settings(good + "\nnonsense = 1\n")
    said = bridge.command("upgrade", expect=1, seconds=60)
    assert "the new process does not take over" in said and "nonsense" in said
    bridge.expect_log("nonsense|settings|upgrade|not started|error")
    assert bridge.request(hello).body == b"hello\n"
    bridge.write_settings(good)
    assert bridge.status()["bridge"]["pid"] == bridge.pid


def test_addresses_that_the_settings_have_no_more_are_given_up(site, upgraded):
    hello = programs.hello(site)
    old, port = site.folder / "old.sock", processes.free_port()
    bridge = site.start_bridge('mode = "classic"', listen=[f"unix:{site.folder}/fastcgi.sock",
                                                           f"unix:{old}", f"127.0.0.1:{port}"])
    it = upgraded(bridge)
    text = bridge.config.read_text()
    bridge.write_settings(text.replace(f', "unix:{old}", "127.0.0.1:{port}"', ""))
    assert bridge.config.read_text() != text
    bridge.expect_log("bridge.listen has changed, which only a restart or an upgrade takes over")
    it.upgrade()
    it.expect_old_ones_gone()
    assert bridge.request(hello).body == b"hello\n"
    assert not old.exists() and not processes.accepts(("127.0.0.1", port))
    bridge.expect_log(f"127.0.0.1:{port} is no longer in the settings")
    it.stop()


def test_bound_sockets_stay_bound_for_open_connections_too(site, upgraded):
    hello, other = programs.hello(site), programs.report(site)
    path = f"{site.folder}/bound.sock"
    bridge = site.start_bridge('mode = "classic"', bridge=f'bound = {{ "unix:{path}" = "{hello}" }}\n')
    it = upgraded(bridge)
    with Peer(path) as kept:
        assert kept.request(other, keep=True).body == b"hello\n"
        it.upgrade()
        it.expect_old_ones_gone()
        assert kept.request(other, keep=True).body == b"hello\n"
    with Peer(path) as new:
        assert new.request(other).body == b"hello\n"
    assert bridge.request(other).body != b"hello\n"
    it.stop()


def test_the_service_manager_is_told_of_the_new_process(site, upgraded):
    path = f"{site.folder}/notify.sock"
    with ServiceManager(path) as manager:
        bridge = site.prepare_bridge('mode = "classic"')
        bridge.start(env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "500000",
                          "WATCHDOG_PID": "0"})
        it = upgraded(bridge)
        manager.expect(f"MAINPID={it.upgrade()}")
        manager.expect("WATCHDOG=1")
        it.expect_old_ones_gone()
        it.stop()
    os.unlink(path)


@pytest.mark.parametrize("listed", [False, True], ids=["not-in-the-settings", "in-the-settings"])
def test_sockets_that_were_handed_over_at_the_start_are_handed_on(site, upgraded, listed):
    hello = programs.hello(site)
    path = str(site.folder / "systemd.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        bridge = site.prepare_bridge('mode = "classic"', listen=[f"unix:{path}"] if listed else [])
        script = 'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@" 3<&%d' % listener.fileno()
        bridge.start(["/bin/bash", "-c", script, "systemd"], pass_fds=[listener.fileno()])
        bridge.addresses = []
        it = upgraded(bridge)
        it.upgrade()
        it.upgrade()
        it.expect_old_ones_gone()
        with Peer(path) as peer:
            assert peer.request(hello).body == b"hello\n"
        it.stop()
    os.unlink(path)  # it belongs to whoever made it, and is still there


@pytest.mark.root
def test_who_may_connect_and_whom_programs_run_as_hold_on(site, upgraded):
    script = site.sh("who", "printf 'Content-Type: text/plain\\n\\n'; id -u\n")
    bridge = site.start_bridge('mode = "classic"\nuser = "www-data"\n')
    assert bridge.request(script).body == b"33\n"
    it = upgraded(bridge)
    it.upgrade()
    assert bridge.request(script).body == b"33\n"
    it.expect_old_ones_gone()
    it.stop()

    bridge = site.start_bridge('mode = "classic"', bridge='allow = { users = ["nobody"] }\n',
                               name="closed.toml", listen=[f"unix:{site.folder}/closed.sock"])
    it = upgraded(bridge)
    for _ in range(2):
        with bridge.connect() as peer, pytest.raises((Closed, ConnectionError)):
            peer.request(script)
        it.upgrade()
    it.expect_old_ones_gone()
    it.stop()


@pytest.mark.root
def test_limits_of_cgroups_hold_on(site, upgraded):
    cgroups.need(site)
    script = programs.hello(site)
    bridge = site.start_bridge('mode = "persistent"\nlimits = { processes = 50 }')
    bridge.request(script)
    bridge.wait_warm(script)
    it = upgraded(bridge)
    it.upgrade()
    it.expect_old_ones_gone()
    entry = bridge.wait_warm(script)
    held = set().union(*(cgroups.holding(folder) for folder in cgroups.of_program(bridge, script)))
    assert {entry["zygote_pid"], *entry["worker_pids"]} <= held
    assert cgroups.file_of(bridge, script, "pids.max") == "50"
    folders = cgroups.folders(bridge)
    it.stop()
    assert folders and not [folder for folder in folders if folder.exists()]


@pytest.mark.root
@pytest.mark.parametrize("how", ['mode = "classic"', 'reset = "rewind"', 'reset = "fork"'])
def test_a_sandbox_holds_on(site, upgraded, how):
    script = site.sh("touch", """
        printf 'Content-Type: text/plain\\n\\n'
        (: > /var/tmp/cgibridge-test-escape) 2> /dev/null && echo out || echo kept
        """)
    bridge = site.start_bridge(f'{how}\nsandbox = {{ read_only = true, best_effort = true }}\n')
    it = upgraded(bridge)
    for _ in range(2):
        for _ in range(4):
            assert bridge.request(script).body == b"kept\n"
            if "reset" in how:
                bridge.wait_warm(script)
        assert bridge.program(script)["sandbox"].startswith("read_only")
        it.upgrade()
    it.expect_old_ones_gone()
    it.stop()
