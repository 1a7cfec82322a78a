"""Real web servers in front of a bridge, each with its own settings and folder, in the foreground, on a free
port of 127.0.0.1, as the user who runs the tests."""

import dataclasses
import http.client
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import textwrap

import pytest

from harness import processes
from harness.bridge import BINARY
from harness.processes import PATIENCE, wait_until

MODULES = "/usr/lib/apache2/modules"
CONFIG = pathlib.Path(__file__).resolve().parents[2] / "config"


def shipped(name, site, bridge):
    """The text of a file under config/, with only the paths replaced by this test's."""
    text = (CONFIG / name).read_text()
    for there, here in (("/run/cgibridge/fastcgi.sock", bridge.address),
                        ("/run/cgibridge/control.sock", str(bridge.control)),
                        ("/usr/lib/cgi-bin", str(site.cgi_bin)),
                        ("/usr/lib", str(site.folder)),
                        ("/var/www/html", f"{site.folder}/html"),
                        ("/usr/bin/cgibridge", str(BINARY))):
        text = text.replace(there, here)
    return text


def require(server):
    """Skips a test for which this web server is missing."""
    command = {"apache": "apache2"}.get(server, server)
    if not shutil.which(command, path="/usr/sbin:/usr/bin"):
        pytest.skip(f"{command} is not installed (Debian 13 has no h2o)")


@dataclasses.dataclass
class HttpResponse:
    status: int
    headers: dict
    body: bytes

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")


class WebServer:
    """start() and stop(); send_request() sends one HTTP request on its own connection."""

    name = ""

    def __init__(self, site, bridge):
        self.site = site
        self.bridge = bridge
        self.port = processes.free_port()
        self.folder = site.folder / f"{self.name}-{self.port}"
        self.folder.mkdir()
        self.log_file = self.folder / "error.log"
        self.output = self.folder / "output.log"
        self._process = None

    @property
    def pid(self):
        return self._process.pid

    def log(self):
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def command(self):
        raise NotImplementedError

    def start(self):
        with open(self.output, "wb") as output:
            self._process = subprocess.Popen(self.command(), stdout=output, stderr=output,
                                             stdin=subprocess.DEVNULL, cwd=self.folder,
                                             env=self.environment())

        def ready():
            if self._process.poll() is not None:
                raise AssertionError(f"{self.name} ended: {self.output.read_text()}{self.log()}")
            return processes.accepts(("127.0.0.1", self.port))
        wait_until(ready, f"{self.name} answers", 15)

    def environment(self):
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}

    def stop(self):
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            for pid in [*processes.descendants_of(self.pid), self.pid]:
                processes.kill_quietly(pid)
            self._process.wait()

    def send_request(self, target, method="GET", body=None, headers=None, seconds=30):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds * PATIENCE)
        try:
            connection.request(method, target, body, headers or {})
            return self._read(connection)
        finally:
            connection.close()

    def _read(self, connection):
        answer = connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return HttpResponse(answer.status, headers, answer.read())

    def send_raw(self, bytes_):
        """Sends these bytes and returns the open socket."""
        connection = processes.connect(("127.0.0.1", self.port), 30)
        connection.sendall(bytes_)
        return connection

    def url(self, target):
        return f"http://127.0.0.1:{self.port}{target}"


def read_all(connection):
    """Reads until the other side closes."""
    chunks = []
    while True:
        chunk = connection.recv(65536)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)


