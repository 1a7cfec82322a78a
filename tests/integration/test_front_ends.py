"""One list for every front end, with the files of config/ as they are: what a visitor gets, and what a
program sees.
CANNOT has what a front end cannot do; there its test expects what it does instead."""

import concurrent.futures
import http.client
import itertools
import os
import subprocess
import threading

import pytest

from harness import processes, programs
from harness.bridge import environment
from harness.processes import alive, wait_until
from harness.programs import reported
from harness.webserver import CONFIG, read_all, require, shipped

MIB = 1 << 20
VISITORS = 16
FRONT_ENDS = ["nginx", "nginx-keep-alive", "apache", "lighttpd", "haproxy", "haproxy-multiplexing",
              "caddy", "h2o"]

BUFFERS = "collects an answer before it sends it; server.stream-response-body = 1 ends that"
NOTICES_LATE = "looks at its visitor only when it has something to send"
ONE_NAME = "makes one variable of X-A and X_A"
# What a front end cannot do, by its own fault: the versions of Debian 12 (HAProxy 2.6.12, Caddy 2.6.2,
# h2o 2.2.5). config/README.md says the same.
CANNOT = {
    "PATH_TRANSLATED": {"lighttpd": "takes the folder of alias.url for the root of the site"},
    "underscores": {"lighttpd": ONE_NAME, "h2o": ONE_NAME},
    "large chunked bodies": dict.fromkeys(["haproxy", "haproxy-multiplexing"],
                                          "answers 400 to a chunked body larger than its buffer"),
    "answers while it reads": {
        **dict.fromkeys(["nginx", "nginx-keep-alive"], "stops sending a body when it has seen the answer"),
        "caddy": "does not read the answer before it has sent the whole body"},
    "events": {"lighttpd": BUFFERS},
    "leaving while it prints": {"lighttpd": BUFFERS},
    "leaving while it is silent": {
        **dict.fromkeys(["apache", "lighttpd", "caddy", "h2o"], NOTICES_LATE),
        "haproxy-multiplexing": "does not tell the bridge that its visitor has left"},
    "standard error": {"caddy": "drops it, whatever capture_stderr says"},
}


def cannot(server, point):
    """Whether this front end fails at that point; then the reason is printed."""
    reason = CANNOT[point].get(server.front_end)
    if reason:
        print(f"{server.front_end} {reason}")
    return bool(reason)


def start_front_end(site, bridge, name):
    """With the files that users copy."""
    server, _, variant = name.partition("-")
    require(server)
    if name == "nginx":
        return site.start_nginx(bridge, locations=shipped("nginx/nginx-cgi-bin.conf", site, bridge))
    if name == "nginx-keep-alive":
        port = processes.free_port()
        text = shipped("nginx/nginx-keepalive.conf", site, bridge)
        nginx = site.start_nginx(bridge, sites=text.replace("listen 80;", f"listen 127.0.0.1:{port};"))
        nginx.port = port
        return nginx
    if server == "apache":
        return site.start_apache(None, extra=shipped("apache/apache-proxy-fcgi.conf", site, bridge))
    if server == "lighttpd":
        return site.start_lighttpd(bridge, ready=shipped("lighttpd/lighttpd-cgibridge.conf", site, bridge))
    if server == "haproxy":
        return site.start_haproxy(bridge, multiplexing=variant == "multiplexing")
    return getattr(site, f"start_{server}")(bridge)


