"""`cgibridge migrate`: sites that people come from, asked before and after the change that it proposes."""

import grp
import hashlib
import json
import os
import pathlib
import re
import subprocess

import pytest

from harness import processes, programs
from harness.bridge import Bridge, environment
from harness.processes import wait_until
from harness.programs import reported
from harness.webserver import MODULES, WebServer, require

EXAMPLE = pathlib.Path("/usr/share/doc/fcgiwrap/examples/nginx.conf")
CGI_BIN_CONF = pathlib.Path("/etc/apache2/conf-available/serve-cgi-bin.conf")
AS_ROOT = os.getuid() == 0

# The ways in which people point nginx at fcgiwrap, and what is asked there.
NGINX_SITES = {
    "a folder, by root": ("""
        location /cgi-bin/ {
          gzip off;
          root {folder};
          fastcgi_pass unix:{fcgiwrap};
          include {etc}/fastcgi_params;
          fastcgi_param SCRIPT_FILENAME {folder}$fastcgi_script_name;
        }""", ["/cgi-bin/report?a=b", "/cgi-bin/hello"]),
    "Debian's example": ("include example.conf;", ["/cgi-bin/report?a=b", "/cgi-bin/again.pl"]),
    "an ending, below the document root": ("""
        root {folder};
        location ~ \\.pl$ { try_files $uri =404;
          include fastcgi_params; fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
          fastcgi_pass unix:{fcgiwrap}; }""", ["/cgi-bin/again.pl?x=1", "/cgi-bin/none.pl"]),
    "one program": ("""
        location /reports {
          fastcgi_param SCRIPT_FILENAME {folder}/cgi-bin/report;
          fastcgi_param SCRIPT_NAME /reports;
          fastcgi_param REQUEST_METHOD $request_method;
          fastcgi_param QUERY_STRING $query_string;
          fastcgi_param PATH_INFO $uri;
          fastcgi_param REPORT_CONFIG "/etc/report.conf";
          fastcgi_pass unix:{fcgiwrap};
        }""", ["/reports", "/reports/deep/path?q=1"]),
    "an alias": ("""
        location /tools/ {
          alias {folder}/cgi-bin/;
          if ($request_method = POST) { return 405; }
          include fastcgi_params;
          fastcgi_param SCRIPT_FILENAME $request_filename;
          fastcgi_pass unix:{fcgiwrap};
        }""", ["/tools/report", "/tools/again.pl"]),
    "an upstream, and a snippet": ("""
        location ^~ /cgi/ {
          rewrite ^/cgi/(.*) /$1 break;
          root {folder}/cgi-bin;
          include snippets/fcgiwrap.conf;
        }""", ["/cgi/report?z", "/cgi/hello"]),
    "nothing but DOCUMENT_ROOT": ("""
        location /cgi-bin/ {
          root {folder};
          include fastcgi_params;
          fastcgi_pass unix:{fcgiwrap};
        }""", ["/cgi-bin/report", "/cgi-bin/hello"]),
}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def again(site):
    site.perl("again.pl", """
        print "Content-Type: text/plain\\nX-Own: yes\\n\\n", "asked with $ENV{QUERY_STRING}\\n";
        """)


def fill_cgi_bin(site):
    programs.report(site)
    programs.hello(site)
    again(site)
    (site.cgi_bin / "notes.txt").write_text("no program\n")


