"""The closed loop: `ab` sends the next request as soon as it has its answer, which shows a program's maximum
throughput."""
import csv
import pathlib
import re
import shutil
import subprocess
import tempfile

from . import Problem

PERCENTILES = (50, 90, 95, 99)


def find_ab():
    if not shutil.which("ab"):
        raise Problem("`ab` is not installed; as root: apt-get install apache2-utils")


class ClosedLoop:
    """How many requests, for how long, how many at once, and which ones."""

    def __init__(self, requests, seconds, concurrency, request):
        self.requests, self.seconds, self.concurrency = requests, seconds, concurrency
        self.request = request

    def warm_up(self, url):
        """A warm-up before each round, which is not counted."""
        self.ab(url, max(self.concurrency, self.requests // 20), max(1, self.seconds // 4))

    def run(self, url):
        """One round."""
        return self.ab(url, self.requests, self.seconds)

    def ab(self, url, requests, seconds):
        """The figures of one call of ab as a dict, times in milliseconds."""
        for patience in (1, 8):   # a round may be too short for a single answer
            found = self.call(url, requests, seconds * patience)
            if found["requests"]:
                return found
        raise Problem(f"ab on {url}: no request was answered within {seconds * patience} s")

    def call(self, url, requests, seconds):
        with tempfile.TemporaryDirectory() as scratch:
            percentiles = pathlib.Path(scratch, "percentiles.csv")
            # -l: answers may differ in length; -r: count errors; -t comes first, because it also sets -n.
            command = ["ab", "-q", "-l", "-r", "-t", str(seconds), "-n", str(requests),
                       "-c", str(self.concurrency), "-e", str(percentiles),
                       *self.what(pathlib.Path(scratch, "body")), url]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            found = figures(done.stdout)
            if found["requests"] == 0 and "Time taken" in done.stdout:
                return found
            if done.returncode != 0 or not percentiles.exists():
                raise Problem(f"ab on {url} failed: {done.stderr.strip() or done.stdout.strip()}")
            return {**found, **read_percentiles(percentiles, found["requests"])}

    def what(self, body_file):
        """ab's options for the method, the body and the headers."""
        request, options = self.request, []
        if request.body is not None:
            body_file.write_bytes(request.body)
            options += ["-u" if request.method == "PUT" else "-p", str(body_file),
                        "-T", request.content_type]
        elif request.method == "HEAD":
            options.append("-i")
        elif request.method != "GET":
            options += ["-m", request.method]
        for name, value in request.headers:
            options += ["-H", f"{name}: {value}"]
        return options


def figures(report):
    def number(label):
        found = re.search(rf"^{label}:\s+([\d.]+)", report, re.MULTILINE)
        return float(found[1]) if found else 0.0

    return {
        "requests": int(number("Complete requests")),
        "requests_per_s": number("Requests per second"),
        "failed": int(number("Failed requests")),
        "not_2xx": int(number("Non-2xx responses")),
    }


def read_percentiles(path, requests):
    """If there are few requests, ab looks up the higher percentiles beyond its last request, and finds
    garbage there. The highest valid percentile replaces them."""
    with path.open(newline="") as file:
        rows = [float(row[1]) for row in list(csv.reader(file))[1:]]
    within = [row for p, row in enumerate(rows) if p == 0 or int(0.5 + requests * p / 100) < requests]
    return {f"p{p}_ms": within[min(p, len(within) - 1)] for p in PERCENTILES}
