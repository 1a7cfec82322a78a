"""A site as Debian's packages ship it, asked with fcgiwrap (or Apache's mod_cgid, or the package's own
FastCGI service) and with the bridge in its place, in turn. Nothing else is changed in between.

It is the first process of mount, process and network namespaces in which port 80, /run and the sites of
Debian's nginx and Apache are its own:  python3 -m harness.drop_in < SITE > RESULT  (JSON both).
`ask_in_namespaces` starts it on this machine; tests/drop_in/run starts it in a Debian root.
"""

import dataclasses
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from harness import processes
from harness.bridge import BINARY
from harness.control import Control
from harness.processes import wait_until
from harness.sameness import Expected

FCGIWRAP = "/run/fcgiwrap.socket"
OURS = "/run/cgibridge/fastcgi.sock"
CONTROL = "/run/cgibridge/control.sock"
# What Debian's apache2 enables when it is installed, without the page of mod_status.
MODULES = ("mpm_event access_compat alias auth_basic authn_core authn_file authz_core authz_host authz_user "
           "autoindex deflate dir env filter mime negotiation reqtimeout setenvif "
           "cgid proxy proxy_fcgi").split()
CONFIGURATIONS = ["charset", "localized-error-pages", "other-vhosts-access-log", "security", "serve-cgi-bin"]
# Headers that say when, and how the web server cuts a body up, which it decides by when output arrives.
OF_THE_SERVER = {"date", "connection", "keep-alive", "transfer-encoding", "content-length"}
# So does mod_deflate with this one: it leaves it out of very small answers that arrive whole.
OF_DEFLATE = ("vary", "Accept-Encoding")


@dataclasses.dataclass
class Site:
    """As sites.toml has it; its usage explains the keys."""
    name: str
    front: str
    requests: list
    examples: list
    program: str = ""
    peer: str = ""
    modules: list = dataclasses.field(default_factory=list)
    section: list = dataclasses.field(default_factory=list)
    roots: list = dataclasses.field(default_factory=list)
    sockets: dict = dataclasses.field(default_factory=dict)
    user: str = "www-data"
    runtime: dict = dataclasses.field(default_factory=dict)
    binds: dict = dataclasses.field(default_factory=dict)
    rounds: int = 3
    times: int = 8
    seconds: float = 1.5        # at most for these, each time
    patience: float = 40        # until it is warm
    settled: float = 3          # since the last change of what is warm
    keep: str = "/var/tmp"      # where answers that differ are kept


# --- The machine -----------------------------------------------------------------------------------


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


def owned(path, owner, mode=0o755):
    pathlib.Path(path).mkdir(parents=True, exist_ok=True, mode=mode)
    shutil.chown(path, owner)


def lay_out(site):
    """Gives this process folders of its own where Debian's services have their sites, sockets and logs."""
    run("ip", "link", "set", "lo", "up")
    own = ["/run", "/var/log/nginx", "/var/log/apache2", "/etc/nginx/sites-enabled", "/var/lib/nginx",
           *(f"/etc/apache2/{kind}-enabled" for kind in ("mods", "conf", "sites"))]
    for folder in own:
        if os.path.isdir(folder):
            run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", folder)
    for folder in ("/run/apache2/socks", "/run/lock/apache2", "/run/cgibridge", "/run/lock"):
        owned(folder, "www-data")
    os.chmod("/run/lock", 0o1777)
    for target, source in site.binds.items():
        run("mount", "--bind", source, target)
    for folder, owner in site.runtime.items():
        owned(folder, owner)
    owned("/run/drop-in", "root")


