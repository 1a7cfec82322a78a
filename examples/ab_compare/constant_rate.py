"""Requests at a constant rate, each timed from its intended start.

A client that waits for an answer before its next request is slowed down by a slow server and sends less while
it is slow, so it measures the bad moments too seldom ("coordinated omission"). Here the starts follow a
timetable that no answer moves: a request that finds every connection busy waits in line, and that wait is
part of its latency, as it would be for a visitor. wrk2 and vegeta do the same.

It runs as a separate process, so that nothing else in ab-compare holds it up, and raises its CPU priority if
it may. It reports how late it was itself: a start that was late although a connection was free is the
client's fault, not the server's.
"""
import base64
import json
import os
import pathlib
import subprocess
import sys

from . import Problem
from .answers import address_of
from .histogram import QUANTILES, Histogram

REQUESTS_MIN = 30
LONGER_MAX = 4
LATE_MS = 2.0     # the client kept its timetable if 99 of 100 starts were at most this late,
LATE_SHARE = 0.1  # or at most this share of the latency that it measured


class ConstantRate:
    """One rate for some seconds, over at most this many connections. A rate with hardly any requests in that
    time runs longer, but not for long."""

    def __init__(self, rate, seconds, connections, request, expected_status):
        self.rate, self.connections = rate, connections
        self.seconds = min(max(seconds, REQUESTS_MIN / rate), LONGER_MAX * seconds)
        self.request, self.expected_status = request, expected_status

    def run(self, url):
        """One round's figures from rate_client, with times in milliseconds added."""
        host, port, tls = address_of(url)
        job = {"host": host, "port": port, "tls": tls, "rate": self.rate, "seconds": self.seconds,
               "connections": self.connections, "head": self.request.method == "HEAD",
               "request": base64.b64encode(self.request.encode(url)).decode(),
               "expected_status": self.expected_status}
        return summarised(run_client(job))


def run_client(job):
    folder = pathlib.Path(__file__).resolve().parent.parent
    done = subprocess.run(
        [sys.executable, "-m", "ab_compare.rate_client"], input=json.dumps(job), text=True,
        capture_output=True, check=False, cwd="/",
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"})
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no word"])[-1]
        raise Problem(f"the constant-rate client failed: {last}")
    return json.loads(done.stdout)


def summarised(result):
    latency = Histogram.from_json(result["latency"])
    service = Histogram.from_json(result["service"])
    lateness = Histogram.from_json(result["lateness"])
    late_ms = (lateness.quantile(0.99) or 0) / 1000
    return {
        **result,
        **{f"{name}_ms": None if (value := latency.quantile(q)) is None else value / 1000
           for name, q in QUANTILES.items()},
        "max_ms": None if latency.most is None else latency.most / 1000,
        "uncorrected_p99_ms": None if not service.total else service.quantile(0.99) / 1000,
        "late_p99_ms": late_ms,
        "on_time": on_time(late_ms, latency),
    }


def on_time(late_p99_ms, latency):
    """Whether the client's own lateness is small compared with what it measured."""
    p99_ms = (latency.quantile(0.99) or 0) / 1000
    return late_p99_ms <= max(LATE_MS, LATE_SHARE * p99_ms)