def write_programs(site):
    """Those that wait do so until the file exists that the query names; beside it they note their pid, and
    that they came to their end."""
    gate = f'"{site.folder}/$QUERY_STRING"'
    note = f'echo $$ > "{site.folder}/$QUERY_STRING.pid"'
    done = f'echo > "{site.folder}/$QUERY_STRING.done"'
    programs.report(site, "sub/deep/report")
    site.sh("secret", "echo the program\'s text\n", mode=0o644)
    (site.folder / "html").mkdir()
    for folder in (site.folder, site.folder / "html"):
        (folder / "index.txt").write_text("a file of the site\n")
    return [
        programs.hello(site), programs.report(site), programs.echo(site),
        site.perl("copy", """
            binmode STDIN; binmode STDOUT; local $/;
            my $body = <STDIN>;
            print "Content-Type: application/octet-stream\\n\\n", $body;
            """),
        site.sh("answer", r"""
            case $QUERY_STRING in
              204|304) printf 'Status: %s\n\n' $QUERY_STRING
                       printf 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nforged' ;;
              away) printf 'Location: http://example.org/a?b=c\n\n' ;;
              moved) printf 'Status: 301 Moved Permanently\nLocation: http://example.org/a?b=c\n\n' ;;
              local) printf 'Location: /cgi-bin/hello\n\n' ;;
              cookies) printf 'Set-Cookie: a=1; Path=/\n'
                       printf 'Set-Cookie: b=2; Expires=Thu, 01 Jan 2099 00:00:00 GMT\n'
                       printf 'Content-Type: text/plain\n\n%s\n' "$HTTP_COOKIE" ;;
              e*) echo "$QUERY_STRING" >&2; sleep 0.02; printf 'Content-Type: text/plain\n\nx\n' ;;
              warns) echo "a word about errors" >&2; printf 'Content-Type: text/plain\n\nx\n' ;;
              *) printf 'Status: %s Mine\nContent-Type: text/plain\n\nown page\n' $QUERY_STRING ;;
            esac
            """),
        site.perl("big", """
            print "Content-Type: application/octet-stream\\n\\n";
            print pack("N", $_) x 16384 for 0 .. 799;
            """),
        site.sh("events", f"""
            printf 'Content-Type: text/event-stream\\nX-Accel-Buffering: no\\n\\ndata: 1\\n\\n'
            while [ ! -e {gate} ]; do sleep 0.02; done
            printf 'data: 2\\n\\n'
            """),
        site.sh("prints", f"""
            {note}
            printf 'Content-Type: text/plain\\nX-Accel-Buffering: no\\n\\n'
            while [ ! -e {gate} ]; do echo line; sleep 0.02; done
            {done}
            """),
        site.sh("silent", f"""
            {note}
            while [ ! -e {gate} ]; do sleep 0.02; done
            {done}
            printf 'Content-Type: text/plain\\n\\nend\\n'
            """),
        site.sh("nph-page", r"""
            printf 'HTTP/1.1 207 Odd\r\nContent-Type: text/plain\r\nX-N: ph\r\n\r\nbody\n'
            """),
    ]


@pytest.fixture(scope="module", params=itertools.product(FRONT_ENDS, ["classic", "persistent"]), ids="-".join)
def served(request, site_for_several):
    """A front end before a bridge (whose programs are warm, if persistent); and the tests that use it."""
    name, mode = request.param
    tests = []
    with site_for_several(tests) as site:
        made = write_programs(site)
        warm = f"prewarm = {[str(path) for path in made]}\n" if mode == "persistent" else ""
        # Some front ends leave a program waiting that answers while it reads.
        echo = f'[[program]]\nmatch = "{site.cgi_bin}/echo"\ntimeouts = {{ request = "3s" }}\n'
        bridge = site.start_bridge(f'mode = "{mode}"', bridge=warm,
                                   programs=echo if name in CANNOT["answers while it reads"] else "")
        server = start_front_end(site, bridge, name)
        if mode == "persistent":
            for path in made:
                bridge.wait_warm(path)
        server.front_end, server.bridge, server.mode = name, bridge, mode
        yield server, tests


@pytest.fixture
def server(request, served):
    server, tests = served
    tests.append(request.node)
    return server


class Visit:
    """A visitor who reads an answer as it comes. gate: the file that the program waits for."""

    number = itertools.count()

    def __init__(self, server, program):
        self.gate = server.site.folder / f"gate-{next(self.number)}"
        request = f"GET /cgi-bin/{program}?{self.gate.name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        self.connection = server.send_raw(request.encode())
        self.received = b""

    def note(self, kind):
        return self.gate.with_suffix(f".{kind}")

    def pid(self):
        note = self.note("pid")
        return int(wait_until(lambda: note.exists() and note.read_text(), "the program runs"))

    def read_until(self, text):
        while text not in self.received:
            piece = self.connection.recv(65536)
            assert piece, f"ended before {text}: {self.received}"
            self.received += piece