class Service:
    """A process that listens; started and stopped as systemd does it."""

    def __init__(self, command, user="root", listener=None, as_input=False):
        self.command, self.user, self.listener, self.as_input = command, user, listener, as_input
        self.process = None

    def start(self):
        words = list(map(str, self.command))
        if self.user != "root":
            words = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--init-groups", *words]
        if self.listener:
            self.listener.setblocking(True)  # as systemd does it, because whoever had it may have changed it
            number = 0 if self.as_input else 3
            shell = f'exec {number}<&{self.listener.fileno()}; '
            shell += "" if self.as_input else "export LISTEN_PID=$$ LISTEN_FDS=1; "
            # The shell notes in the environment where it is; systemd does not.
            shell += 'exec env -u PWD -u OLDPWD -u SHLVL -u _ "$@"'
            words = ["/bin/bash", "-c", shell, "systemd", *words]
        with open("/run/drop-in/services.log", "ab") as log:
            self.process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                pass_fds=[self.listener.fileno()] if self.listener else [],
                env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                     "LANG": "C.UTF-8", "USER": self.user, "LOGNAME": self.user,
                     "HOME": os.path.expanduser(f"~{self.user}")})

    def wait_for(self, address):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f"{self.command[0]} ended with {self.process.returncode}: {logged()}")
            return processes.accepts(address)
        wait_until(ready, f"{self.command} listens on {address}: {logged()}", 15)

    def stop(self):
        left = processes.descendants_of(self.process.pid)
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for pid in left:
            processes.kill_quietly(pid, signal.SIGKILL)


def logged():
    text = ""
    for log in ("/run/drop-in/services.log", "/var/log/nginx/error.log", "/var/log/apache2/error.log",
                "/var/log/nginx/munin-errors.log"):
        if os.path.exists(log):
            text += pathlib.Path(log).read_text(errors="replace")[-1500:]
    return text


def listen_as_systemd(path, user="root", mode=0o666):
    pathlib.Path(path).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    os.chmod(path, mode)
    shutil.chown(path, user, user)
    listener.listen(4096)
    return listener


# --- The front ends --------------------------------------------------------------------------------


def start_nginx(site):
    """Debian's nginx.conf; the package's example is the site, or is included by one, as fcgiwrap's
    README.Debian says."""
    for example in site.examples:
        if "server {" in pathlib.Path(example).read_text():
            os.symlink(example, f"/etc/nginx/sites-enabled/{pathlib.Path(example).name}")
            continue
        pathlib.Path("/etc/nginx/sites-enabled/default").write_text(
            f"server {{ listen 80; server_name localhost; root /var/www/html; include {example}; }}\n")
    server = Service(["nginx", "-g", "daemon off;"])
    server.start()
    server.wait_for(("127.0.0.1", 80))
    return server


def start_apache(site, ours):
    """Debian's apache2.conf with what it enables by itself, and with the package's example. ours: and the
    lines of config/apache, in a file that is read last."""
    enabled = pathlib.Path("/etc/apache2")
    for kind in ("mods", "conf", "sites"):
        for link in (enabled / f"{kind}-enabled").iterdir():
            link.unlink()
    for name in [*MODULES, *site.modules]:
        for file in (enabled / "mods-available").glob(f"{name}.*"):
            (enabled / "mods-enabled" / file.name).symlink_to(file)
    for name in CONFIGURATIONS:
        (enabled / "conf-enabled" / f"{name}.conf").symlink_to(enabled / "conf-available" / f"{name}.conf")
    (enabled / "sites-enabled/000-default.conf").symlink_to(enabled / "sites-available/000-default.conf")
    for example in site.examples:
        (enabled / "conf-enabled" / f"site-{pathlib.Path(example).stem}.conf").symlink_to(example)
    if ours:
        opening = site.section or [f'<Directory "{os.path.dirname(site.program)}">']
        closing = [f"</{tag[1:].split()[0]}>" for tag in reversed(opening)]
        (enabled / "conf-enabled/zz-cgibridge.conf").write_text("\n".join([
            *opening, "AcceptPathInfo On", f'SetHandler "proxy:unix:{OURS}|fcgi://localhost"', *closing,
            '<Proxy "fcgi://localhost">', "ProxySet enablereuse=on flushpackets=auto flushwait=10",
            "</Proxy>", "ProxyFCGIBackendType GENERIC", ""]))
    server = Service(["/bin/sh", "-c", ". /etc/apache2/envvars; exec apache2 -DFOREGROUND"])
    server.start()
    server.wait_for(("127.0.0.1", 80))
    return server


# --- Those who answer ------------------------------------------------------------------------------


