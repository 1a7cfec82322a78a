"""A running bridge as seen from outside: its status, the CPU time and the memory of its processes."""
import json
import os
import pathlib
import subprocess
import threading

from . import Problem

TICKS = os.sysconf("SC_CLK_TCK")


class Bridge:
    """Talks to the daemon with the command-line program, as a person would."""

    def __init__(self, executable, control):
        self.executable, self.control = executable, control

    def command(self, *words):
        try:
            done = subprocess.run([self.executable, *words, "--control", self.control],
                                  capture_output=True, text=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Problem(f"cannot run {self.executable}: {error}") from None
        if done.returncode != 0:
            raise Problem(f"`cgibridge {' '.join(words)}` failed: {done.stderr.strip()}")
        return done.stdout

    def status(self):
        return json.loads(self.command("status", "--json"))

    def pid(self):
        return self.status()["bridge"]["pid"]

    def program(self, path):
        """What the status says of one program; {} before its first request."""
        return next((p for p in self.status()["programs"] if p["path"] == path), {})

    def warm_pids(self, but_not=None):
        """The zygotes and workers of all programs, or of all but one."""
        pids = set()
        for program in self.status()["programs"]:
            if program["path"] != but_not:
                pids.update([program["zygote_pid"], *program["worker_pids"]])
        return pids


def family(pid):
    """pid and all its living descendants."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := stat_fields(entry.name)):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, left = [], [pid]
    while left:
        found.append(left.pop())
        left += children.get(found[-1], [])
    return found


def stat_fields(pid):
    """/proc/PID/stat from the state on, None if the process is gone; see proc(5)."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def cpu_seconds(pid):
    """CPU time of a process tree: of the living, and of all that they have reaped."""
    ticks = 0
    for member in family(pid):
        if fields := stat_fields(member):
            ticks += sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime
    return ticks / TICKS


def pss_bytes(pids):
    """Proportional memory: a page that n processes share counts 1/n for each. None if not to be
    known, as for processes of another user."""
    total = None
    for pid in pids:
        try:
            for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total = (total or 0) + int(line.split()[1]) * 1024
        except OSError:
            pass
    return total


class MemoryWatch:
    """Samples the memory of a process tree while it is entered; the median is its result."""

    def __init__(self, pid, left_out, interval_s=0.25):
        self.pid, self.left_out, self.interval_s = pid, left_out, interval_s
        self.samples, self.over = [], threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        if not self.samples:
            self.sample()

    def watch(self):
        pause_s = self.interval_s / 5  # the first sample early: a round may be short
        while not self.over.wait(pause_s):
            self.sample()
            pause_s = self.interval_s

    def sample(self):
        sample = pss_bytes(pid for pid in family(self.pid) if pid not in self.left_out)
        if sample is not None:
            self.samples.append(sample)

    def median(self):
        return sorted(self.samples)[len(self.samples) // 2] if self.samples else None