class Nginx(WebServer):
    """locations: text of location blocks; by default /cgi-bin/ is the site's cgi-bin, and PATH_INFO is left
    to the bridge, as in nginx's own fastcgi_params."""

    name = "nginx"

    def __init__(self, site, bridge, keep_alive=False, locations=None, extra="", workers=1,
                 upstreams=None, sites=""):
        super().__init__(site, bridge)
        self.keep_alive = keep_alive
        self.locations = textwrap.dedent(locations) if locations else None
        self.extra = textwrap.dedent(extra)
        self.workers = workers
        # {name: (address, keep alive)}, in addition to the bridge.
        self.upstreams = upstreams or {}
        # Whole server blocks in addition to ours.
        self.sites = sites

    def command(self):
        config = self.folder / "nginx.conf"
        config.write_text(self.config())
        return ["nginx", "-p", str(self.folder), "-c", str(config), "-e", str(self.log_file)]

    def upstream(self):
        address = self.bridge.address
        return f"{address[0]}:{address[1]}" if isinstance(address, tuple) else f"unix:{address}"

    def more_upstreams(self):
        return "\n".join(f"upstream {name} {{ server {address}; {'keepalive 16;' if keep else ''} }}"
                         for name, (address, keep) in self.upstreams.items())

    def default_locations(self):
        return f"""
location /cgi-bin/ {{
  include /etc/nginx/fastcgi_params;
  fastcgi_param SCRIPT_FILENAME {self.site.folder}$fastcgi_script_name;
  fastcgi_pass bridge;
}}"""

    def config(self):
        keep = "fastcgi_keep_conn on;" if self.keep_alive else ""
        user = "user root;" if os.getuid() == 0 else ""
        return f"""
daemon off;
{user}
worker_processes {self.workers};
pid {self.folder}/nginx.pid;
error_log {self.log_file} info;
events {{ worker_connections 512; }}
http {{
  access_log off;
  client_body_temp_path {self.folder}/body;
  proxy_temp_path {self.folder}/proxy;
  fastcgi_temp_path {self.folder}/fastcgi;
  uwsgi_temp_path {self.folder}/uwsgi;
  scgi_temp_path {self.folder}/scgi;
  client_max_body_size 0;
  fastcgi_read_timeout 60s;
  keepalive_requests 1000000;
  upstream bridge {{
    server {self.upstream()};
    {"keepalive 16;" if self.keep_alive else ""}
  }}
  {self.more_upstreams()}
  {self.sites}
  {keep}
  server {{
    listen 127.0.0.1:{self.port};
    root {self.site.folder};
    {self.extra}
    {self.locations or self.default_locations()}
  }}
}}
"""


class Apache(WebServer):
    """The event MPM with mod_proxy_fcgi (the default), or whatever `extra` configures."""

    name = "apache"

    def __init__(self, site, bridge, backend_type=None, modules=(), extra="", route="SetHandler"):
        super().__init__(site, bridge)
        self.backend_type = backend_type
        self.modules = modules
        self.extra = textwrap.dedent(extra)
        self.route = route
        if os.getuid() == 0:
            # Apache refuses to serve as root; its log folder must belong to its user.
            user = pwd.getpwnam("www-data")
            os.chown(self.folder, user.pw_uid, user.pw_gid)

    def environment(self):
        return {**super().environment(), "APACHE_LOCK_DIR": str(self.folder)}

    def command(self):
        config = self.folder / "apache.conf"
        config.write_text(self.config())
        return ["apache2", "-DFOREGROUND", "-d", str(self.folder), "-f", str(config)]

    def backend(self):
        address = self.bridge.address
        if isinstance(address, tuple):
            return f"fcgi://{address[0]}:{address[1]}"
        return f"unix:{address}|fcgi://localhost"

    def proxy(self):
        if self.bridge is None:
            return ""
        backend_type = f"ProxyFCGIBackendType {self.backend_type}" if self.backend_type else ""
        if self.route == "ProxyPass":
            return f'ProxyPass "/cgi-bin/" "{self.backend()}{self.site.folder}/cgi-bin/"\n{backend_type}'
        return f"""
Alias "/cgi-bin/" "{self.site.folder}/cgi-bin/"
<Directory "{self.site.folder}/cgi-bin">
  AcceptPathInfo On
  Require all granted
  SetHandler "proxy:{self.backend()}"
</Directory>
{backend_type}
"""

    def config(self):
        modules = ["mpm_event", "authz_core", "alias", "dir", "proxy", "proxy_fcgi", *self.modules]
        load = "\n".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in modules)
        user = "User www-data\nGroup www-data" if os.getuid() == 0 else ""
        return f"""
{load}
{user}
ServerName localhost
Listen 127.0.0.1:{self.port}
PidFile {self.folder}/apache.pid
DefaultRuntimeDir {self.folder}
Mutex file:{self.folder}
ErrorLog {self.log_file}
LogLevel info
DocumentRoot {self.site.folder}
StartServers 1
ServerLimit 2
ThreadsPerChild 25
MaxRequestWorkers 50
{self.proxy()}
{self.extra}
"""