class Fcgiwrap:
    """fcgiwrap.socket's socket, held as systemd holds it; fcgiwrap.service's program, or ours."""

    def __init__(self, site):
        owned("/run/fcgiwrap", "www-data")
        self.listener = listen_as_systemd(FCGIWRAP, "www-data", 0o660)
        self.front = start_nginx(site)
        self.service = None
        self.control = "/run/fcgiwrap/control.sock"

    def theirs(self):
        self._start(["/usr/sbin/fcgiwrap", "-f"])

    def ours(self):
        self._start([BINARY, "fcgiwrap", "--control", self.control, "-f"])
        self.service.wait_for(self.control)

    def _start(self, command):
        self.service = Service(command, "www-data", self.listener)
        self.service.start()

    def stop(self):
        self.service.stop()

    def close(self):
        self.front.stop()


def write_settings(site, lines):
    roots = site.roots or [os.path.dirname(site.program)]
    path = pathlib.Path("/run/cgibridge/config.toml")
    path.write_text(f"[bridge]\nroots = {json.dumps(roots)}\nroot_links = true\ncontrol = \"{CONTROL}\"\n"
                    f"{lines}\n[defaults]\nuser = \"{site.user}\"\n")
    return [BINARY, "serve", "--config", path]


class ModCgid:
    """Apache with mod_cgid; with our lines added, the bridge as config/apache has it."""

    def __init__(self, site):
        self.site, self.services, self.control = site, [], CONTROL

    def theirs(self):
        self.services = [start_apache(self.site, ours=False)]

    def ours(self):
        bridge = Service(write_settings(self.site, f'listen = ["unix:{OURS}"]\nsocket_group = "www-data"'))
        bridge.start()
        self.services = [bridge]
        bridge.wait_for(CONTROL)
        self.services.insert(0, start_apache(self.site, ours=True))

    def stop(self):
        for service in self.services:
            service.stop()

    def close(self):
        pass


class OwnService:
    """The package's own FastCGI service on sockets that systemd holds; the bridge with `bound` sockets."""

    def __init__(self, site):
        self.site, self.services, self.listeners, self.control = site, [], [], CONTROL
        for path in site.sockets:
            owned(os.path.dirname(path), site.user)
        self.front = start_nginx(site)

    def theirs(self):
        for path, program in self.site.sockets.items():
            self.listeners.append(listen_as_systemd(path))
            self.services.append(Service([program], self.site.user, self.listeners[-1], as_input=True))
            self.services[-1].start()

    def ours(self):
        for path in self.site.sockets:
            pathlib.Path(path).unlink(missing_ok=True)
        bound = ", ".join(f'"unix:{path}" = "{program}"' for path, program in self.site.sockets.items())
        self.services = [Service(write_settings(
            self.site, f'listen = []\nsocket_mode = "0666"\nbound = {{ {bound} }}'))]
        self.services[0].start()
        self.services[0].wait_for(CONTROL)

    def stop(self):
        for service in self.services:
            service.stop()
        for listener in self.listeners:
            listener.close()
        self.services, self.listeners = [], []

    def close(self):
        self.front.stop()


PEERS = {"fcgiwrap": Fcgiwrap, "mod_cgid": ModCgid, "its own service": OwnService}


# --- The questions ---------------------------------------------------------------------------------


@dataclasses.dataclass
class Answer:
    status: int
    headers: list
    body: bytes
    ms: float

    def head(self):
        lines = [f"{name.lower()}: {value}" for name, value in self.headers
                 if name.lower() not in OF_THE_SERVER and (name.lower(), value) != OF_DEFLATE]
        return "\n".join([str(self.status), *sorted(lines)]).encode()


class Client:
    """One visitor with one connection, who asks one request after another."""

    def __init__(self):
        self.connection = http.client.HTTPConnection("localhost", 80, timeout=30)

    def ask(self, request):
        method, target, *body = request.split(" ", 2)
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if body else {}
        begin = time.perf_counter()
        try:
            self.connection.request(method, target, body[0] if body else None, headers)
            got = self.connection.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            # The web server has ended the kept connection; nothing of this request is lost.
            self.connection.close()
            begin = time.perf_counter()
            self.connection.request(method, target, body[0] if body else None, headers)
            got = self.connection.getresponse()
        content = got.read()
        return Answer(got.status, got.getheaders(), content, 1000 * (time.perf_counter() - begin))


def ask_often(site, client, request):
    answers, end = [], time.monotonic() + site.seconds
    while len(answers) < 2 or len(answers) < site.times and time.monotonic() < end:
        answers.append(client.ask(request))
    return answers


