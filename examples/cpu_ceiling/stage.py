"""A bridge behind an nginx that also serves a static file, and requests that burn CPU time, all in a scratch
folder. close() ends everything."""
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from ab_compare import Problem, processes
from ab_compare.peers import free_port, kill_group, tool

HERE = pathlib.Path(__file__).resolve().parent
FILE_BYTES = 1024
PATIENCE_S = 60


class Stage:
    def __init__(self, cgibridge, mode):
        self.cgibridge, self.mode = str(cgibridge), mode
        if not shutil.which("wrk"):
            raise Problem("`wrk` is not installed; as root: apt-get install wrk")
        self.started = []
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cgibridge-ceiling-"))
        (self.folder / "cgi-bin").mkdir()
        shutil.copy2(HERE / "burn.py", self.folder / "cgi-bin" / "burn.py")
        (self.folder / "file.txt").write_bytes(b"x" * (FILE_BYTES - 1) + b"\n")
        self.port = free_port()

    def start(self):
        self.write_settings(100)
        self.spawn("bridge", self.cgibridge, "serve", "--config", str(self.folder / "config.toml"))
        self.wait(lambda: self.command("status", "--json", check=False).returncode == 0, "the bridge")
        not_held = self.cgroups()["not_held"]
        if not_held:
            raise Problem(f"no cgroups to limit with: {'; '.join(not_held)}")
        (self.folder / "nginx.conf").write_text(self.nginx_settings())
        self.spawn("nginx", tool("nginx", "/usr/sbin/nginx"), "-p", str(self.folder), "-c",
                   str(self.folder / "nginx.conf"), "-e", str(self.folder / "nginx.log"))
        self.wait(self.serves_the_file, "nginx")

    # The bridge

    def write_settings(self, ceiling):
        """ceiling: per cent of one core; None: no limits and no cgroup, because even a cgroup without limits
        gives everything in it only the share of one process."""
        self.ceiling = ceiling
        limits = "" if ceiling is None else f"limits = {{ cpu = {ceiling} }}"
        fresh = self.folder / "config.fresh"
        fresh.write_text(f"""[bridge]
listen = ["unix:{self.folder}/fastcgi.sock"]
control = "{self.folder}/control.sock"
roots = ["{self.folder}/cgi-bin"]
{limits}
[defaults]
mode = "{self.mode}"
workers = {{ max = 64 }}
timeouts = {{ request = "0s" }}
""")
        fresh.rename(self.folder / "config.toml")

    def set_ceiling(self, ceiling):
        self.write_settings(ceiling)
        self.command("reload")
        # A program whose request is aborted is told to end, which may take a moment.
        self.wait(lambda: processes.family([self.started[0].pid]) == [self.started[0].pid],
                  "the programs' end")

    def command(self, *words, check=True):
        done = subprocess.run([self.cgibridge, *words, "--control", str(self.folder / "control.sock")],
                              capture_output=True, text=True, check=False)
        if check and done.returncode != 0:
            raise Problem(f"cgibridge {words[0]}: {done.stderr.strip()}")
        return done

    def status(self):
        return json.loads(self.command("status", "--json").stdout)["bridge"]

    def cgroups(self):
        return self.status()["cgroups"]

    def cpu_now(self):
        """(seconds of CPU time of all CGI so far, the clock's seconds)"""
        if self.ceiling is not None:
            return self.cgroups()["cpu_us"] / 1e6, time.monotonic()
        bridge = self.started[0].pid
        own = sum(map(int, processes.stat_fields(bridge)[11:13])) / processes.TICKS
        return processes.cpu_seconds([bridge]) - own, time.monotonic()

    def rests(self):
        """Whether there is no request, and no CPU time was used in a period of the ceiling, because ending
        takes some as well."""
        before, _ = self.cpu_now()
        time.sleep(0.15)
        return self.status()["requests_active"] == 0 and self.cpu_now()[0] == before

    # nginx

    def nginx_settings(self):
        temporary = "\n".join(f"  {kind}_temp_path {self.folder}/{kind};"
                              for kind in ("client_body", "fastcgi", "proxy", "uwsgi", "scgi"))
        return f"""daemon off;
{"user root;" if os.geteuid() == 0 else ""}
pid {self.folder}/nginx.pid;
error_log {self.folder}/nginx.log;
worker_processes 1;
events {{ worker_connections 1024; }}
http {{
  access_log off;
{temporary}
  keepalive_requests 100000000;
  server {{
    listen 127.0.0.1:{self.port};
    root {self.folder};
    location = /file.txt {{ }}
    location = /burn {{
      include /etc/nginx/fastcgi_params;
      fastcgi_param SCRIPT_FILENAME {self.folder}/cgi-bin/burn.py;
      fastcgi_param SCRIPT_NAME /burn;
      fastcgi_read_timeout 1h;
      fastcgi_pass unix:{self.folder}/fastcgi.sock;
    }}
  }}
}}
"""

    def serves_the_file(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/file.txt")
            return len(connection.getresponse().read()) == FILE_BYTES
        except OSError:
            return False
        finally:
            connection.close()

    def static_rate(self, seconds, connections):
        """Static requests per second in a closed loop."""
        done = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s",
                               f"http://127.0.0.1:{self.port}/file.txt"],
                              capture_output=True, text=True, check=False)
        found = re.search(r"^Requests/sec:\s+([\d.]+)", done.stdout, re.MULTILINE)
        if not found or "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
            raise Problem(f"wrk: {done.stdout.strip()} {done.stderr.strip()}")
        return float(found[1])

    # Processes

    def spawn(self, name, *command):
        with open(self.folder / f"{name}.output", "ab") as output:
            self.started.append(subprocess.Popen(command, stdout=output, stderr=output,
                                                 stdin=subprocess.DEVNULL, process_group=0))

    def wait(self, condition, what):
        until = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > until or self.started[-1].poll() is not None:
                said = "".join(file.read_text(errors="replace")[-1000:]
                               for file in self.folder.glob("*.output"))
                raise Problem(f"waited in vain for {what}: {said}")
            time.sleep(0.02)

    def close(self):
        for started in reversed(self.started):
            started.send_signal(signal.SIGTERM)
        for started in self.started:
            try:
                started.wait(10)
            except subprocess.TimeoutExpired:
                kill_group(started.pid, signal.SIGKILL)
                started.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Burners:
    """A number of clients, each of which requests a burn of `seconds` and, when it is answered, the next
    one."""

    def __init__(self, stage, count, seconds):
        self.stage, self.seconds = stage, seconds
        self.over, self.answered, self.failed = threading.Event(), 0, []
        self.connections = [http.client.HTTPConnection("127.0.0.1", stage.port) for _ in range(count)]
        self.threads = [threading.Thread(target=self.ask, args=(one,)) for one in self.connections]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        wanted = len(self.threads)
        self.stage.wait(lambda: self.failed or self.stage.status()["requests_active"] >= wanted,
                        "requests that burn")
        return self

    def ask(self, connection):
        while not self.over.is_set():
            try:
                connection.request("GET", f"/burn?{self.seconds}")
                answer = connection.getresponse()
                if answer.read() != b"burnt\n" and not self.over.is_set():
                    self.failed.append(f"a burn was answered with {answer.status}")
                self.answered += 1
            except (OSError, http.client.HTTPException) as error:
                if not self.over.is_set():
                    self.failed.append(f"a burn failed: {error}")
                return

    def __exit__(self, *_):
        self.over.set()
        for connection in self.connections:
            if connection.sock is not None:
                connection.sock.shutdown(2)   # nginx tells the bridge, which ends the program
        for thread in self.threads:
            thread.join()
        self.stage.wait(self.stage.rests, "the end of the burns")
