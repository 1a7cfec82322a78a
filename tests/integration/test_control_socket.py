"""The control socket: who may give commands, and what input it survives."""

import array
import fcntl
import json
import os
import socket
import termios

import pytest

from harness import processes

NOBODY = 65534

ASK = r"""
import socket, sys
peer = socket.socket(socket.AF_UNIX)
peer.settimeout(20)
try:
    peer.connect(sys.argv[1])
    peer.sendall(b'{"command": "drain"}\n')
    print(peer.recv(10000).decode(), end="")
except PermissionError:
    print("denied")
"""


def ask_as(uid, address):
    return processes.run_as(uid, ASK, address)


@pytest.mark.root
def test_another_user_is_refused_whatever_the_socket_s_mode(site):
    """The socket's mode keeps others out. An operator who opens it (for a group of admins, say) does not
    thereby hand the bridge to them."""
    bridge = site.start_bridge()
    assert ask_as(NOBODY, bridge.control) == "denied"
    os.chmod(bridge.control, 0o666)
    assert json.loads(ask_as(NOBODY, bridge.control)) == {
        "ok": False, "error": "uid 65534 may not steer this bridge, root alone may"}
    bridge.expect_log("control socket: drain is refused: uid 65534 may not steer this bridge")
    status = bridge.status()["bridge"]
    assert status["peers_refused"] == 1 and status["draining"] is False


def test_descriptors_that_nobody_asked_for_are_closed(site):
    bridge = site.start_bridge()
    before = len(os.listdir(f"/proc/{bridge.pid}/fd"))
    for count in (1, 2, 3, 10):
        with socket.socket(socket.AF_UNIX) as peer, open("/dev/null", "rb") as null:
            peer.settimeout(20)
            peer.connect(str(bridge.control))
            passed = array.array("i", [null.fileno()] * count)
            for _ in range(20):
                peer.sendmsg([b'{"command": "nothing"}\n'],
                             [(socket.SOL_SOCKET, socket.SCM_RIGHTS, passed)])
                assert b"no command" in peer.recv(1000)
            assert len(os.listdir(f"/proc/{bridge.pid}/fd")) <= before + 2


def test_a_client_that_takes_no_answer_is_not_listened_to(site):
    """Its answers would be kept for it; later it gets all of them."""
    bridge = site.start_bridge()
    count = 6000
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(20)
        peer.connect(str(bridge.control))
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        peer.sendall(b'{"command":"status"}\n' * count)
        for _ in range(100):
            assert bridge.status()["bridge"]
        unread = array.array("i", [0])
        fcntl.ioctl(peer, termios.TIOCOUTQ, unread)
        assert unread[0] > 0
        with peer.makefile("rb") as answers:
            assert all(json.loads(answers.readline())["ok"] for _ in range(count))


@pytest.mark.parametrize("line", [b"\0\n", b"[" * 60_000 + b"\n", b'"text"\n', b"{}\n", b'{"command": 1}\n',
                                  b'{"command": "mode", "program": [], "mode": {}}\n', b"\xff\xfe\n"])
def test_a_line_that_is_no_command_is_answered(site, line):
    bridge = site.start_bridge()
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(20)
        peer.connect(str(bridge.control))
        peer.sendall(line)
        assert json.loads(peer.recv(10000))["ok"] is False
        peer.sendall(b'{"command": "status"}\n')
        assert peer.recv(10000).startswith(b"{")


def test_a_line_without_end_closes_the_connection(site):
    bridge = site.start_bridge()
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(20)
        peer.connect(str(bridge.control))
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            for _ in range(1000):
                peer.sendall(b"x" * 1000)
    assert bridge.status()