def status_of(backend, path):
    with Control(backend.control) as control:
        entries = control.ask("status")["programs"]
    return next((entry for entry in entries if entry["path"] == path), {})


def wait_warm(site, backend):
    """Asks until warm workers are there and what was learned from requests is loaded ahead, or until it is
    clear that none will be."""
    begin, client = time.monotonic(), Client()
    seen, since = None, begin
    while time.monotonic() < begin + site.patience:
        entry = status_of(backend, site.program)
        state = [entry.get(key) for key in ("generation", "newest_generation", "level", "learned")]
        if state != seen:
            seen, since = state, time.monotonic()
        warm = entry.get("workers", {}).get("idle", 0) > 0 and state[0] == state[1]
        if (warm or entry.get("arm") == "classic") and time.monotonic() > since + site.settled:
            break
        for request in site.requests:
            client.ask(request)
        time.sleep(0.2)


class Measured:
    """What one request was answered: by the peer, by the bridge just after its start, and by the warm one."""

    def __init__(self, request):
        self.request = request
        self.theirs, self.cold, self.early, self.warm = [], [], [], []

    def result(self, keep):
        head = Expected(answer.head() for answer in self.theirs)
        body = Expected(answer.body for answer in self.theirs)
        differences = []
        for kind in ("cold", "early", "warm"):
            for answer in getattr(self, kind):
                if what := head.difference(answer.head()) or body.difference(answer.body):
                    differences.append(f"{kind}: {what}")
                    keep(self, answer)
        return {"request": self.request, "status": self.theirs[0].status, "bytes": len(self.theirs[0].body),
                "compared": len(self.cold + self.early + self.warm), "differences": differences,
                "varying_lines": body.varying,
                "ms": {kind: round(statistics.median(answer.ms for answer in getattr(self, kind)), 3)
                       if getattr(self, kind) else None for kind in ("theirs", "cold", "warm")}}


def ask_all(site, backend):
    """Rounds in turn; the peer's is also the last, so that what it changes with the time frames ours."""
    measured = [Measured(request) for request in site.requests]
    found = {}
    for number in range(site.rounds):
        backend.theirs()
        client = Client()
        for one in measured:
            client.ask(one.request)
            one.theirs += ask_often(site, client, one.request)
        backend.stop()
        backend.ours()
        client = Client()
        # Only the first one finds a bridge that has just started.
        first = number % len(measured)
        for one in measured[first:] + measured[:first]:
            (one.cold if one is measured[first] else one.early).append(client.ask(one.request))
        wait_warm(site, backend)
        for one in measured:
            one.early.append(client.ask(one.request))
            one.warm += ask_often(site, client, one.request)
        found = status_of(backend, site.program)
        backend.stop()
    backend.theirs()
    for one in measured:
        one.theirs += ask_often(site, Client(), one.request)
    backend.stop()
    return measured, found


def measure(site):
    lay_out(site)
    backend = PEERS[site.peer or ("fcgiwrap" if site.front == "nginx" else "mod_cgid")](site)
    try:
        measured, found = ask_all(site, backend)
    finally:
        backend.close()
    kept = tempfile.mkdtemp(prefix=f"drop-in-{site.name.replace('/', '_')}-", dir=site.keep)

    def keep(one, answer):
        number = site.requests.index(one.request)
        for name, what in (("theirs", one.theirs[-1]), ("ours", answer)):
            pathlib.Path(kept, f"{number}.{name}").write_bytes(what.head() + b"\n\n" + what.body)
    results = [one.result(keep) for one in measured]
    if not os.listdir(kept):
        os.rmdir(kept)
    return {"site": dataclasses.asdict(site), "requests": results, "program": found, "log": logged()}


def main():
    site = Site(**json.load(sys.stdin))
    output = os.dup(1)
    os.dup2(2, 1)  # whatever else is printed is no result
    with open(output, "w", encoding="utf-8") as result:
        try:
            json.dump(measure(site), result)
        except (AssertionError, OSError, subprocess.CalledProcessError, http.client.HTTPException) as error:
            json.dump({"problem": f"{type(error).__name__}: {error}", "log": logged()}, result)


if __name__ == "__main__":
    main()