def test_the_variables_of_a_path(server):
    is_part_of_a_site = server.front_end in ("nginx", "apache", "lighttpd")
    root = server.site.folder if is_part_of_a_site else server.site.folder / "html"
    if cannot(server, "PATH_TRANSLATED"):
        root = server.site.cgi_bin
    for program in ("report", "sub/deep/report"):
        environment = reported(server.send_request(f"/cgi-bin/{program}/extra/a%20b?q=%20"))["env"]
        wanted = {"SCRIPT_NAME": f"/cgi-bin/{program}", "PATH_INFO": "/extra/a b",
                  "SCRIPT_FILENAME": str(server.site.cgi_bin / program), "QUERY_STRING": "q=%20",
                  "PATH_TRANSLATED": f"{root}/extra/a b",
                  "REQUEST_URI": f"/cgi-bin/{program}/extra/a%20b?q=%20"}
        assert {name: environment.get(name) for name in wanted} == wanted


def test_visitors_set_no_variable_but_those_of_their_headers(server):
    headers = {"Proxy": "http://evil/", "Remote-User": "root", "Script-Filename": "/bin/sh", "Path": "/evil",
               "X_Forwarded_For": "forged"}
    environment = reported(server.send_request("/cgi-bin/report", headers=headers))["env"]
    assert environment["SCRIPT_FILENAME"] == str(server.site.cgi_bin / "report")
    assert "HTTP_PROXY" not in environment and not environment.get("REMOTE_USER")
    assert "evil" not in environment["PATH"]
    is_forged = "forged" in environment.get("HTTP_X_FORWARDED_FOR", "")
    assert is_forged == cannot(server, "underscores")


def test_a_visitor_is_no_user_by_a_name_that_nobody_has_checked(server):
    """base64 of root:x."""
    for sent in ("Basic cm9vdDp4", "Bearer root"):
        environment = reported(server.send_request("/cgi-bin/report", headers={"Authorization": sent}))["env"]
        assert not environment.get("REMOTE_USER") and not environment.get("AUTH_TYPE")


def test_no_file_for_nginx_passes_on_a_name_that_nobody_has_checked():
    """nginx's own fastcgi_params does."""
    files = {path: path.read_text() for path in CONFIG.rglob("*") if path.suffix in (".conf", ".yaml")}
    passes = {path for path, text in files.items() if "fastcgi_param SCRIPT_FILENAME" in text}
    assert len(passes) == 3
    assert all('fastcgi_param REMOTE_USER "";' in files[path] for path in passes)


def test_of_cgi_bin_only_programs_are_served(server):
    for target, statuses in {"secret": [403], "missing": [404], "sub/missing": [404], "missing/sub": [404],
                             "sub": [301, 403], "": [403]}.items():
        answer = server.send_request(f"/cgi-bin/{target}")
        assert answer.status in statuses, target
        assert b"the program" not in answer.body


def test_of_the_site_only_cgi_bin_is_served(server):
    """The other files are parts of a site that serves more."""
    if server.name in ("haproxy", "caddy", "h2o"):
        for target in ("/cgi-bin/../index.txt", "/cgi-bin/%2e%2e/index.txt", "/cgi-bin/../html/index.txt"):
            answer = server.send_request(target)
            assert answer.status in (400, 403, 404), target
            assert b"a file of" not in answer.body
        before = server.bridge.status()["bridge"]["requests_total"]
        for target in ("/index.txt", "/cgi-binary", "/"):
            assert server.send_request(target).status == 404, target
        assert server.bridge.status()["bridge"]["requests_total"] == before


def test_head(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    for method, body in (("HEAD", b""), ("GET", b"hello\n")) * 2:
        connection.request(method, "/cgi-bin/hello")
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, body)
    connection.close()
    warm = server.bridge.program(server.site.cgi_bin / "hello")["requests_persistent"]
    assert (warm > 0) == (server.mode == "persistent")


