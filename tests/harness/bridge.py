"""One running bridge in a test."""

import os
import pathlib
import re
import signal
import subprocess
import time

from harness import processes
from harness.control import Control
from harness.fastcgi import Peer
from harness.processes import PATIENCE, wait_until
from harness.reachable import reachable

BUILD = pathlib.Path(os.environ.get(
    "CGIBRIDGE_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build"))
BINARY = reachable(BUILD) / "bridge" / "cgibridge"

BROKEN = re.compile(r"Sanitizer|runtime error:|assert", re.IGNORECASE)
# What a comparison of a worker with its zygote logs if a rewind left something behind.
DIFFERENT = re.compile(r"differs from its zygote")
LINE = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} (\w+) (.*)$")


def write_at_once(path, text):
    """Replaces the file in one step, so that nobody sees half of it."""
    fresh = path.with_suffix(".fresh")
    fresh.write_text(text)
    fresh.rename(path)


def environment(**more):
    """The daemon's environment: small, and the same on every machine."""
    values = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
              "HOME": os.environ.get("HOME", "/"),
              "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
    values.update(more)
    return values


class Bridge:
    """Started by Site.start_bridge. `address` is its first listener."""

    def __init__(self, config, control, addresses, log):
        self.config = pathlib.Path(config)
        self.control = pathlib.Path(control)
        self.addresses = addresses
        self.log_file = pathlib.Path(log)
        self._process = None
        self._base_fds = None
        self._expected = []
        self.stopped = False

    @property
    def address(self):
        return self.addresses[0]

    @property
    def pid(self):
        return self._process.pid

    # Start and stop

    def start(self, command_prefix=(), env=None, words=None, **popen_options):
        """words: the command and its options, if it is not to read its settings file."""
        with open(self.log_file, "ab") as log:
            self._process = subprocess.Popen(
                [*command_prefix, str(BINARY), *(words or ["serve", "--config", str(self.config)])],
                stderr=log, stdout=log, env=environment(**(env or {})),
                **{"stdin": subprocess.DEVNULL, **popen_options})
        self.wait_ready()
        return self

    def wait_ready(self):
        def ready():
            if self._process.poll() is not None:
                raise AssertionError(f"the bridge ended with {self._process.returncode}:\n{self.log()}")
            return processes.accepts(self.control)
        wait_until(ready, "the bridge is ready", 15)
        # Descriptors that the start opens (the settings' watch, the log) are open now.
        self.status()
        self._base_fds = self._settled_fds()

    def expect_clean_stop(self, signal_number=signal.SIGTERM, seconds=15, attached=0):
        """Stops it and checks that it exits with 0 and leaves nothing. attached: how many sockets `attach`
        handed to it."""
        if not attached:
            self.check_descriptors()
        workers = processes.descendants_of(self.pid)
        self._process.send_signal(signal_number)
        self.expect_end(seconds)
        self.check_gone(workers)

    def expect_end(self, seconds=15):
        """It was told to stop; it must exit with 0."""
        try:
            code = self._process.wait(seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the bridge does not stop within {seconds * PATIENCE} s; "
                                 f"the end of its log:\n{self.log()[-3000:]}") from None
        self.stopped = True
        assert code == 0, f"the bridge ended with {code}:\n{self.log()[-6000:]}"

    def check_gone(self, workers):
        """Checks that none of these descendants is left."""
        def gone():
            return not any(processes.alive(pid) for pid in workers)
        wait_until(gone, "the bridge's zygotes, workers and programs are gone: " + ", ".join(
            f"{pid} {processes.command_of(pid)}" for pid in workers if processes.alive(pid)))
        for address in [*self.addresses, self.control]:
            if not isinstance(address, tuple):
                assert not pathlib.Path(address).exists(), f"left behind: {address}"

    def kill(self):
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self.stopped = True

    # Talking to it

    def command(self, *arguments, expect=0, seconds=20):
        """Runs `cgibridge ARGUMENTS --control S`; returns its standard output."""
        done = subprocess.run([str(BINARY), *map(str, arguments), "--control", str(self.control)],
                              capture_output=True, text=True, timeout=seconds * PATIENCE,
                              env=environment())
        assert done.returncode == expect, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + (done.stderr if expect else "")

    def status(self):
        """What `cgibridge status --json` prints, without the memory of processes, which that command itself
        looks up. Asked without the command, because tests ask many thousand times."""
        try:
            return self._asked_status()
        except OSError:  # one that ends during an upgrade; like the command, ask its successor
            return self._asked_status()

    def _asked_status(self):
        with Control(self.control) as control:
            return control.ask("status")

    def program(self, script):
        """The status of one program, by its path; None if the bridge does not know it."""
        for entry in self.status()["programs"]:
            if entry["path"] == os.path.abspath(script):
                return entry
        return None

    def wait_warm(self, script, seconds=20):
        """Waits until the program has idle workers; returns its status."""
        def warm():
            entry = self.program(script)
            return entry if entry and entry["workers"]["idle"] > 0 else None
        return wait_until(warm, f"{script} is warm", seconds)

    def wait_idle(self, seconds=10):
        wait_until(lambda: self.status()["bridge"]["requests_active"] == 0, "no request runs", seconds)

    def connect(self, which=0, seconds=20):
        return Peer(self.addresses[which], seconds)

    def request(self, script, method="GET", query="", body=b"", seconds=20, **more):
        """One request on its own connection."""
        with self.connect(seconds=seconds) as peer:
            return peer.request(script, method, query, body, keep=False, **more)

    def write_settings(self, text):
        """Replaces the settings file's text."""
        write_at_once(self.config, text)

    def hangup(self):
        """Sends SIGHUP, so that the settings file is read again soon."""
        self._process.send_signal(signal.SIGHUP)

    def answered_by(self, script, **more):
        """Which mode answered a request to a program that prints its pid last and that nobody else uses. It
        goes by the bridge's count, because a worker may have become ready and taken the request after an
        earlier look at the workers. If the pid was a worker's before, the mode must be persistent."""
        before = self.program(script) or {"worker_pids": [], "requests_persistent": 0}
        pid = int(self.request(script, **more).body.split()[-1])
        warm = self.program(script)["requests_persistent"] > before["requests_persistent"]
        assert warm or pid not in before["worker_pids"], "a worker answered, and was not counted"
        return "persistent" if warm else "classic"

    # The log

    def log(self):
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def expect_log(self, pattern, seconds=10):
        """Waits for a line that matches; check_log() then expects such lines."""
        self._expected.append(re.compile(pattern))
        return wait_until(lambda: re.search(pattern, self.log(), re.MULTILINE),
                          f"the log holds /{pattern}/; it ends:\n{self.log()[-2000:]}", seconds)

    def allow_log(self, pattern):
        """check_log() then expects lines that match, whether they come or not."""
        self._expected.append(re.compile(pattern))

    def check_log(self):
        surprises = []
        for line in self.log().splitlines():
            found = LINE.match(line)
            level = found.group(1) if found else ""
            if level not in ("error", "critical") and not BROKEN.search(line) \
                    and not DIFFERENT.search(line):
                continue
            if not any(pattern.search(line) for pattern in self._expected):
                surprises.append(line)
        assert not surprises, "the log holds unexpected lines:\n" + "\n".join(surprises[:20])

    # Descriptors

    def fds(self):
        return processes.fds_of(self.pid)

    def _settled_fds(self):
        """Counts by kind, as soon as two counts in a row agree."""
        def count():
            kinds = {}
            for target in self.fds().values():
                kinds[target] = kinds.get(target, 0) + 1
            return kinds
        before = count()
        for _ in range(50):
            time.sleep(0.01)
            now = count()
            if now == before:
                break
            before = now
        return before

    def surplus_fds(self):
        """Descriptors that were not there at the start. Each zygote and worker may hold a channel, a pidfd
        and the pipe of its own standard error, and a worker those of its last request; one that speaks
        FastCGI may hold the folder of its socket."""
        status = self.status()
        workers = sum(len(entry["worker_pids"]) for entry in status["programs"])
        held = workers + sum(1 for entry in status["programs"] if entry["zygote_pid"])
        surplus, now = {}, self._settled_fds()
        sandboxes = sum(kind.startswith("mnt:[") for kind in now)
        for kind, count in now.items():
            more = count - self._base_fds.get(kind, 0)
            if kind in ("socket", "pipe", "anon_inode:[pidfd]"):
                more -= held
            if kind == "pipe":
                more -= 2 * workers
            if kind.endswith("/socket (deleted)"):
                more -= 1
            if re.match(r"/memfd:cgibridge-steps|(mnt|net|user):\[", kind):
                more -= len(status["programs"])   # for their sandboxes
            elif kind.startswith("/"):
                more -= sandboxes   # each has its own "/", which has another name under chroot
            if kind.startswith("/sys/fs/cgroup/"):
                more -= 1   # opened for the first program with a limit
            if more > 0:
                surplus[kind] = more
        return surplus

    def check_descriptors(self):
        """Checks that the daemon holds no more descriptors than at its start, except for its zygotes and
        workers."""
        if self._process.poll() is None:
            self.wait_idle()
            try:
                wait_until(lambda: not self.surplus_fds(),
                           "descriptors of the daemon are back to those of its start")
            except AssertionError as late:
                raise AssertionError(f"{late}: too many are {self.surplus_fds()}") from None
