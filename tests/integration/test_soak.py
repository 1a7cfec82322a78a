"""One worker answers for a long time: every answer is right, and the memory and descriptors of bridge and
worker do not grow. The short variant always runs, the long one is a slow test.

CGIBRIDGE_SOAK_SCALE multiplies the long variant's numbers of requests (0.01: a hundredth).
"""

import os
import pathlib
import subprocess
import time
import urllib.parse

import pytest

from harness import processes

SCALE = float(os.environ.get("CGIBRIDGE_SOAK_SCALE", 1))
PHASES = 10
LONG = {"hello.cgi": 1_000_000, "guestbook.pl": 100_000, "guestbook.py": 100_000}
SHORT = {"hello.cgi": 2_000, "guestbook.pl": 200, "guestbook.py": 200}
# How much allocators and the kernel's own tables may still take after everything is warm.
BRIDGE_GROWTH_KIB, WORKER_GROWTH_KIB = 1024, 512


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    program = tmp_path_factory.mktemp("soak") / "soak_client"
    subprocess.run(["cc", "-O2", "-Wall", "-o", program, pathlib.Path(__file__).with_name("soak_client.c")],
                   check=True)
    return program


def kib_of(pid, field):
    with open(f"/proc/{pid}/smaps_rollup") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))


def descriptors_at_rest(pid):
    """The minimum of a few counts, because a command's own connection may still be closing."""
    counts = []
    for _ in range(10):
        counts.append(len(processes.fds_of(pid)))
        time.sleep(0.02)
    return min(counts)


class Soak:
    """One bridge with one worker for one program."""

    def __init__(self, site, client, name, verify):
        self.site, self.client, self.name = site, client, name
        self.script = site.example(name)
        database = f'env = {{ GUESTBOOK_DB = "{site.folder}/guestbook.db" }}'
        self.bridge = site.start_bridge(
            'mode = "persistent"\nreset = "rewind"\n'
            f"rewind = {{ verify = {verify} }}\n"
            f"workers = {{ min = 1, max = 1, spare = 1, max_requests = 0 }}\n{database}")
        self.classic = site.start_bridge(f'mode = "classic"\n{database}', name="classic.toml",
                                         listen=[f"unix:{site.folder}/classic.sock"])
        if name != "hello.cgi":
            self.sign("of before")  # a POST loads further modules
        self.pid = self.settle()

    def settle(self):
        """The worker's pid, after no more modules are learned; learning begins a new generation."""
        pids = []
        while len(pids) < 20 or len(set(pids[-15:])) > 1:
            assert len(pids) < 100, "workers change and change"
            self.ask(5)
            time.sleep(0.1)
            pids.append(self.bridge.wait_warm(self.script)["worker_pids"][0])
        return pids[-1]

    def sign(self, n):
        """Changes the guestbook's page, so that no earlier answer is right."""
        body = urllib.parse.urlencode({"name": f"guest {n}", "message": f"<message {n}> & more\n"}).encode()
        answer = self.bridge.request(self.script, "POST", body=body,
                                     CONTENT_TYPE="application/x-www-form-urlencoded")
        assert answer.status == 303, answer.stdout
        page = self.bridge.request(self.script)
        assert page.status == 200 and f"&lt;message {n}&gt; &amp; more".encode() in page.body

    def expected(self):
        """Classic's answer now."""
        answer = self.classic.request(self.script)
        assert (answer.app_status, answer.stderr) == (0, b"")
        path = self.site.folder / "expected"
        path.write_bytes(answer.stdout)
        return path

    def ask(self, count):
        done = subprocess.run([self.client, self.bridge.address, self.script, str(count), self.expected()],
                              capture_output=True, text=True)
        assert done.returncode == 0, f"{self.name}: {done.stderr[:2000]}"

    def measure(self):
        self.bridge.wait_idle()
        status = self.bridge.wait_warm(self.script)
        assert status["worker_pids"] == [self.pid], (status["retired"], status["reset_reason"])
        assert status["rewind"]["differences"] == 0 and status["retired"] == {}
        return {"bridge": kib_of(self.bridge.pid, "Rss"), "worker": kib_of(self.pid, "Rss"),
                "worker pss": kib_of(self.pid, "Pss"),
                "bridge descriptors": descriptors_at_rest(self.bridge.pid),
                "worker descriptors": descriptors_at_rest(self.pid),
                "worker mappings": len(open(f"/proc/{self.pid}/maps").readlines())}


def soak(site, client, name, requests, verify):
    world = Soak(site, client, name, verify)
    measured = []
    for n in range(PHASES):
        if name != "hello.cgi":
            world.sign(n)
        world.ask(requests // PHASES)
        measured.append(world.measure())
    # The first phases fill the caches of the allocator, the log and the tracking.
    begin, end = measured[PHASES // 4], measured[-1]
    assert end["bridge"] - begin["bridge"] < BRIDGE_GROWTH_KIB, measured
    assert end["worker"] - begin["worker"] < WORKER_GROWTH_KIB, measured
    for what in ("bridge descriptors", "worker descriptors", "worker mappings"):
        assert end[what] == begin[what], (what, measured)
    rewinds = world.bridge.program(world.script)["rewind"]
    # The last request's rewind may not have happened yet.
    assert rewinds["rewinds"] >= requests // PHASES * PHASES - 1
    assert rewinds["verified"] >= requests // verify - 1
    print(name, requests, begin, end, rewinds)


@pytest.mark.plain_build
@pytest.mark.parametrize("name", SHORT)
def test_a_worker_answers_for_a_while(site, client, name):
    soak(site, client, name, SHORT[name], verify=1)


@pytest.mark.slow
@pytest.mark.plain_build
@pytest.mark.parametrize("name", LONG)
def test_a_worker_answers_for_a_long_time(site, client, name):
    soak(site, client, name, int(LONG[name] * SCALE), verify=100)


def test_the_client_notices_a_wrong_byte(site, client):
    world = Soak(site, client, "hello.cgi", verify=1)
    path = world.expected()
    right = path.read_bytes()
    for wrong in (right[:-1], right + b"x", right[:-2] + b"?\n"):
        path.write_bytes(wrong)
        done = subprocess.run([client, world.bridge.address, world.script, "3", path], capture_output=True)
        assert done.returncode == 1 and b"request 1: " in done.stderr
