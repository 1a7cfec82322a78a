"""Process trees as /proc shows them: their CPU time and their memory."""
import os
import pathlib
import threading

TICKS = os.sysconf("SC_CLK_TCK")


def family(pids):
    """These processes and all their living descendants."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := stat_fields(entry.name)):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, left = [], list(pids)
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


def cpu_seconds(pids):
    """CPU time of process trees: of the living processes, and of all that they have reaped."""
    ticks = 0
    for member in family(pids):
        if fields := stat_fields(member):
            ticks += sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime
    return ticks / TICKS


def pss_bytes(pids):
    """Proportional memory: a page that n processes share counts 1/n for each. None if it cannot be read, as
    for processes of another user."""
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
    """A context manager that samples the memory of process trees; the median is its result."""

    def __init__(self, pids, left_out, interval_s=0.25):
        self.pids, self.left_out, self.interval_s = pids, left_out, interval_s
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
        pause_s = self.interval_s / 5  # the first sample is early, because a round may be short
        while not self.over.wait(pause_s):
            self.sample()
            pause_s = self.interval_s

    def sample(self):
        sample = pss_bytes(pid for pid in family(self.pids) if pid not in self.left_out)
        if sample is not None:
            self.samples.append(sample)

    def median(self):
        return sorted(self.samples)[len(self.samples) // 2] if self.samples else None