def test_a_post_of_5_mib(server):
    body = os.urandom(5 * MIB)
    answer = server.send_request("/cgi-bin/copy", "POST", body, {"Content-Type": "x/y"})
    assert answer.status == 200 and answer.body == body


def test_a_chunked_post_of_5_mib(server):
    if cannot(server, "large chunked bodies"):
        connection = server.send_raw(b"POST /cgi-bin/copy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                                     b"Transfer-Encoding: chunked\r\n\r\n10000\r\n" + bytes(30_000))
        assert b" 400 " in connection.recv(100)
        connection.close()
        return
    body = os.urandom(5 * MIB)
    pieces = (body[at:at + 100_000] for at in range(0, len(body), 100_000))
    answer = server.send_request("/cgi-bin/copy", "POST", pieces, {"Content-Type": "x/y"})
    assert answer.status == 200 and answer.body == body


def test_a_program_that_answers_while_it_reads(server):
    body = os.urandom(5 * MIB)
    try:
        received = server.send_request("/cgi-bin/echo", "POST", body).body
    except (http.client.HTTPException, OSError):
        received = b""
    assert body.startswith(received)
    assert (received == body) != cannot(server, "answers while it reads")


@pytest.mark.parametrize("status", [204, 304])
def test_what_follows_a_head_without_a_body_is_no_answer_to_the_next_request(server, status):
    one = "GET /cgi-bin/{} HTTP/1.1\r\nHost: x\r\nConnection: {}\r\n\r\n"
    with server.send_raw(one.format(f"answer?{status}", "keep-alive").encode()) as connection:
        received = connection.recv(65536)
        # HAProxy 3.0 ends the connection after any 204 of a program.
        kept = b"\r\nconnection: close\r\n" not in received.lower()
        if kept:
            connection.sendall(one.format("hello", "close").encode())
        received += read_all(connection)
    assert received.startswith(b"HTTP/1.1 %d" % status)
    if not kept:
        assert received.endswith(b"\r\n\r\n")
        with server.send_raw(one.format("hello", "close").encode()) as connection:
            received += read_all(connection)
    assert b"forged" not in received and b"hello\n" in received


def test_statuses(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    page = b"own page\n"
    for status, body in ((204, b""), (304, b""), (404, page), (500, page), (200, page)):
        connection.request("GET", f"/cgi-bin/answer?{status}")
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (status, body)
        assert answer.getheader("Status") is None
    connection.close()


def test_redirects(server):
    elsewhere = "http://example.org/a?b=c"
    for query, status, location in (("away", 302, elsewhere), ("moved", 301, elsewhere),
                                    ("local", 302, "/cgi-bin/hello")):
        answer = server.send_request(f"/cgi-bin/answer?{query}")
        assert (answer.status, answer.headers["location"]) == (status, location)


def test_cookies(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", "/cgi-bin/answer?cookies", headers={"Cookie": "x=1; y=2"})
    answer = connection.getresponse()
    assert answer.read() == b"x=1; y=2\n"
    assert answer.headers.get_all("Set-Cookie") == [
        "a=1; Path=/", "b=2; Expires=Thu, 01 Jan 2099 00:00:00 GMT"]
    connection.close()


def test_50_mib(server):
    answer = server.send_request("/cgi-bin/big")
    assert len(answer.body) == 50 * MIB
    wanted = b"".join(n.to_bytes(4, "big") * 16384 for n in range(800))
    assert answer.body == wanted


def test_an_event_arrives_before_the_next_is_sent(server):
    visit = Visit(server, "events")
    if cannot(server, "events"):
        visit.gate.touch()
    visit.read_until(b"data: 1")
    visit.gate.touch()
    visit.read_until(b"data: 2")
    visit.connection.close()


def test_a_visitor_who_leaves_ends_a_program_that_prints(server):
    visit = Visit(server, "prints")
    pid = visit.pid()
    if not cannot(server, "leaving while it prints"):
        visit.read_until(b"line")
    expect_end(server, visit, pid, "leaving while it prints")


def test_a_visitor_who_leaves_ends_a_silent_program(server):
    visit = Visit(server, "silent")
    pid = visit.pid()
    expect_end(server, visit, pid, "leaving while it is silent")


def expect_end(server, visit, pid, point):
    """The visitor leaves. If the front end does not notice, the program goes on to its own end."""
    visit.connection.close()
    if cannot(server, point):
        assert server.send_request("/cgi-bin/hello").body == b"hello\n"
        visit.gate.touch()
        wait_until(visit.note("done").exists, "the program has come to its end")
        return
    wait_until(lambda: not alive(pid), "the program has ended")
    assert not visit.note("done").exists()


def test_standard_error_is_in_the_front_end_s_log(server):
    assert server.send_request("/cgi-bin/answer?warns").status == 200
    server.bridge.expect_log("a word about errors")
    if cannot(server, "standard error"):
        assert "a word about errors" not in server.log()
    else:
        wait_until(lambda: "a word about errors" in server.log(), "it is logged")


def test_standard_error_of_any_length(server):
    """HAProxy 2.6 aborts itself at a record of it that has no padding and arrives alone."""
    for length in range(1, 9):
        assert server.send_request("/cgi-bin/answer?" + "e" * length).status == 200
        assert server.send_request("/cgi-bin/" + "missing"[:length] + "g").status == 404
    assert server.send_request("/cgi-bin/hello").body == b"hello\n"


def test_an_nph_program(server):
    answer = server.send_request("/cgi-bin/nph-page")
    assert (answer.status, answer.headers["x-n"], answer.body) == (207, "ph", b"body\n")


def test_lighttpd_sends_events_at_once_if_it_may(site):
    write_programs(site)
    bridge = site.start_bridge('mode = "classic"')
    text = shipped("lighttpd/lighttpd-cgibridge.conf", site, bridge)
    lighttpd = site.start_lighttpd(bridge, ready=text.replace("#server.stream", "server.stream"))
    visit = Visit(lighttpd, "events")
    visit.read_until(b"data: 1")
    visit.gate.touch()
    visit.read_until(b"data: 2")
    visit.connection.close()


def test_haproxy_carries_sixteen_visitors_on_two_connections(site, mode):
    """Each of its two threads has a connection of its own."""
    require("haproxy")
    script = site.sh("who", "sleep 0.05; printf 'Content-Type: text/plain\\n\\n%s\\n' $QUERY_STRING\n")
    bridge = site.start_bridge(f'mode = "{mode}"')
    if mode == "persistent":
        bridge.request(script)
        bridge.wait_warm(script)
    server = site.start_haproxy(bridge, multiplexing=True)
    before = bridge.status()["bridge"]
    together = threading.Barrier(VISITORS)

    def visit(number):
        together.wait(30)
        return [server.send_request(f"/cgi-bin/who?{number}.{n}").text for n in range(8)]
    with concurrent.futures.ThreadPoolExecutor(VISITORS) as pool:
        answers = list(pool.map(visit, range(VISITORS)))
    assert answers == [[f"{number}.{n}\n" for n in range(8)] for number in range(VISITORS)]
    after = bridge.status()["bridge"]
    assert after["requests_total"] - before["requests_total"] == 8 * VISITORS
    assert after["connections_total"] - before["connections_total"] <= 2


@pytest.mark.parametrize("command", ["haproxy -c -f haproxy/haproxy-cgibridge.cfg",
                                     "caddy validate --config caddy/Caddyfile",
                                     "h2o -t -c h2o/h2o-cgibridge.conf"])
def test_the_front_end_finds_its_file_valid_as_it_is(command, tmp_path):
    words = command.split()
    require(words[0])
    done = subprocess.run([*words[:-1], CONFIG / words[-1]], capture_output=True, text=True,
                          env=environment(HOME=str(tmp_path), PATH="/usr/sbin:/usr/bin:/sbin:/bin"))
    assert done.returncode == 0, done.stdout + done.stderr
