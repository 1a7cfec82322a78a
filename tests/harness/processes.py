"""Processes, descriptors and ports of this machine, read from /proc."""

import collections
import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36

# Under ASan everything takes its time.
PATIENCE = 3 if "asan" in os.environ.get("CGIBRIDGE_BUILD", "") else 1


def adopt_orphans():
    """Makes this process the parent of whatever its descendants leave behind, so that it is seen."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait_until(condition, what, seconds=10):
    """Polls until condition() is true and returns its value; fails with `what` after seconds."""
    end = time.monotonic() + seconds * PATIENCE
    pause = 0.002
    while True:
        last_look = time.monotonic() > end
        value = condition()
        if value:
            return value
        if last_look:
            raise AssertionError(f"waited {seconds * PATIENCE} s in vain: {what}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)


def stat_of(pid):
    """(state, parent, process group, session), or None if there is no such process."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[1]), int(fields[2]), int(fields[3])


def alive(pid):
    """Zombies are not alive."""
    stat = stat_of(pid)
    return stat is not None and stat[0] not in "ZX"


def command_of(pid):
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        return words.replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "gone"


def processes():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def children_of(pid):
    found = []
    for other in processes():
        stat = stat_of(other)
        if stat and stat[1] == pid:
            found.append(other)
    return found


def descendants_of(pid):
    parents = {}
    for other in processes():
        stat = stat_of(other)
        if stat:
            parents.setdefault(stat[1], []).append(other)
    found, todo = [], [pid]
    while todo:
        for child in parents.get(todo.pop(), []):
            found.append(child)
            todo.append(child)
    return found


def zombies_of(pid):
    return [child for child in children_of(pid) if (stat_of(child) or "?")[0] == "Z"]


def reap_adopted(known):
    """Collects adopted processes that have ended; `known` are children that someone else waits for."""
    for child in children_of(os.getpid()):
        if child not in known and (stat_of(child) or "?")[0] == "Z":
            try:
                os.waitpid(child, os.WNOHANG)
            except ChildProcessError:
                pass


def as_user(uid):
    """A command prefix: as that user, in the group of that number alone, without any rights of root's."""
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]


def run_as(uid, program, *arguments):
    """What a Python program (its text) prints as that user; it must end well."""
    done = subprocess.run([*as_user(uid), "/usr/bin/python3", "-c", program, *map(str, arguments)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def kill_quietly(pid, number=signal.SIGKILL):
    assert pid > 1, f"{pid} means others than one process"
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def fds_of(pid):
    """{fd: what it is}, e.g. 'pipe', 'socket', '/dev/null', 'anon_inode:[eventpoll]'."""
    found = {}
    folder = f"/proc/{pid}/fd"
    for name in os.listdir(folder):
        try:
            target = os.readlink(f"{folder}/{name}")
        except FileNotFoundError:
            continue
        found[int(name)] = target.partition(":[")[0] if target[:5] in ("pipe:", "socke") else target
    return found


def memory_kib(pid, field="VmRSS"):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise AssertionError(f"no {field} of {pid}")


_given_ports = set()
# Names that keep the last of them from other test processes until somebody listens there.
_port_locks = collections.deque(maxlen=50)


def free_port():
    """A port of 127.0.0.1 that nobody listens on now, and that was not given before."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        lock = socket.socket(socket.AF_UNIX)
        try:
            lock.bind(f"\0cgibridge-tests-port-{port}")
        except OSError:
            lock.close()
            continue
        if port not in _given_ports:
            _given_ports.add(port)
            _port_locks.append(lock)
            return port
        lock.close()


def connect(address, seconds=10):
    """A connected socket; address is a unix socket's path or (host, port)."""
    family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
    connection = socket.socket(family)
    connection.settimeout(seconds * PATIENCE)
    end = time.monotonic() + seconds * PATIENCE
    while True:
        try:
            connection.connect(address if isinstance(address, tuple) else str(address))
            return connection
        except BlockingIOError:  # a unix socket whose queue is full; without a limit it would wait
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def accepts(address):
    try:
        connect(address).close()
        return True
    except OSError:
        return False