class Lighttpd(WebServer):
    """ready: a settings file to use instead of our own use of the bridge."""

    name = "lighttpd"

    def __init__(self, site, bridge, ready=None):
        super().__init__(site, bridge)
        self.ready = ready

    def command(self):
        config = self.folder / "lighttpd.conf"
        config.write_text(self.config())
        return ["lighttpd", "-D", "-f", str(config)]

    def config(self):
        address = self.bridge.address
        where = (f'"host" => "{address[0]}", "port" => {address[1]}'
                 if isinstance(address, tuple) else f'"socket" => "{address}"')
        own = (f"""server.modules = ("mod_fastcgi")
fastcgi.server = ("/cgi-bin/" => (({where}, "check-local" => "disable")))""")
        return f"""
{self.ready or own}
server.bind = "127.0.0.1"
server.port = {self.port}
server.document-root = "{self.site.folder}"
server.errorlog = "{self.log_file}"
server.upload-dirs = ("{self.folder}")
"""


class HAProxy(WebServer):
    """The shipped file. multiplexing: with its lines for several requests at a time on one connection."""

    name = "haproxy"

    def __init__(self, site, bridge, multiplexing=False):
        super().__init__(site, bridge)
        self.multiplexing = multiplexing

    def log(self):
        return self.output.read_text(errors="replace")

    def command(self):
        own = self.folder / "global.cfg"
        own.write_text("global\n  log stdout format raw local0\n  nbthread 2\n")
        text = shipped("haproxy/haproxy-cgibridge.cfg", self.site, self.bridge)
        if self.multiplexing:
            text = text.replace("#option", "option").replace("#http-reuse", "http-reuse")
        config = self.folder / "cgibridge.cfg"
        config.write_text(text.replace("bind :80", f"bind 127.0.0.1:{self.port}"))
        return ["haproxy", "-db", "-f", str(own), "-f", str(config)]


class Caddy(WebServer):
    """The shipped file."""

    name = "caddy"

    def environment(self):
        return {**super().environment(), "HOME": str(self.folder)}

    def log(self):
        return self.output.read_text(errors="replace")

    def command(self):
        config = self.folder / "Caddyfile"
        text = shipped("caddy/Caddyfile", self.site, self.bridge)
        site = text.replace(":80 {", f":{self.port} {{")
        config.write_text("{\n\tadmin off\n\tdefault_bind 127.0.0.1\n}\n" + site)
        return ["caddy", "run", "--config", str(config)]


class H2o(WebServer):
    """The shipped file."""

    name = "h2o"

    def command(self):
        config = self.folder / "h2o.conf"
        text = shipped("h2o/h2o-cgibridge.conf", self.site, self.bridge)
        text = text.replace("listen:\n      port: 80", f"listen: {{ host: 127.0.0.1, port: {self.port} }}")
        if os.getuid() != 0:
            text = text.replace("user: debian-h2o\n", "")
        config.write_text(text.replace("/var/log/h2o/error.log", str(self.log_file)))
        return ["h2o", "-c", str(config)]


def http_head_of(raw):
    """(status line, {field: value}, body) of a raw HTTP response."""
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    fields = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
    return lines[0], {name.lower(): value for name, value in fields.items()}, body
