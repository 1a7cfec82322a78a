"""Where a bridge listens: on its own sockets, and on those handed over to it."""

import os
import signal
import socket
import stat
import subprocess

import pytest

from harness import processes, programs
from harness.bridge import BINARY, Bridge, environment
from harness.fastcgi import Peer


def test_several_listeners_answer_alike(site):
    hello = programs.hello(site)
    listen = [f"unix:{site.folder}/one.sock", f"unix:{site.folder}/two.sock",
              f"127.0.0.1:{processes.free_port()}"]
    bridge = site.start_bridge('mode = "classic"', listen=listen)
    for which in range(3):
        with bridge.connect(which) as peer:
            assert peer.request(hello).body == b"hello\n"


def test_a_unix_socket_has_the_permissions_asked_for(site):
    bridge = site.start_bridge(bridge='socket_mode = "0600"\n')
    assert stat.S_IMODE(os.stat(bridge.address).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(bridge.control).st_mode) & 0o007 == 0


def test_a_stale_socket_file_does_not_hinder_the_start(site):
    path = site.folder / "fastcgi.sock"
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))
    left.close()
    hello = programs.hello(site)
    bridge = site.start_bridge('mode = "classic"')
    assert bridge.request(hello).body == b"hello\n"


def test_a_socket_in_use_is_not_taken_over(site):
    hello = programs.hello(site)
    bridge = site.start_bridge('mode = "classic"')
    second = site.prepare_bridge('mode = "classic"', name="second.toml")
    done = site.cgibridge("serve", "--config", second.config, expect=None, seconds=10)
    assert done.returncode not in (0, None)
    assert "fastcgi.sock" in done.stderr
    assert bridge.request(hello).body == b"hello\n"


def test_a_bridge_leaves_alone_what_took_the_place_of_its_sockets(site):
    bridge = site.start_bridge('mode = "classic"')
    others = []
    for path in (bridge.address, bridge.control):
        os.unlink(path)
        others.append(socket.socket(socket.AF_UNIX))
        others[-1].bind(str(path))
    os.kill(bridge.pid, signal.SIGTERM)
    bridge.expect_end()
    for other, path in zip(others, (bridge.address, bridge.control)):
        other.close()
        os.unlink(path)


def test_a_port_in_use_is_named_and_ends_the_start(site):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        second = site.prepare_bridge(listen=[f"127.0.0.1:{port}"])
        done = site.cgibridge("serve", "--config", second.config, expect=None, seconds=10)
    assert done.returncode not in (0, None)
    assert str(port) in done.stderr
    assert not second.control.exists()


def start_with_inherited(site, bridge, pass_socket):
    """Starts the bridge with a listening socket on descriptor 3, as systemd does."""
    # dash supports only descriptors of one digit.
    script = 'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@" 3<&%d' % pass_socket.fileno()
    return bridge.start(["/bin/bash", "-c", script, "systemd"], pass_fds=[pass_socket.fileno()])


def test_sockets_of_systemd_are_served(site):
    hello = programs.hello(site)
    for family in (socket.AF_INET, socket.AF_UNIX):
        with socket.socket(family) as listener:
            path = str(site.folder / "systemd.sock")
            listener.bind(("127.0.0.1", 0) if family == socket.AF_INET else path)
            listener.listen()
            bridge = site.prepare_bridge('mode = "classic"', listen=[])
            bridge.addresses = []
            start_with_inherited(site, bridge, listener)
            address = listener.getsockname()
            with Peer(address) as peer:
                assert peer.request(hello).body == b"hello\n"
            bridge.expect_clean_stop()
            # The bridge must not remove a socket that it did not make.
            if family == socket.AF_UNIX:
                assert os.path.exists(path)
                os.unlink(path)


@pytest.mark.parametrize("family", ["unix", "inet"])
def test_a_socket_of_systemd_may_be_in_the_settings_as_well(site, family):
    """So the socket unit can be switched on or off without a change of the settings."""
    hello = programs.hello(site)
    path = str(site.folder / "systemd.sock")
    with socket.socket(socket.AF_UNIX if family == "unix" else socket.AF_INET) as listener:
        listener.bind(path if family == "unix" else ("127.0.0.1", 0))
        listener.listen()
        address = listener.getsockname()
        bridge = site.prepare_bridge('mode = "classic"', listen=[
            f"unix:{path}" if family == "unix" else f"127.0.0.1:{address[1]}"])
        bridge.addresses = []
        start_with_inherited(site, bridge, listener)
        with Peer(address) as peer:
            assert peer.request(hello).body == b"hello\n"
        bridge.expect_clean_stop()
        if family == "unix":
            assert os.path.exists(path)  # the file belongs to whoever made it
            os.unlink(path)


