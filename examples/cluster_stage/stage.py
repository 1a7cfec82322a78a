"""Three hosts with a bridge each, and one with HAProxy and the load, to which each of them has a cable: network
namespaces. close() ends and removes everything."""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from ab_compare import Problem
from cluster_stage.acts import ACTS

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE_S = 30

# The token is the query; a POST notes that it ran.
PROGRAM = """#!/usr/bin/perl
# version {version}
my $token = $ENV{{QUERY_STRING}};
{note}
select undef, undef, undef, 0.02;
print "Content-Type: text/plain\\n\\n$ENV{{CLUSTER_HOST}} $token {version}\\n";
"""
NOTE = 'open my $ran, ">>", "{folder}/ran" or die; syswrite $ran, "$token\\n"; close $ran;'


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Problem(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def wait(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise Problem(f"{what}: not within {PATIENCE_S} s")
        time.sleep(0.02)


class Host:
    """A namespace; number 254 is the web server's. A host has 10.83.NUMBER.1, at the other end of its cable
    the web server has 10.83.NUMBER.254."""

    def __init__(self, stage, number):
        self.stage, self.number = stage, number
        self.space = f"{stage.name}-{number}"
        self.folder = stage.folder / f"host{number}"
        self.folder.mkdir()
        self.process = None

    def make(self):
        run("ip", "netns", "add", self.space)
        run("ip", "-n", self.space, "link", "set", "lo", "up")

    def connect(self, front):
        far_end = f"host{self.number}"
        run("ip", "-n", self.space, "link", "add", "eth0", "type", "veth", "peer", "name", far_end,
            "netns", front.space)
        for space, device, number in ((self.space, "eth0", 1), (front.space, far_end, 254)):
            run("ip", "-n", space, "address", "add", f"10.83.{self.number}.{number}/24", "dev", device)
            run("ip", "-n", space, "link", "set", device, "up")

    def spawn(self, *words, **options):
        return subprocess.Popen(["ip", "netns", "exec", self.space, *map(str, words)],
                                stdin=subprocess.DEVNULL, **options)

    # The bridge

    @property
    def control(self):
        return self.folder / "control.sock"

    def start(self):
        (self.folder / "config.toml").write_text(f"""[bridge]
listen = ["10.83.{self.number}.1:9000"]
allow.addresses = ["10.83.{self.number}.254"]
control = "{self.control}"
roots = ["{self.stage.folder}/cgi-bin"]
health = "/healthz"
prewarm = ["{self.stage.folder}/cgi-bin/get.cgi", "{self.stage.folder}/cgi-bin/post.cgi"]
[defaults]
env = {{ CLUSTER_HOST = "host{self.number}" }}
""")
        with open(self.folder / "log", "ab") as log:
            self.process = self.spawn(self.stage.cgibridge, "serve", "--config",
                                      self.folder / "config.toml", stdout=log, stderr=log)
        wait(self.is_ready, f"the bridge of host {self.number}")

    def command(self, *words):
        return run("ip", "netns", "exec", self.space, self.stage.cgibridge, *words, "--control",
                   self.control)

    def is_ready(self):
        try:
            return self.command("status", "--ready").startswith("ready")
        except Problem:
            return False

    def upgrade(self):
        self.command("upgrade")
        self.process.wait(PATIENCE_S)
        wait(self.is_ready, f"the new bridge of host {self.number}")

    # What happens to it

    def pids(self):
        return [int(pid) for pid in run("ip", "netns", "pids", self.space).split()]

    def signal_all(self, number):
        for pid in self.pids():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def kill_everything(self):
        while self.pids():
            self.signal_all(signal.SIGKILL)
            time.sleep(0.01)
        if self.process is not None:
            self.process.wait()

    def pause(self):
        self.signal_all(signal.SIGSTOP)

    def go_on(self):
        self.signal_all(signal.SIGCONT)

    def set_cable(self, state):
        run("ip", "-n", self.space, "link", "set", "eth0", state)


class Stage:
    def __init__(self, cgibridge):
        self.cgibridge = str(cgibridge)
        if os.geteuid() != 0:
            raise Problem("network namespaces need root")
        for tool, package in (("ip", "iproute2"), ("haproxy", "haproxy")):
            if not shutil.which(tool):
                raise Problem(f"`{tool}` is not installed; as root: apt-get install {package}")
        self.name = f"cgibridge-{os.getpid()}"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cgibridge-cluster-"))
        self.folder.chmod(0o755)
        self.hosts = [Host(self, number) for number in (1, 2, 3)]
        self.front = Host(self, 254)
        self.haproxy = None

    def start(self):
        for host in [*self.hosts, self.front]:
            host.make()
        for host in self.hosts:
            host.connect(self.front)
        (self.folder / "cgi-bin").mkdir()
        self.write_programs(1)
        for host in self.hosts:
            host.start()
        settings = self.folder / "haproxy.cfg"
        settings.write_text((HERE / "haproxy.cfg").read_text().replace("@FOLDER@", str(self.folder)))
        with open(self.folder / "haproxy.log", "wb") as log:
            self.haproxy = self.front.spawn("haproxy", "-db", "-f", settings, stdout=log, stderr=log)
        for host in self.hosts:
            self.wait_in_rotation(host)

    def write_programs(self, version):
        for name, note in (("get", ""), ("post", NOTE.format(folder=self.folder))):
            fresh = self.folder / f"{name}.fresh"
            fresh.write_text(PROGRAM.format(version=version, note=note))
            fresh.chmod(0o755)
            fresh.rename(self.folder / "cgi-bin" / f"{name}.cgi")

    def states(self):
        """{"host1": "UP", ...}, as HAProxy sees them."""
        try:
            with socket.socket(socket.AF_UNIX) as asked:
                asked.connect(str(self.folder / "haproxy.sock"))
                asked.sendall(b"show stat\n")
                text = b"".join(iter(lambda: asked.recv(65536), b"")).decode()
        except OSError:
            return {}
        rows = [line.split(",") for line in text.splitlines() if line.startswith("bridges,host")]
        return {row[1]: row[17] for row in rows}

    def wait_in_rotation(self, host):
        wait(lambda: self.states().get(f"host{host.number}") == "UP", f"host {host.number} gets requests")

    def ran(self):
        """How often each POST's program ran."""
        counts = {}
        if (self.folder / "ran").exists():
            for token in (self.folder / "ran").read_text().split():
                counts[token] = counts.get(token, 0) + 1
        return counts

    def play(self, name, seconds, rate):
        """One act under load; returns what the load noted. The act has its own time: the load goes on at
        least as long."""
        load = self.front.spawn(sys.executable, HERE / "load.py", seconds, rate, name,
                                stdout=subprocess.PIPE, text=True)
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(load.stdout))
        reader.start()
        time.sleep(seconds / 6)
        try:
            ACTS[name](self, seconds)
        finally:
            reader.join()
            load.wait()
        return [json.loads(line) for line in lines]

    def close(self):
        for host in [*self.hosts, self.front]:
            try:
                host.go_on()
                host.kill_everything()
            except Problem:
                pass  # it was not made
        if self.haproxy is not None:
            self.haproxy.wait()
        for host in [*self.hosts, self.front]:
            subprocess.run(["ip", "netns", "delete", host.space], capture_output=True, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
