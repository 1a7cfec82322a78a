"""The hosts that the bridge is compared with, started for the comparison: fcgiwrap, Apache's mod_cgid and
hand-written responders, each on a free port of 127.0.0.1; and an nginx of the comparison's own, if no other
web server is in front of the bridge. Everything is in a scratch folder, and ends with close()."""
import grp
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from . import Problem, server_settings

PACKAGES = {"nginx": "nginx-light", "apache2": "apache2", "fcgiwrap": "fcgiwrap"}
PREFIX = "/cgi-bin"


class Stage:
    """programs: {name: (path, environment)}. side_url() is where a side answers one of them; pids() are the
    processes whose CPU time and memory are that side's."""

    def __init__(self, programs, bridge_pid, processes):
        self.programs, self.processes = programs, processes
        self.started, self.listeners, self.ports, self.roots = [], [], {}, {}
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cgibridge-ab-"))
        self.folder.chmod(0o755)
        self.user = pwd.getpwuid(os.stat(f"/proc/{bridge_pid}").st_uid)
        if os.geteuid() not in (0, self.user.pw_uid):
            raise Problem(f"the bridge runs as {self.user.pw_name}: start this as that user or as "
                          "root, so that what it is compared with runs as that user too")

    # Sides

    def add_bridge(self, address):
        """The bridge behind our nginx; address has the form of its `listen`."""
        self.serve({name: (address, path, {}) for name, (path, _) in self.programs.items()},
                   "bridge")

    def add_fcgiwrap(self):
        self.roots["fcgiwrap"] = self.listen("fcgiwrap", 1, tool("fcgiwrap", "/usr/sbin/fcgiwrap"),
                                             "-c", str(self.processes))
        self.serve({name: (self.address("fcgiwrap"), path, env)
                    for name, (path, env) in self.programs.items()}, "fcgiwrap")

    def add_by_hand(self, responders):
        """responders: {program: file}. A program without one is not measured on this side."""
        places = {}
        for number, (name, file) in enumerate(responders.items()):
            key = f"by-hand-{number}"
            env = self.programs[name][1]
            self.roots[f"by-hand {name}"] = self.listen(key, self.processes, file, env=env)
            places[name] = (self.address(key), self.programs[name][0], env)
        self.serve(places, "by-hand")

    def add_mod_cgid(self):
        port = self.ports["mod_cgid"] = free_port()
        folder = self.folder / "apache"
        folder.mkdir()
        user = self.user
        if self.user.pw_uid == 0:
            user = pwd.getpwnam("www-data")   # Apache refuses to run programs as root
        if os.geteuid() == 0:
            os.chown(folder, user.pw_uid, user.pw_gid)
        text = server_settings.apache(folder, port, self.programs, PREFIX,
                                      names_of(user))
        (folder / "apache.conf").write_text(text)
        pid = self.start([tool("apache2", "/usr/sbin/apache2"), "-DFOREGROUND", "-d", str(folder),
                          "-f", str(folder / "apache.conf")], folder / "output.log",
                         {"APACHE_LOCK_DIR": str(folder)})
        self.roots["mod_cgid"] = [pid]
        self.wait_for(port, "Apache", folder)

    def serve(self, places, side):
        """A separate nginx for one side: places is {program: (upstream, file, params)}."""
        port = self.ports[side] = free_port()
        folder = self.folder / f"nginx-{side}"
        folder.mkdir()
        text = server_settings.nginx(folder, port, places, PREFIX, names_of(self.user),
                                     self.processes)
        (folder / "nginx.conf").write_text(text)
        self.start([tool("nginx", "/usr/sbin/nginx"), "-p", str(folder), "-c",
                    str(folder / "nginx.conf"), "-e", str(folder / "error.log")],
                   folder / "output.log")
        self.wait_for(port, "nginx", folder)

    def has(self, side, program):
        return side != "by-hand" or f"by-hand {program}" in self.roots

    def side_url(self, side, program):
        return f"http://127.0.0.1:{self.ports[side]}{PREFIX}/{program}"

    def pids(self, side, program):
        return self.roots[f"by-hand {program}" if side == "by-hand" else side]

    # Starting and ending

    def address(self, key):
        return f"unix:{self.folder}/{key}.sock"

    def listen(self, key, count, command, *words, env=None):
        """Starts count processes that accept from one socket on their descriptor 0, as the bridge's user."""
        listener = socket.socket(socket.AF_UNIX)
        path = self.folder / f"{key}.sock"
        listener.bind(str(path))
        path.chmod(0o666)
        listener.listen(512)
        self.listeners.append(listener)
        drop = {}
        if os.geteuid() == 0 and self.user.pw_uid != 0:
            drop = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}
        return [self.start([str(command), *words], self.folder / f"{key}.log", env, stdin=listener,
                           **drop) for _ in range(count)]

    def start(self, command, log, env=None, **more):
        with open(log, "ab") as output:
            try:
                started = subprocess.Popen(
                    command, stdout=output, stderr=output, process_group=0,
                    env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", **(env or {})},
                    **{"stdin": subprocess.DEVNULL, **more})
            except OSError as error:
                raise Problem(f"cannot start {command[0]}: {error}") from None
        self.started.append(started)
        return started.pid

    def wait_for(self, port, name, folder):
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                return
            except OSError:
                pass
            if self.started[-1].poll() is not None:
                break
            time.sleep(0.02)
        logs = "".join(log.read_text(errors="replace") for log in folder.glob("*.log"))
        raise Problem(f"{name} does not start: {logs.strip()[-600:]}")

    def close(self):
        """Ends everything that was started, by whole process groups, and removes the folder."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            left = [started for started in self.started if started.poll() is None]
            for started in left:
                kill_group(started.pid, number)
            deadline = time.monotonic() + 5
            while left and time.monotonic() < deadline:
                left = [started for started in left if started.poll() is None]
                time.sleep(0.02)
        for started in self.started:
            kill_group(started.pid, signal.SIGKILL)   # what its programs left behind
        for listener in self.listeners:
            listener.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def names_of(user):
    """(user, group) for a server that root starts; None for a server that keeps its user."""
    return (user.pw_name, grp.getgrgid(user.pw_gid).gr_name) if os.geteuid() == 0 else None


def kill_group(pid, number):
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def tool(name, usual):
    found = shutil.which(name) or shutil.which(usual)
    if not found:
        raise Problem(f"{name} is not installed; as root: apt-get install {PACKAGES[name]}")
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
