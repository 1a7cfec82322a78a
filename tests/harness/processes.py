"""Processes, descriptors and ports of this machine, read from /proc."""

import contextlib
import ctypes
import itertools
import os
import pathlib
import signal
import socket
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36

# The factor for all waits, because the machine may be busy or stall for a moment. Under ASan everything is
# slower, and in a guest slower still (see kernels/run.py).
SANITIZED = "asan" in pathlib.Path(os.environ.get("CGIBRIDGE_BUILD", "build")).name
PATIENCE = int(os.environ.get("CGIBRIDGE_TESTS_PATIENCE", 4 if SANITIZED else 2))


def adopt_orphans():
    """Makes this process the parent of all orphaned descendants, so that tests can find them."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait_until(condition, what, seconds=10):
    """Polls until condition() is true and returns its value; fails with `what` after seconds."""
    end = time.monotonic() + seconds * PATIENCE
    pause = 0.002
    while True:
        # Taken before the check, so that a process that was stopped meanwhile checks once more.
        late = time.monotonic() > end
        value = condition()
        if value:
            return value
        if late:
            raise AssertionError(f"waited {seconds * PATIENCE} s in vain: {what}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)


def stat_of(pid):
    """(state, parent, process group, session), or None if there is no such process."""
    try:
        # Bytes, because a name may be cut inside a character.
        text = pathlib.Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(b")")[2].split()
    return fields[0].decode(), int(fields[1]), int(fields[2]), int(fields[3])


def processor_ns(pid):
    """What all its threads have used, as far as they still run."""
    threads = pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(path.read_text().split()[0]) for path in threads)


def alive(pid):
    """Zombies are not alive."""
    stat = stat_of(pid)
    return stat is not None and stat[0] not in "ZX"


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
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
    """Reaps adopted processes that have ended; `known` are children that someone else waits for."""
    for child in children_of(os.getpid()):
        if child not in known and (stat_of(child) or "?")[0] == "Z":
            try:
                os.waitpid(child, os.WNOHANG)
            except ChildProcessError:
                pass


def own_uid():
    """The uid of a user that has no name, and whose only processes are those of this run of the tests."""
    return 100_000 + os.getpid()


def as_user(uid):
    """A command prefix that runs a command as that user, with only the group of the same number, without any
    of root's rights."""
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]


def run_as(uid, program, *arguments):
    """Runs a Python program, given as text, as that user and returns its output; it must exit with 0."""
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
    """{fd: what it refers to}, e.g. 'pipe', 'socket', '/dev/null', 'anon_inode:[eventpoll]'."""
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
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise AssertionError(f"no {field} of {pid}")


# Ports reserved for this process: the kernel assigns none of these to a process that asks for any port, and
# other tests that run at the same time use other ports. A socket with an abstract name holds them, and
# disappears with the process.
PORTS_FROM, PORTS_EACH, PORTS_SHARES = 10_000, 500, 44
_ports = _ports_held = None


def _own_ports():
    global _ports_held
    for share in range(PORTS_SHARES):
        _ports_held = socket.socket(socket.AF_UNIX)
        try:
            _ports_held.bind(f"\0cgibridge-tests-ports-{share}")
        except OSError:
            _ports_held.close()
            continue
        first = PORTS_FROM + share * PORTS_EACH
        return itertools.cycle(range(first, first + PORTS_EACH))
    raise AssertionError("all ports for tests are taken")


def free_port():
    """A port of 127.0.0.1 that nobody listens on now, and that was not returned recently."""
    global _ports
    _ports = _ports or _own_ports()
    for port in _ports:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def connect(address, seconds=10):
    """A connected socket; address is a unix socket's path or (host, port)."""
    family = socket.AF_UNIX
    if isinstance(address, tuple):
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    connection = socket.socket(family)
    connection.settimeout(seconds * PATIENCE)
    end = time.monotonic() + seconds * PATIENCE
    while True:
        try:
            connection.connect(address if isinstance(address, tuple) else str(address))
            return connection
        except BlockingIOError:  # a unix socket with a full queue; without a timeout connect() would wait
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def accepts(address):
    try:
        connect(address).close()
        return True
    except OSError:
        return False
