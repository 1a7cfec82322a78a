"""The files under config/ and the tools under examples/ do what their READMEs promise. The tests replace only
paths and ports."""

import json
import pathlib
import re
import subprocess

import pytest

from harness import processes, programs
from harness.bridge import BINARY, BUILD, environment
from harness.programs import reported
from harness.site import PROJECT
from harness.webserver import CONFIG, shipped


@pytest.fixture
def bridge(site):
    programs.report(site)
    return site.start_bridge('mode = "classic"')


def check(server):
    environment = reported(server.send_request("/cgi-bin/report/more/info?q=1"))["env"]
    assert environment["SCRIPT_NAME"] == "/cgi-bin/report"
    assert environment["PATH_INFO"] == "/more/info"
    assert environment["QUERY_STRING"] == "q=1"
    assert reported(server.send_request("/cgi-bin/report", "POST", b"body"))["body"] == "body"
    assert server.send_request("/cgi-bin/none").status == 404


def test_nginx_cgi_bin(site, bridge):
    check(site.start_nginx(bridge, locations=shipped("nginx/nginx-cgi-bin.conf", site, bridge)))


def test_nginx_page(site):
    bridge = site.start_bridge('mode = "classic"', bridge='page = { path = "/cgibridge" }\n')
    nginx = site.start_nginx(bridge, locations=shipped("nginx/nginx-page.conf", site, bridge))
    page = nginx.send_request("/cgibridge")
    assert page.status == 200 and "<html" in page.text
    assert nginx.send_request("/cgibridge/metrics").text.endswith("# EOF\n")


def test_nginx_keepalive(site, bridge):
    """It is a whole site, with its own server block."""
    text = shipped("nginx/nginx-keepalive.conf", site, bridge)
    port = processes.free_port()
    text = text.replace("listen 80;", f"listen 127.0.0.1:{port};")
    nginx = site.start_nginx(bridge, sites=text)
    nginx.port = port
    check(nginx)
    for _ in range(10):
        nginx.send_request("/cgi-bin/report")
    assert bridge.status()["bridge"]["connections"] <= 2


def test_apache_proxy_fcgi(site, bridge):
    text = shipped("apache/apache-proxy-fcgi.conf", site, bridge)
    check(site.start_apache(None, extra=text))


def test_apache_mod_fcgid(site, bridge):
    bridge.control.chmod(0o666)
    text = shipped("apache/apache-mod-fcgid.conf", site, bridge)
    apache = site.start_apache(None, modules=["fcgid"], extra=text + """
        FcgidIPCDir .
        FcgidProcessTableFile table
        """)
    check(apache)
    apache.stop()


def test_lighttpd(site, bridge):
    text = shipped("lighttpd/lighttpd-cgibridge.conf", site, bridge)
    check(site.start_lighttpd(bridge, ready=text))


def test_systemd_units_name_files_and_commands_that_exist():
    service = (CONFIG / "systemd" / "cgibridge.service").read_text()
    socket = (CONFIG / "systemd" / "cgibridge.socket").read_text()
    for line in re.findall(r"^Exec\w+=/usr/bin/cgibridge (.*)$", service, re.MULTILINE):
        words = line.split(" --config")[0].split()
        done = subprocess.run([BINARY, *words, "--help"], env=environment(), capture_output=True)
        assert done.returncode == 0, line
    assert "ListenStream=/run/cgibridge/fastcgi.sock" in socket
    # tests/integration/test_service.py tests what these settings rely on.
    assert "Type=notify" in service and "NotifyAccess=main" in service and "WatchdogSec=" in service


def test_the_file_that_replaces_fcgiwrap_fits_debians_unit(site, tmp_path):
    own = (CONFIG / "systemd" / "fcgiwrap-by-cgibridge.conf").read_text()
    theirs = pathlib.Path("/lib/systemd/system/fcgiwrap.service").read_text()
    line = re.search(r"^ExecStart=/usr/bin/cgibridge (.*)$", own, re.MULTILINE)[1]
    assert "$DAEMON_OPTS" in line and "DAEMON_OPTS=-f" in theirs
    words = line.replace("$DAEMON_OPTS", "-f").replace("/run/fcgiwrap", str(tmp_path)).split()
    shown = site.cgibridge(*words, "--print").stdout
    assert f'control = "{tmp_path}/control.sock"' in shown
    assert "RuntimeDirectory=fcgiwrap" in own and "NotifyAccess=main" in own


@pytest.mark.slow
@pytest.mark.plain_build
def test_the_demo_compares_and_leaves_a_report(site):
    """It builds into the folder that the tests use, which is built already."""
    done = subprocess.run([PROJECT / "examples" / "demo", "--once"], capture_output=True, text=True,
                          timeout=900, env=environment(CGIBRIDGE_BUILD=str(BUILD), TMPDIR=str(site.folder)))
    assert done.returncode == 0, done.stdout + done.stderr
    report = BUILD / "demo-report"
    assert len(json.loads((report / "report.json").read_text())["programs"]) >= 5
    assert "<svg" in (report / "report.html").read_text()


def test_the_bench_measures_every_side(tmp_path):
    done = subprocess.run(
        [PROJECT / "tests" / "bench" / "run", "--rounds", "1", "--seconds", "1", "--out", tmp_path,
         "hello.cgi"], capture_output=True, text=True, timeout=200,
        env=environment(CGIBRIDGE_BUILD=str(BUILD)))
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "bench.json").read_text())
    assert set(result["median"]["hello.cgi"]) == {"fcgiwrap", "mod_cgid", "classic", "fork",
                                                  "rewind", "by-hand"}