class OwnNginx(WebServer):
    """nginx on files like Debian's, in a folder of the test's own."""

    name = "nginx"

    def __init__(self, site, locations):
        super().__init__(site, None)
        self.fcgiwrap = site.folder / "theirs.sock"
        self.etc = site.folder / "etc/nginx"
        self.main = write(self.etc / "nginx.conf", f"""
{"user root;" if AS_ROOT else ""}
daemon off;
pid {self.folder}/nginx.pid;
events {{ worker_connections 128; }}
http {{
  access_log off;
  log_format odd '$remote_addr "$request" '
                 '{{$status}}';
  map $http_accept $kind {{ default ''; '~html' html; }}
  client_body_temp_path {self.folder}/body; proxy_temp_path {self.folder}/proxy;
  fastcgi_temp_path {self.folder}/fastcgi; uwsgi_temp_path {self.folder}/uwsgi;
  scgi_temp_path {self.folder}/scgi;
  upstream fcgiwrap {{ server unix:{self.fcgiwrap}; }}
  include sites-enabled/*;
}}
""")
        write(self.etc / "fastcgi_params", pathlib.Path("/etc/nginx/fastcgi_params").read_text())
        write(self.etc / "snippets/fcgiwrap.conf", "include fastcgi_params;\nfastcgi_param SCRIPT_FILENAME "
              "$document_root$fastcgi_script_name;\nfastcgi_pass fcgiwrap;\n")
        if EXAMPLE.exists():
            text = EXAMPLE.read_text()
            for old, new in (("/usr/lib", site.folder), ("/run/fcgiwrap.socket", self.fcgiwrap),
                             ("/etc/nginx", self.etc)):
                text = text.replace(old, str(new))
            write(self.etc / "example.conf", text)
        for old, new in (("{folder}", site.folder), ("{fcgiwrap}", self.fcgiwrap), ("{etc}", self.etc)):
            locations = locations.replace(old, str(new))
        write(self.etc / "sites-available/own", f"""server {{
  listen 127.0.0.1:{self.port};
  server_name example.org;
  location ~ \\.php$ {{ include fastcgi_params; fastcgi_pass unix:/run/php/php8.2-fpm.sock; }}
{locations}
}}
""")
        (self.etc / "sites-enabled").mkdir()
        (self.etc / "sites-enabled/own").symlink_to("../sites-available/own")

    def command(self):
        return ["nginx", "-p", str(self.folder), "-c", str(self.main), "-e", str(self.log_file)]


class OwnApache(WebServer):
    """Apache on files like Debian's."""

    name = "apache"

    def __init__(self, site, sections, handler="cgid"):
        super().__init__(site, None)
        self.etc = site.folder / "etc/apache2"
        modules = ["mpm_event", "authz_core", "alias", "dir", "mime", "env", handler]
        if AS_ROOT:
            os.chown(self.folder, 33, 33)
        write(self.etc / "envvars", "export APACHE_RUN_USER=www-data\nexport APACHE_RUN_GROUP=www-data\n")
        for name in modules:
            write(self.etc / f"mods-enabled/{name}.load",
                  f"LoadModule {name}_module {MODULES}/mod_{name}.so\n")
        write(self.etc / "mods-enabled/proxy.load", "")
        write(self.etc / "mods-enabled/cgid.conf",
              f"<IfModule mod_cgid.c>\nScriptSock {self.folder}/cgid.sock\n</IfModule>\n")
        write(self.etc / "conf-available/serve-cgi-bin.conf",
              CGI_BIN_CONF.read_text().replace("/usr/lib/cgi-bin", str(site.cgi_bin)))
        (self.etc / "conf-enabled").mkdir()
        if not sections:
            (self.etc / "conf-enabled/serve-cgi-bin.conf").symlink_to(
                "../conf-available/serve-cgi-bin.conf")
        write(self.etc / "sites-enabled/own.conf", sections.replace("{folder}", str(site.folder)))
        user = "User ${APACHE_RUN_USER}\nGroup ${APACHE_RUN_GROUP}\n" if AS_ROOT else ""
        self.main = write(self.etc / "apache2.conf", f"""
DefaultRuntimeDir {self.folder}
PidFile {self.folder}/apache.pid
Mutex file:{self.folder}
{user}ServerName localhost
Listen 127.0.0.1:{self.port}
ErrorLog {self.log_file}
IncludeOptional mods-enabled/*.load
TypesConfig /dev/null
IncludeOptional mods-enabled/*.conf
IncludeOptional conf-enabled/*.conf
IncludeOptional sites-enabled/*.conf
""")

    def load(self, *modules):
        """As a2enmod does."""
        write(self.etc / "mods-enabled/proxy.load",
              "".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so\n" for name in modules))

    def environment(self):
        return {**super().environment(), "APACHE_RUN_USER": "www-data", "APACHE_RUN_GROUP": "www-data"}

    def command(self):
        return ["apache2", "-DFOREGROUND", "-d", str(self.etc), "-f", str(self.main)]


def start_fcgiwrap(site, address):
    process = site.start("fcgiwrap", "-s", f"unix:{address}", env=environment())
    wait_until(lambda: processes.accepts(str(address)), "fcgiwrap listens")
    return process


def stop_fcgiwrap(process, address):
    process.terminate()
    process.wait()
    os.unlink(address)


def migrate(site, *options, expect=0):
    return site.cgibridge("migrate", "--socket", site.folder / "fastcgi.sock",
                          "--config", site.folder / "etc/cgibridge/config.toml", *options, expect=expect,
                          seconds=120).stdout


def files_below(folder):
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.rglob("*") if path.is_file()}


