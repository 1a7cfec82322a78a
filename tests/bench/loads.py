"""The programs that create the load; each returns its figures as a dict."""

import functools
import http.client
import json
import pathlib
import re
import statistics
import subprocess
import tempfile
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent


def _run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout


def wrk(url, seconds, connections, form=None):
    """As many requests as `connections` can do, one after another on each; form: posted bytes."""
    more = ["--", form] if form else []
    result = json.loads(_run("wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s",
                             "-s", HERE / "load.lua", url, *more).splitlines()[-1])
    result["requests_per_second"] = result["requests"] * 1e6 / result.pop("microseconds")
    return result


def one_by_one(url, requests, pause_s):
    """One client on one connection, which pauses between two requests: the latency of a site that has little
    to do."""
    parts = urllib.parse.urlsplit(url)
    peer = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    taken, wrong = [], 0
    for _ in range(requests):
        time.sleep(pause_s)
        begun = time.perf_counter()
        peer.request("GET", parts.path)
        answer = peer.getresponse()
        answer.read()
        taken.append((time.perf_counter() - begun) * 1000)
        wrong += answer.status != 200
    peer.close()
    return {"p50_ms": statistics.median(taken), "most_ms": max(taken), "wrong": wrong}


def ab(url, requests, connections):
    """`ab -n REQUESTS -c CONNECTIONS`, with a new connection for each request."""
    text = _run("ab", "-n", requests, "-c", connections, url)

    def figure(pattern):
        found = re.search(pattern, text)
        return float(found.group(1)) if found else 0.0
    if figure(r"Complete requests:\s+(\d+)") != requests:
        raise SystemExit(f"ab {url}: {text}")
    return {"requests_per_second": figure(r"Requests per second:\s+([\d.]+)"),
            "p50_ms": figure(r"\s50%\s+(\d+)"), "p99_ms": figure(r"\s99%\s+(\d+)"),
            "wrong": int(figure(r"Failed requests:\s+(\d+)") + figure(r"Non-2xx responses:\s+(\d+)"))}


@functools.cache
def _constant_rate_program():
    folder = tempfile.TemporaryDirectory(prefix="cgibridge-bench-")
    program = pathlib.Path(folder.name) / "constant_rate"
    _run("cc", "-O2", "-Wall", "-o", program, HERE / "constant_rate.c")
    return folder, program  # the folder is removed when this process ends


def constant_rate(port, path, form, rate, seconds, connections):
    """See constant_rate.c; rate 0: as many as possible."""
    _, program = _constant_rate_program()
    return json.loads(_run(program, port, path, form, rate, seconds, connections))