def test_inherited_sockets_do_not_reach_programs(site):
    report = site.python("fds", """
        import os
        print("Content-Type: text/plain\\n")
        print(" ".join(sorted(name for name in os.listdir("/proc/self/fd"))))
        print(os.environ.get("LISTEN_FDS"), os.environ.get("LISTEN_PID"))
        """)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        bridge = site.prepare_bridge('mode = "classic"', listen=[])
        start_with_inherited(site, bridge, listener)
        with Peer(listener.getsockname()) as peer:
            lines = peer.request(report).body.decode().splitlines()
    # 3 is the folder that the program itself is listing.
    assert lines == ["0 1 2 3", "None None"]


def test_spawn_fcgi_hands_over_its_socket_on_descriptor_0(site):
    hello = programs.hello(site)
    bridge = site.prepare_bridge('mode = "classic"', listen=[])
    path = site.folder / "spawned.sock"
    # -n: stay in the foreground, so that the bridge is our own child.
    with open(bridge.log_file, "ab") as log:
        bridge._process = subprocess.Popen(
            ["spawn-fcgi", "-n", "-s", str(path), "--", str(BINARY), "serve",
             "--config", str(bridge.config)], stderr=log, stdout=log, env=environment())
    bridge.wait_ready()
    with Peer(path) as peer:
        assert peer.request(hello).body == b"hello\n"
    bridge.expect_clean_stop()
    path.unlink(missing_ok=True)


def test_two_bridges_live_side_by_side(site):
    hello = programs.hello(site)
    first = site.start_bridge('mode = "classic"')
    second = site.start_bridge('mode = "persistent"', name="second.toml",
                               listen=[f"unix:{site.folder}/second.sock"])
    assert first.request(hello).body == second.request(hello).body == b"hello\n"
    assert isinstance(second, Bridge)


def strange_descriptors(folder):
    """What is no listening stream socket: (name, descriptor, what the refusal says)."""
    datagrams, idle, one, pair = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(),
                                  *socket.socketpair())
    packets = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    packets.bind(str(folder / "packets.sock"))
    packets.listen()
    os.unlink(folder / "packets.sock")
    reader, writer = os.pipe()
    os.close(writer)
    return [("file", os.open("/etc/passwd", os.O_RDONLY), "is no socket"), ("pipe", reader, "is no socket"),
            ("folder", os.open("/", os.O_RDONLY), "is no socket"),
            ("path", os.open("/etc/passwd", os.O_PATH), "is no socket"),
            ("datagrams", datagrams.detach(), "is no stream socket"),
            ("packets", packets.detach(), "is no stream socket"),
            ("idle", idle.detach(), "a socket that does not listen"),
            ("one", one.detach(), "a socket that does not listen"),
            ("pair", pair.detach(), "a socket that does not listen")]


def test_what_systemd_hands_over_by_mistake_ends_the_start_with_the_reason(site):
    control = f'[bridge]\nroots = ["{site.cgi_bin}"]\ncontrol = "{site.folder}/c.sock"\n'
    config = site.folder / "by-systemd.toml"
    config.write_text(control)
    script = 'export LISTEN_PID=$$ LISTEN_FDS=$1; exec "$2" serve --config "$3" 3<&%s'

    def started(count, descriptor):
        done = subprocess.run(["/bin/bash", "-c", script % descriptor, "systemd", count, BINARY, config],
                              pass_fds=[] if descriptor == "-" else [descriptor], env=environment(),
                              capture_output=True, text=True, timeout=60)
        print(done.stderr)
        return done.returncode, done.stderr

    for name, descriptor, why in strange_descriptors(site.folder):
        code, said = started("1", descriptor)
        os.close(descriptor)
        assert code == 1 and "systemd's descriptor 3 is " in said and why in said, name
    for count in ("1", "99999"):
        code, said = started(count, "-")
        assert code == 1 and "systemd's descriptor 3 is not open" in said


def test_what_is_attached_by_mistake_is_refused_and_the_bridge_goes_on(site):
    hello = programs.hello(site)
    bridge = site.start_bridge('mode = "classic"')
    for name, descriptor, why in strange_descriptors(site.folder):
        done = subprocess.run([BINARY, "attach", "--control", bridge.control], stdin=descriptor,
                              env=environment(), capture_output=True, text=True, timeout=60)
        os.close(descriptor)
        assert done.returncode == 1 and why in done.stderr, (name, done.stderr)
        assert bridge.request(hello).body == b"hello\n", name
