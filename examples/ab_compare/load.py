"""Requests through the web server: many with `ab` for speed, a few by hand for their bytes."""
import csv
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import urllib.parse

from . import Problem

FORM = "application/x-www-form-urlencoded"


def find_ab():
    if not shutil.which("ab"):
        raise Problem("`ab` is not installed; as root: apt-get install apache2-utils")


class Load:
    """What is asked of each program: how many requests, how many at once, with which body."""

    def __init__(self, requests, seconds, concurrency, body=None, content_type=FORM):
        self.requests, self.seconds, self.concurrency = requests, seconds, concurrency
        self.body, self.content_type = body, content_type

    def warm_up(self, url):
        """What comes before each round and is not counted."""
        self.ab(url, max(self.concurrency, self.requests // 20), max(1, self.seconds // 4))

    def run(self, url):
        """One round."""
        return self.ab(url, self.requests, self.seconds)

    def ab(self, url, requests, seconds):
        """The figures of one call of ab as a dict, times in milliseconds."""
        with tempfile.TemporaryDirectory() as scratch:
            percentiles = pathlib.Path(scratch, "percentiles.csv")
            # -l: answers may differ in length; -r: count errors; -t first, as it also sets -n.
            command = ["ab", "-q", "-l", "-r", "-t", str(seconds),
                       "-n", str(requests), "-c", str(self.concurrency),
                       "-e", str(percentiles)]
            if self.body is not None:
                pathlib.Path(scratch, "body").write_text(self.body, encoding="utf-8")
                command += ["-p", f"{scratch}/body", "-T", self.content_type]
            done = subprocess.run([*command, url], capture_output=True, text=True, check=False)
            if done.returncode != 0 or not percentiles.exists():
                raise Problem(f"ab on {url} failed: {done.stderr.strip() or done.stdout.strip()}")
            return {**figures(done.stdout), **read_percentiles(percentiles)}


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


def read_percentiles(path):
    with path.open(newline="") as file:
        rows = {row[0]: row[1] for row in csv.reader(file)}
    return {f"p{p}_ms": float(rows[str(p)]) for p in (50, 95, 99)}


def fetch(url):
    """One answer as it comes over the wire, without its Date header: status, headers, body."""
    parts = urllib.parse.urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    try:
        with socket.create_connection((parts.hostname, parts.port or 80), timeout=60) as connection:
            connection.sendall(f"GET {target} HTTP/1.0\r\nHost: {parts.netloc}\r\n\r\n".encode())
            with connection.makefile("rb") as stream:
                head, blank, body = stream.read().partition(b"\r\n\r\n")
    except OSError as error:
        raise Problem(f"{url} does not answer: {error}") from None
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"date:")]
    return b"\r\n".join(lines) + blank + body


def status_of(answer):
    found = re.match(rb"HTTP/1\.[01] (\d{3})", answer)
    return int(found[1]) if found else 0


def compare_answers(classic, persistent):
    """In words: whether all answers of both modes were the same bytes."""
    if len(set(classic)) > 1:
        return "varies by itself"
    for answer in persistent:
        if answer != classic[0]:
            same = next((at for at, (a, b) in enumerate(zip(answer, classic[0])) if a != b),
                        min(len(answer), len(classic[0])))
            return f"DIFFERENT from byte {same} on"
    return "same"
