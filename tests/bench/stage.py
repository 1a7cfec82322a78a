"""Everything that answers in a comparison: bridges, fcgiwrap, responders, nginx and Apache."""

import pathlib
import shutil
import socket
import subprocess

from harness.bridge import BUILD, environment
from harness.site import EXAMPLES

RESPONDERS = BUILD / "examples" / "responders"
# The label, and the hand-written responder for the program, if examples/ has one.
PROGRAMS = {
    "hello.cgi": ("C", "hello.fcgi"),
    "hello-static.cgi": ("C, static", None),
    "hello-rust.cgi": ("Rust", None),
    "hello-go.cgi": ("Go, static", None),
    "hello-cgo.cgi": ("Go, cgo", None),
    "hello.sh": ("bash", None),
    "hello.pl": ("Perl", "hello.pl"),
    "hello-cgi.pl": ("Perl, CGI.pm and DBI", "hello-cgi.pl"),
    "hello.py": ("Python", "hello.py"),
    "hello-modules.py": ("Python, modules", None),
    "hello.js": ("Node", None),
    "hello-jar.cgi": ("Java, archive", None),
    "hello-java.cgi": ("Java, source file", None),
    "hello.rb": ("Ruby", None),
    "hello-libraries.rb": ("Ruby, libraries", None),
    "hello.tcl": ("Tcl", None),
    "hello.wasm": ("C as WebAssembly", "hello.fcgi"),
    # Nothing is rewritten: nginx uses php-cgi's own processes, without the bridge.
    "hello.php": ("PHP", "/usr/bin/php-cgi"),
}
# One bridge for each of these settings.
BRIDGES = {
    "classic": 'mode = "classic"',
    "fork": 'mode = "persistent"\nreset = "fork"',
    "rewind": 'mode = "persistent"\nreset = "rewind"\nrewind = { verify = 1000 }',
    "none": 'mode = "persistent"\nreset = "none"',
}
# Programs measured with reset = "none", which keeps a program's state.
NONE = {"hello.js", "hello.wasm"}
# What fcgiwrap and mod_cgid run in a program's place: the same source, as they can run it.
NATIVE = {"hello.wasm": "hello.cgi", "guestbook.wasm": "guestbook.cgi"}
# Programs whose responders are also measured with a connection for each request, which is nginx's default.
UNKEPT = {"hello.php"}
SIDES = ["fcgiwrap", "mod_cgid", *BRIDGES, "by-hand", "by-hand-unkept"]


def missing(program):
    """Why a program cannot be measured here, or None."""
    if program.endswith(".php") and not pathlib.Path("/usr/bin/php-cgi").exists():
        return "no php-cgi"
    if program.endswith(".js") and not shutil.which("/usr/bin/node"):
        return "no node"
    return None if (EXAMPLES / program).exists() else "not built (no compiler for it when it was configured?)"


def nginx_variables(variables):
    return " ".join(f'fastcgi_param {name} "{value}";' for name, value in variables.items())


def apache_variables(variables):
    return "\n".join(f'SetEnv {name} "{value}"' for name, value in variables.items())


