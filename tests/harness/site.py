"""The environment of one test: a folder, a cgi-bin, one or more bridges, web servers."""

import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import textwrap

from harness import processes
from harness.bridge import BINARY, BUILD, Bridge, environment, write_at_once
from harness.compiled import compile_program
from harness.webserver import Apache, Caddy, H2o, HAProxy, Lighttpd, Nginx

# These are errors in gcc 14 and warnings in gcc 12. With them, a test's program compiles in both Debian
# releases or in neither.
REFUSED = ["-Werror=implicit", "-Werror=int-conversion", "-Werror=incompatible-pointer-types"]
EXAMPLES = BUILD / "examples" / "cgi-bin"
PROJECT = pathlib.Path(__file__).resolve().parents[2]


def with_verify(defaults):
    """In tests every rewind is verified, unless the test says otherwise; a difference fails the test
    (Bridge.check_log)."""
    if re.search(r"\bverify\b", defaults):
        return defaults
    if re.search(r"^rewind = \{", defaults, re.MULTILINE):
        return re.sub(r"^rewind = \{", "rewind = { verify = 1,", defaults, flags=re.MULTILINE)
    return "rewind = { verify = 1 }\n" + defaults


class Site:
    """Owned by the fixture `site`, which calls close() whatever the test did.

    Everything is in `folder`, which is deleted after a test that passed (unless CGIBRIDGE_TESTS_KEEP is set);
    after one that failed it is kept and its path printed.
    """

    def __init__(self):
        # Short, because paths of unix sockets are limited; readable for web servers that run as other users.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cgibridge-test-", dir="/tmp"))
        self.folder.chmod(0o755)
        self.cgi_bin = self.folder / "cgi-bin"
        self.cgi_bin.mkdir()
        self.bridges = []
        self.servers = []
        self._started = []
        self._survivors = set()
        self._children_before = set(processes.children_of(os.getpid()))

    # Programs

    def script(self, name, text, mode=0o755):
        """Writes a program into cgi-bin (or a folder there) and returns its path."""
        path = self.cgi_bin / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # A new file each time, so that a running program of the old one is not disturbed.
        fresh = path.with_name(path.name + ".fresh")
        fresh.write_text(textwrap.dedent(text).lstrip("\n"))
        fresh.chmod(mode)
        fresh.rename(path)
        return path

    def sh(self, name, text, mode=0o755):
        return self.script(name, "#!/bin/sh\n" + textwrap.dedent(text).lstrip("\n"), mode)

    def python(self, name, text, mode=0o755):
        return self.script(name, "#!/usr/bin/python3\n" + textwrap.dedent(text).lstrip("\n"), mode)

    def perl(self, name, text, mode=0o755):
        return self.script(name, "#!/usr/bin/perl\n" + textwrap.dedent(text).lstrip("\n"), mode)

    def c(self, name, text, *flags):
        """Compiles a C program into cgi-bin."""
        path = self.cgi_bin / name
        source = self.folder / (name + ".c")
        source.write_text(textwrap.dedent(text))
        compile_program("cc", source, path, ["-O1", "-Wall", *REFUSED, *flags])
        return path

    def example(self, name):
        """A copy of an example program, as built or installed by the project."""
        path = self.cgi_bin / name
        shutil.copy2(EXAMPLES / name, path)
        return path

    # Processes

    def write_config(self, defaults="", programs="", bridge="", listen=None, roots=None,
                     name="config.toml"):
        """Writes a settings file. defaults and bridge are lines of their tables; programs are whole
        tables."""
        listen = [f"unix:{self.folder}/fastcgi.sock"] if listen is None else listen
        roots = roots or [self.cgi_bin]
        quoted = ", ".join(f'"{entry}"' for entry in listen)
        folders = ", ".join(f'"{entry}"' for entry in roots)
        own = textwrap.dedent(bridge)
        text = f"[bridge]\nlisten = [{quoted}]\nroots = [{folders}]\n"
        text += f'control = "{self.folder}/{name.partition(".")[0]}.control"\n'
        if "socket_mode" not in own:
            text += 'socket_mode = "0666"\n'
        text += own + "\n[defaults]\n" + with_verify(textwrap.dedent(defaults)) + "\n"
        text += textwrap.dedent(programs)
        path = self.folder / name
        write_at_once(path, text)
        return path

    def prepare_bridge(self, defaults="", programs="", bridge="", listen=None, roots=None,
                       name="config.toml"):
        """A bridge that is not started yet, and its settings file."""
        listen = [f"unix:{self.folder}/fastcgi.sock"] if listen is None else listen
        config = self.write_config(defaults, programs, bridge, listen, roots, name)
        addresses = []
        for entry in listen:
            if entry.startswith("unix:"):
                addresses.append(entry[len("unix:"):])
            else:
                host, _, port = entry.rpartition(":")
                addresses.append((host.strip("[]"), int(port)))
        log = self.folder / f"{config.stem}.log"
        made = Bridge(config, config.with_suffix(".control"), addresses, log)
        self.bridges.append(made)
        return made

    def start_bridge(self, *args, **options):
        """Starts a bridge. See write_config for the arguments; mode defaults to what [defaults] says."""
        return self.prepare_bridge(*args, **options).start()

    def rewrite_config(self, *args, **options):
        """Writes the settings again; the running bridge notices by itself, or after SIGHUP."""
        return self.write_config(*args, **options)

    def cgibridge(self, *arguments, expect=0, seconds=30, env=None, **options):
        """Runs a command of the binary; returns the finished process."""
        done = subprocess.run([str(BINARY), *map(str, arguments)], capture_output=True, text=True,
                              timeout=seconds * processes.PATIENCE, env=environment(**(env or {})),
                              **options)
        assert expect is None or done.returncode == expect, (
            f"{arguments}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def start(self, *command, **options):
        """Starts any other process, which is ended with the test."""
        started = subprocess.Popen([str(word) for word in command], **options)
        self._started.append(started)
        return started

    def start_nginx(self, bridge, **options):
        return self._start_server(Nginx(self, bridge, **options))

    def start_apache(self, bridge, **options):
        return self._start_server(Apache(self, bridge, **options))

    def start_lighttpd(self, bridge, **options):
        return self._start_server(Lighttpd(self, bridge, **options))

    def start_haproxy(self, bridge, **options):
        return self._start_server(HAProxy(self, bridge, **options))

    def start_caddy(self, bridge, **options):
        return self._start_server(Caddy(self, bridge, **options))

    def start_h2o(self, bridge, **options):
        return self._start_server(H2o(self, bridge, **options))

    def _start_server(self, server):
        self.servers.append(server)
        server.start()
        return server

    def expect_survivor(self, pid):
        """Allows this process to outlive the bridge; it is ended with the test."""
        self._survivors.add(pid)

    # The end

    def close(self, check):
        """Ends everything. check: nothing may be left, and nothing unexpected may be in the logs."""
        problems = []

        def attempt(action):
            try:
                action()
            except AssertionError as failed:
                problems.append(str(failed))

        for server in reversed(self.servers):
            attempt(server.stop)
        for bridge in self.bridges:
            if not bridge.stopped and bridge._process:
                attempt(bridge.expect_clean_stop if check else bridge.kill)
        for started in self._started:
            if started.poll() is None:
                # It goes first: some start another child for each that ends.
                descendants = processes.descendants_of(started.pid)
                started.terminate()
                try:
                    started.wait(5)
                except subprocess.TimeoutExpired:
                    started.kill()
                    started.wait()
                for pid in descendants:
                    if processes.alive(pid):
                        processes.kill_quietly(pid, signal.SIGTERM)
        for bridge in self.bridges:
            bridge.kill()
            attempt(bridge.check_log)
        for pid in self._survivors:
            processes.kill_quietly(pid)
        attempt(self._check_no_process)
        attempt(self._check_no_socket)
        return problems if check else []

    def _check_no_process(self):
        left = []

        def none_left():
            nonlocal left
            processes.reap_adopted(self._children_before)
            left = [pid for pid in processes.children_of(os.getpid())
                    if pid not in self._children_before and pid not in self._survivors]
            return not left
        try:
            processes.wait_until(none_left, "")
        except AssertionError:
            names = [f"{pid} {processes.command_of(pid)}" for pid in left]
            for pid in left:
                processes.kill_quietly(pid)
            raise AssertionError(f"processes left behind: {names}") from None

    def _check_no_socket(self):
        # What a web server leaves in its own folder does not matter.
        others = [server.folder for server in self.servers]
        left = [str(path) for path in self.folder.rglob("*")
                if stat.S_ISSOCK(path.lstat().st_mode)
                and not any(path.is_relative_to(folder) for folder in others)]
        assert not left, f"sockets left behind: {left}"

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
