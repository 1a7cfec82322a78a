"""Who may connect: who owns the sockets, and which users and addresses are allowed."""

import os
import pathlib
import socket
import stat
import subprocess

import pytest

from harness import processes, programs
from harness.bridge import BINARY, environment

NOBODY = 65534  # nobody:nogroup, on every Debian
WWW = 33        # www-data
AS_NOBODY = processes.as_user(NOBODY)

ASK = r"""
import socket, sys
peer = socket.socket(socket.AF_UNIX)
peer.settimeout(20)
try:
    peer.connect(sys.argv[1])
    # FCGI_GET_VALUES: a bridge that takes the connection answers it.
    peer.sendall(bytes([1, 9, 0, 0, 0, 0, 0, 0]))
    print("answered" if peer.recv(100) else "closed")
except PermissionError:
    print("denied")
except (ConnectionResetError, BrokenPipeError):
    print("closed")
"""


def ask_as(uid, address):
    """What a process of that user receives from a socket."""
    return processes.run_as(uid, ASK, address)


class TestSockets:
    @pytest.mark.root
    def test_belong_to_whom_the_settings_name(self, site):
        bridge = site.start_bridge(bridge="""
            socket_mode = "0660"
            socket_owner = "www-data"
            socket_group = "65534"
            """)
        found = os.stat(bridge.address)
        assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (WWW, NOBODY, 0o660)
        assert ask_as(WWW, bridge.address) == "answered"
        assert ask_as(1, bridge.address) == "denied"
        assert ask_as(WWW, bridge.control) == "denied"

    @pytest.mark.root
    def test_that_cannot_be_given_away_end_the_start(self, site):
        os.chown(site.folder, NOBODY, NOBODY)
        bridge = site.prepare_bridge(bridge='socket_owner = "www-data"\n')
        done = subprocess.run([*AS_NOBODY, str(BINARY), "serve", "--config", str(bridge.config)],
                              capture_output=True, text=True, env=environment(), timeout=30)
        assert done.returncode == 1
        assert "give it to its owner or group: Operation not permitted" in done.stderr
        assert not pathlib.Path(bridge.address).exists()

    @pytest.mark.root
    def test_refuse_users_that_are_not_allowed(self, site):
        hello = programs.hello(site)
        bridge = site.start_bridge('mode = "classic"', bridge='allow.users = ["root", "33"]\n')
        assert bridge.request(hello).body == b"hello\n"
        assert ask_as(WWW, bridge.address) == "answered"
        assert ask_as(NOBODY, bridge.address) == "closed"
        bridge.expect_log("a connection is refused: uid 65534 is not in bridge.allow.users")
        assert bridge.status()["bridge"]["peers_refused"] == 1
        assert "cgibridge_peers_refused_total 1" in bridge.command("status", "--openmetrics")
        site.rewrite_config('mode = "classic"', bridge="")
        bridge.command("reload")
        assert ask_as(NOBODY, bridge.address) == "answered"

    def test_refuse_addresses_that_are_not_allowed(self, site):
        hello = programs.hello(site)
        listen = [f"127.0.0.1:{processes.free_port()}", f"unix:{site.folder}/fastcgi.sock"]
        bridge = site.start_bridge('mode = "classic"', listen=listen,
                                   bridge='allow.addresses = ["192.0.2.0/24"]\n')
        with socket.create_connection(bridge.address, 10) as peer:
            assert peer.recv(1) == b""
        bridge.expect_log("127.0.0.1 is not in bridge.allow.addresses")
        with bridge.connect(1) as peer:
            assert peer.request(hello).body == b"hello\n", "unix sockets have no address"
        site.rewrite_config('mode = "classic"', listen=listen, bridge='allow.addresses = ["127.0.0.1"]\n')
        bridge.command("reload")
        assert bridge.request(hello).body == b"hello\n"


    def test_that_all_can_reach_are_told_of(self, site):
        bridge = site.start_bridge(listen=[f"0.0.0.0:{processes.free_port()}"])
        bridge.expect_log(r"0\.0\.0\.0:\d+: whoever reaches it can run programs")

    def test_keep_to_what_the_web_server_that_starts_it_says(self, site):
        """FastCGI 1.0 §3.2."""
        bridge = site.prepare_bridge('mode = "classic"', listen=[f"127.0.0.1:{processes.free_port()}"])
        bridge.start(env={"FCGI_WEB_SERVER_ADDRS": "192.0.2.7,192.0.2.8"})
        with socket.create_connection(bridge.address, 10) as peer:
            assert peer.recv(1) == b""
        bridge.expect_log("a connection is refused: 127.0.0.1 ")