def apply_patch(site, text):
    """As the operator does; it must fit without an offset."""
    for more in (["--dry-run"], []):
        done = subprocess.run(["patch", "-p1", "-d", "/", *more], input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr + text
        assert "offset" not in done.stdout and "fuzz" not in done.stdout, done.stdout


def start_proposed_bridge(site):
    """From the settings that the patch made, with only a control socket of the test's own."""
    config = site.folder / "etc/cgibridge/config.toml"
    control = site.folder / "proposed.control"
    group = grp.getgrgid(os.getgid()).gr_name
    text = config.read_text().replace("[bridge]\n", f'[bridge]\ncontrol = "{control}"\n')
    if not AS_ROOT:  # it cannot become another user
        text = re.sub(r'^(user|socket_group) = "[^"]*"', rf'# \1: {group}', text, flags=re.MULTILINE)
    config.write_text(text)
    bridge = Bridge(config, control, [str(site.folder / "fastcgi.sock")], site.folder / "proposed.log")
    site.bridges.append(bridge)
    return bridge.start()


def seen(answer):
    """What a visitor sees; of report() what is the same for each request."""
    if answer.status == 404:  # a page of the web server's, or of the bridge's
        return answer.status
    if not answer.headers.get("content-type", "").startswith("application/json"):
        return answer.status, answer.headers.get("x-own"), answer.body
    report = reported(answer)
    wanted = re.compile(r"(SCRIPT|SERVER|REQUEST|QUERY|PATH_INFO|HTTP_|DOCUMENT|GATEWAY|REPORT)")
    # The bridge adds two of them where the web server sends none.
    other = {"REMOTE_PORT", "SERVER_SOFTWARE", "SCRIPT_FILENAME", "GATEWAY_INTERFACE"}
    return answer.status, report["cwd"], report["body"], {
        name: value for name, value in report["env"].items()
        if wanted.match(name) and name not in other and value}


@pytest.mark.parametrize("locations, urls", NGINX_SITES.values(), ids=NGINX_SITES)
def test_a_site_with_fcgiwrap_answers_the_same_afterwards(site, locations, urls):
    require("nginx")
    if "example.conf" in locations and not EXAMPLE.exists():
        pytest.skip("this machine leaves /usr/share/doc out")
    fill_cgi_bin(site)
    nginx = OwnNginx(site, locations)
    theirs = start_fcgiwrap(site, nginx.fcgiwrap)
    site._start_server(nginx)
    before = [seen(nginx.send_request(url)) for url in urls]
    assert before[0][0] == 200
    nginx.stop()
    stop_fcgiwrap(theirs, nginx.fcgiwrap)
    files = files_below(site.folder / "etc")
    patch = migrate(site, "--nginx", nginx.main, "--diff", "--no-check")
    assert files_below(site.folder / "etc") == files, "it changed something"
    apply_patch(site, patch)
    bridge = start_proposed_bridge(site)
    nginx.start()
    for warmth in ("new", "warm"):
        after = [seen(nginx.send_request(url)) for url in urls]
        assert after == before, warmth
        for program in bridge.status()["programs"]:
            bridge.wait_warm(program["path"])
    assert bridge.status()["programs"]


APACHE_SITES = {
    "Debian's serve-cgi-bin": ("", ["/cgi-bin/report/extra/path?a=b", "/cgi-bin/hello", "/cgi-bin/none"]),
    "a ScriptAlias of one program": ("""
        <VirtualHost *:*>
          ServerName example.org
          SetEnv REPORT_CONFIG /etc/report.conf
          <IfDefine !NOTHING>
          scriptalias /reports/ \\
              "{folder}/cgi-bin/report/"
          </IfDefine>
          <Directory {folder}/cgi-bin>
            Require all granted
          </Directory>
        </VirtualHost>""", ["/reports/some/path?a", "/reports/"]),
    "ExecCGI and AddHandler": ("""
        DocumentRoot {folder}
        AddHandler cgi-script .cgi .pl
        <Directory "{folder}/cgi-bin">
          Options +ExecCGI
          Require all granted
        </Directory>
        Alias /tools/ {folder}/cgi-bin/
        """, ["/tools/again.pl?x", "/tools/notes.txt"]),
    "SetHandler for a file": ("""
        Alias /tools {folder}/cgi-bin
        <Directory "{folder}/cgi-bin">
          Options +ExecCGI
          Require all granted
          <Files report>
            SetHandler cgi-script
          </Files>
        </Directory>""", ["/tools/report/x?y", "/tools/notes.txt"]),
    "SetHandler in a location": ("""
        Alias /tools {folder}/cgi-bin
        <Directory {folder}/cgi-bin>
          Require all granted
        </Directory>
        <Location "/tools">
          Options +ExecCGI
          SetHandler cgi-script
        </Location>""", ["/tools/report/x?y", "/tools/hello"]),
    "a pattern": ("""
        ScriptAliasMatch ^/run/([a-z.]+)$ {folder}/cgi-bin/$1
        """, ["/run/hello", "/run/again.pl"]),
}


@pytest.mark.parametrize("sections, urls", APACHE_SITES.values(), ids=APACHE_SITES)
def test_a_site_with_mod_cgid_answers_the_same_afterwards(site, sections, urls):
    require("apache")
    fill_cgi_bin(site)
    apache = OwnApache(site, sections)
    site._start_server(apache)
    before = [seen(apache.send_request(url)) for url in urls]
    assert before[0][0] == 200
    apache.stop()
    files = files_below(site.folder / "etc")
    patch = migrate(site, "--apache", apache.main, "--diff", "--no-check")
    assert files_below(site.folder / "etc") == files, "it changed something"
    assert "a2enmod proxy_fcgi" in patch
    apply_patch(site, patch)
    bridge = start_proposed_bridge(site)
    refused = subprocess.run([*apache.command()[:1], "-t", *apache.command()[2:]], capture_output=True,
                             text=True, env=apache.environment())
    assert refused.returncode != 0 and "ProxyFCGIBackendType" in refused.stderr
    apache.load("proxy", "proxy_fcgi")
    apache.start()
    for warmth in ("new", "warm"):
        after = [seen(apache.send_request(url)) for url in urls]
        assert after == before, warmth
        for program in bridge.status()["programs"]:
            bridge.wait_warm(program["path"])
    assert bridge.status()["programs"]


@pytest.fixture
def nginx(site):
    """A mover's site with programs of each kind; nothing is started."""
    again(site)
    site.sh("state", """
        n=$(cat "${0%/*}/count" 2>/dev/null || echo 0); echo $((n + 1)) 2>/dev/null >"${0%/*}/count"
        printf 'Content-Type: text/plain\\n\\n'; id -un
        """)
    site.script("broken", "#!/bin/false\n")
    return OwnNginx(site, NGINX_SITES["a folder, by root"][0])


def test_it_says_what_each_program_would_gain(site, nginx):
    out = json.loads(migrate(site, "--nginx", nginx.main, "--json", "--timeout", "40"))
    by_name = {pathlib.Path(program["path"]).name: program["check"] for program in out["programs"]}
    assert set(by_name) == {"again.pl", "broken", "state"}
    gain = by_name["again.pl"]
    assert gain["safety"] == "safe" and gain["arm"] == "rewind" and gain["speed_up"] > 1, gain
    assert by_name["broken"]["safety"] == "not checked"
    [place, php] = sorted(out["places"], key=lambda place: place["left_alone"])
    assert place["roots"] == [str(site.cgi_bin)] and place["site"] == "example.org"
    assert php["left_alone"].startswith("PHP")
    assert f'roots = ["{site.cgi_bin}"]' in out["settings"]
    assert [change["file"] for change in out["changes"]] == [str(nginx.etc / "sites-available/own")]


def test_a_person_sees_one_screen(site, nginx):
    out = migrate(site, "--nginx", nginx.main, "--programs", "1", "--timeout", "40")
    assert re.search(r"again\.pl\s+rewind, compiled: [\d.]+ times as\s+fast, same bytes", out), out
    assert "2 of them not tried" in out
    assert f"fastcgi_pass unix:{site.folder}/fastcgi.sock;" in out
    assert "nginx -t && nginx -s reload" in out and "Nothing was changed" in out
    assert len(out.splitlines()) < 60


@pytest.mark.root
def test_programs_are_tried_as_the_web_servers_user(site, nginx):
    nginx.main.write_text(nginx.main.read_text().replace("user root;", "user www-data;"))
    count = site.cgi_bin / "count"
    count.write_text("0\n")
    count.chmod(0o644)  # root's: www-data cannot write it
    out = json.loads(migrate(site, "--nginx", nginx.main, "--json"))
    assert count.read_text() == "0\n"
    assert 'user = "www-data"' in out["settings"]


def test_a_file_that_cannot_be_parsed_is_named_and_the_others_go_on(site, nginx):
    write(nginx.etc / "sites-enabled/0-broken", "server {\n  listen 80\n}\n")
    (nginx.etc / "sites-enabled/1-gone").symlink_to("nowhere")
    out = migrate(site, "--nginx", nginx.main, "--no-check", expect=2)
    assert f"{nginx.etc}/sites-enabled/0-broken:3: unexpected \"}}\"" in re.sub(r"\s+", " ", out)
    assert f"{nginx.etc}/sites-enabled/1-gone cannot be read" in re.sub(r"\s+", " ", out)
    assert "location /cgi-bin/" in out


def test_a_strangers_words_do_not_steer_the_terminal(site, nginx):
    site.sh("odd\x1b[31m", "echo\n")
    own = nginx.etc / "sites-available/own"
    own.write_text(own.read_text().replace("gzip off;", "gzip off; # \x1b[31m red"))
    out = migrate(site, "--nginx", nginx.main, "--no-check")
    assert "\x1b" not in out and "odd\\x1b[31m" in out and "\\x1b[31m red" in out
    json.loads(migrate(site, "--nginx", nginx.main, "--no-check", "--json"))
    apply_patch(site, migrate(site, "--nginx", nginx.main, "--no-check", "--diff"))


def test_without_any_configuration_it_says_which_there_could_be(site):
    for options in (["--nginx", site.folder / "none"], ["--apache", site.folder]):
        done = site.cgibridge("migrate", *options, expect=1)
        assert done.stderr.startswith(f"cgibridge: {options[1]}: it cannot be read: "), done.stderr


def test_settings_that_are_there_are_not_replaced(site, nginx):
    config = write(site.folder / "etc/cgibridge/config.toml", "# mine\n")
    out = migrate(site, "--nginx", nginx.main, "--no-check", "--diff")
    assert f"# {config} is there; add what it lacks" in out and "# [bridge]" in out
    apply_patch(site, out)
    assert config.read_text() == "# mine\n"


def test_a_second_run_finds_nothing_to_change(site, nginx):
    apply_patch(site, migrate(site, "--nginx", nginx.main, "--no-check", "--diff"))
    out = migrate(site, "--nginx", nginx.main, "--no-check")
    assert "the bridge answers here already" in re.sub(r"\s+", " ", out)
    assert "There is nothing to change." in out