class Stage:
    """Started once; url(side, program) is where a side answers. connections: how many requests each side can
    answer at once."""

    def __init__(self, site, programs, sides, keep_alive, connections):
        self.site, self.wanted, self.connections = site, sides, connections
        self.sockets = []
        for name in {*programs, *(NATIVE[name] for name in programs if name in NATIVE)}:
            self.install(name)
        self.bridges = {side: self.start_bridge(side) for side in BRIDGES if side in sides}
        addresses = {side: f"unix:{bridge.address}" for side, bridge in self.bridges.items()}
        if "fcgiwrap" in sides:
            addresses["fcgiwrap"] = self.listen("fcgiwrap", 1, "/usr/sbin/fcgiwrap",
                                                ["-c", str(connections)])
        locations = [self.location(f"/{side}/", side, keep_alive) for side in addresses]
        for name in programs:
            responder = RESPONDERS / (PROGRAMS.get(name, ("", None))[1] or "none")
            if "by-hand" in sides and responder.exists():
                # Two programs may have the same one.
                addresses[f"by-hand-{name}"] = self.listen(f"by-hand-{name}", connections, responder, [])
                locations.append(self.location(f"/by-hand/{name}", f"by-hand-{name}", keep_alive))
            # Separate processes, because kept connections hold all of the others.
            if "by-hand-unkept" in sides and name in UNKEPT and responder.exists():
                unkept = f"by-hand-unkept-{name}"
                addresses[unkept] = self.listen(unkept, connections, responder, [])
                locations.append(self.location(f"/by-hand-unkept/{name}", unkept, False))
        self.has_responder = {name for name in programs if f"by-hand-{name}" in addresses}
        self.nginx = site.start_nginx(
            next(iter(self.bridges.values()), None), locations="\n".join(locations),
            upstreams={name: (address, keep_alive and not name.startswith("by-hand-unkept"))
                       for name, address in addresses.items()})
        self.apache = self.start_apache() if "mod_cgid" in sides else None

    def install(self, name):
        """Puts a program into the cgi-bin that all sides share."""
        self.site.example(name)

    def variables(self, side):
        """The environment that this side gives its programs, in addition to the request's."""
        return {}

    def settings(self, side):
        """More lines for a bridge's [defaults]."""
        return ""

    def start_bridge(self, side):
        workers = f"workers = {{ max = {self.connections}, spare = {self.connections} }}"
        return self.site.start_bridge(
            f"{BRIDGES[side]}\n{workers}\n{self.settings(side)}", name=f"{side}.toml",
            listen=[f"unix:{self.site.folder}/{side}.sock"],
            bridge=f'log_level = "warn"\ncache = "{self.site.folder}/cache"\n')

    def start_apache(self):
        return self.site.start_apache(None, modules=["cgid", "env"], extra=f"""
            ScriptSock cgid.sock
            ScriptAlias "/mod_cgid/" "{self.site.cgi_bin}/"
            <Directory "{self.site.cgi_bin}">
              AllowOverride None
              Require all granted
              {apache_variables(self.variables("mod_cgid"))}
            </Directory>
            KeepAlive On
            MaxKeepAliveRequests 0
            """)

    def listen(self, name, count, command, more):
        """Starts count processes that accept from one socket on their descriptor 0."""
        path = str(self.site.folder / f"{name}.responder")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(512)
        self.sockets.append((listener, path))
        for _ in range(count):
            self.site.start(command, *more, stdin=listener, env=environment(PHP_FCGI_MAX_REQUESTS="0"),
                            stderr=subprocess.DEVNULL)
        return f"unix:{path}"

    def location(self, prefix, upstream, keep_alive):
        return f"""
location {prefix} {{
  include /etc/nginx/fastcgi_params;
  rewrite ^/[^/]*/(.*)$ /cgi-bin/$1 break;
  fastcgi_param SCRIPT_FILENAME {self.site.folder}$uri;
  {nginx_variables(self.variables(upstream))}
  {"fastcgi_keep_conn on;" if keep_alive else ""}
  fastcgi_pass {upstream};
}}"""

    def server(self, side):
        return self.apache if side == "mod_cgid" else self.nginx

    def url(self, side, program):
        return self.server(side).url(self.target(side, program))

    def target(self, side, program):
        native = NATIVE.get(program, program) if side in ("fcgiwrap", "mod_cgid") else program
        return f"/{side}/{native}"

    def sides(self, program):
        return [side for side in SIDES if side in self.wanted
                and (side != "by-hand" or program in self.has_responder)
                and (side != "by-hand-unkept" or program in UNKEPT)
                and (side != "none" or program in NONE)
                # php-cgi answers nothing without REDIRECT_STATUS, which mod_cgid sets for no script.
                and (side != "mod_cgid" or not program.endswith(".php"))]

    def answer(self, side, program):
        """The body of one answer, which must be correct."""
        answer = self.server(side).send_request(self.target(side, program))
        if answer.status != 200:
            raise SystemExit(f"{side} answers {program} with {answer.status}: {answer.text[:200]}")
        return answer.body

    def close(self):
        for listener, _ in self.sockets:
            listener.close()
        self.site.close(check=False)
        self.site.remove()
