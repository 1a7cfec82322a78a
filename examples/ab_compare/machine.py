"""The machine that the comparison ran on."""
import os
import pathlib
import platform
import time


def described():
    """A description for the report; takes a second, in which it measures how busy the processors already
    are."""
    return {"processor": processor(), "cores": len(os.sched_getaffinity(0)),
            "kernel": platform.release(), "began": time.strftime("%Y-%m-%d %H:%M %Z"),
            "busy_before": busy_share(1.0)}


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return " ".join(line.partition(":")[2].split())
    return platform.machine()


def busy_share(seconds):
    """How much of the processors' time was used, 0 to 1."""
    before = ticks()
    time.sleep(seconds)
    idle, total = (now - then for now, then in zip(ticks(), before))
    return 1 - idle / total if total else 0.0


def ticks():
    """(idle, all) of /proc/stat, in clock ticks since the start of the machine."""
    fields = list(map(int, pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]))
    return fields[3] + fields[4], sum(fields)
