"""The guestbooks of examples/: plain CGI programs, equally right under the bridge in both modes and
under fcgiwrap."""

import re
import shutil
import subprocess
import threading
import urllib.parse

import pytest

from harness import processes
from harness.bridge import environment
from harness.site import EXAMPLES

GUESTBOOKS = ["guestbook.cgi", "guestbook.pl", "guestbook.py", "guestbook.sh"]
HELLOS = ["hello.cgi", "hello.sh", "hello.pl", "hello-cgi.pl", "hello.py", "hello-modules.py"]
TIMES = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")

ENTRIES = [("Ada", "Hello"), ("Bob <b>", "a & b < c > d \"quoted\" 'single'"),
           ("Çelik", "ünïcödé ✓ 漢字"), ("x" * 100, "line one\r\nline two"),
           ("O'Neil; DROP TABLE entries", "%s %d $HOME `id` \\n")]


class Fcgiwrap:
    """What a bridge is to Site.start_nginx: something with an address."""

    def __init__(self, site):
        self.address = str(site.folder / "fcgiwrap.sock")
        site.start("spawn-fcgi", "-n", "-s", self.address, "--", "/usr/sbin/fcgiwrap",
                   env=environment(), stderr=subprocess.DEVNULL)
        processes.wait_until(lambda: processes.accepts(self.address), "fcgiwrap answers")


def serve(site, side, name, database):
    """(nginx, how to wait until it is as warm as it gets) for one side and one guestbook."""
    shutil.copy2(EXAMPLES / name, site.cgi_bin / name)
    if side == "fcgiwrap":
        bridge = Fcgiwrap(site)
    else:
        bridge = site.start_bridge(f'mode = "{side}"')
    nginx = site.start_nginx(bridge, locations=f"""
        location /cgi-bin/ {{
          include /etc/nginx/fastcgi_params;
          fastcgi_param SCRIPT_FILENAME {site.folder}$fastcgi_script_name;
          fastcgi_param GUESTBOOK_DB {database};
          fastcgi_pass bridge;
        }}""")
    nginx.send_request(f"/cgi-bin/{name}")
    if side == "persistent":
        bridge.wait_warm(site.cgi_bin / name)
    return nginx


def sign(nginx, name, who, message):
    body = urllib.parse.urlencode({"name": who, "message": message}).encode()
    return nginx.send_request(f"/cgi-bin/{name}", "POST", body,
                              {"Content-Type": "application/x-www-form-urlencoded"})


@pytest.fixture(params=["classic", "persistent", "fcgiwrap"])
def side(request):
    return request.param


def clean_up(site):
    if (site.folder / "fcgiwrap.sock").exists():
        (site.folder / "fcgiwrap.sock").unlink()


@pytest.mark.parametrize("name", GUESTBOOKS)
def test_every_side_writes_the_same_pages(site, name, side):
    nginx = serve(site, side, name, site.folder / "book.db")
    pages = []
    for who, message in ENTRIES:
        answer = sign(nginx, name, who, message)
        assert (answer.status, answer.body) == (303, answer.body)
        assert answer.headers["location"].endswith(f"/cgi-bin/{name}")
        page = nginx.send_request(f"/cgi-bin/{name}")
        assert page.status == 200
        pages.append(TIMES.sub(b"", page.body))
    clean_up(site)
    last = pages[-1].decode()
    assert last.count("<li") == len(ENTRIES)
    assert "<b>" not in last.partition("<ol")[2].replace("<b>Ada", "") or "Bob &lt;b&gt;" in last
    assert "Bob &lt;b&gt;" in last and "漢字" in last and "DROP TABLE" in last
    # The page is the same whoever ran the program: compared with a run by hand.
    by_hand = subprocess.run([str(site.cgi_bin / name)], capture_output=True, env={
        "PATH": "/usr/local/bin:/usr/bin:/bin", "GUESTBOOK_DB": str(site.folder / "book.db"),
        "REQUEST_METHOD": "GET", "SCRIPT_NAME": f"/cgi-bin/{name}", "QUERY_STRING": "",
        "GATEWAY_INTERFACE": "CGI/1.1", "SERVER_PROTOCOL": "HTTP/1.1"}, check=True).stdout
    assert TIMES.sub(b"", re.split(rb"\r?\n\r?\n", by_hand, maxsplit=1)[1]) == pages[-1]


@pytest.mark.parametrize("name", GUESTBOOKS)
def test_what_is_wrong_is_refused_alike(site, name, side):
    nginx = serve(site, side, name, site.folder / "book.db")
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    statuses = [
        nginx.send_request(f"/cgi-bin/{name}", "POST", b"name=&message=x", form).status,
        nginx.send_request(f"/cgi-bin/{name}", "POST", b"name=x", form).status,
        nginx.send_request(f"/cgi-bin/{name}", "POST", b"name=x&message=" + b"y" * 50_000, form).status,
        nginx.send_request(f"/cgi-bin/{name}", "PUT", b"x", form).status,
    ]
    clean_up(site)
    assert all(400 <= status < 500 for status in statuses), statuses


@pytest.mark.parametrize("name", GUESTBOOKS)
def test_writes_at_the_same_time_are_all_kept(site, name, mode):
    nginx = serve(site, mode, name, site.folder / "book.db")
    answers = []

    def write(n):
        for m in range(5):
            answers.append(sign(nginx, name, f"writer {n}", f"entry {m}").status)
    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [303] * 40
    assert nginx.send_request(f"/cgi-bin/{name}").text.count("<li") == 40


@pytest.mark.parametrize("name", HELLOS)
def test_hellos_answer_the_same_in_both_modes(site, name):
    script = site.example(name)
    bridge = site.start_bridge('mode = "classic"')
    wanted = bridge.request(script)
    assert wanted.status == 200 and b"ello" in wanted.body
    bridge.command("mode", script, "persistent")
    bridge.request(script)
    bridge.wait_warm(script)
    for _ in range(10):
        got = bridge.request(script)
        assert (got.head, got.body) == (wanted.head, wanted.body)


def test_env_and_echo_do_as_they_say(site, mode):
    env, echo = site.example("env.cgi"), site.example("echo.cgi")
    bridge = site.start_bridge(f'mode = "{mode}"')
    for script in (env, echo):
        bridge.request(script)
        if mode == "persistent":
            bridge.wait_warm(script)
    lines = bridge.request(env, query="a=b", HTTP_X="y").body.decode().splitlines()
    assert "QUERY_STRING=a=b" in lines and "HTTP_X=y" in lines
    assert bridge.request(echo, "POST", body=b"the body\0\xff").body == b"the body\0\xff"
