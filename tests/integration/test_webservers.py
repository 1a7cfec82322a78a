"""Real web servers in front: what each sends, and that all of it arrives."""

import http.client
import json
import os
import re
import stat

import pytest

from harness import processes, programs
from harness.bridge import BINARY
from harness.processes import alive, wait_until
from harness.programs import reported
from harness.webserver import http_head_of, read_all, require


SERVERS = ["nginx", "nginx-keep-alive", "apache-unix", "apache-tcp", "apache-generic", "apache-fpm",
           "apache-proxypass", "lighttpd"]


@pytest.fixture(params=[*SERVERS, "haproxy", "haproxy-multiplexing", "caddy", "h2o"])
def server(request, site):
    """Each way of connecting a web server to a bridge in classic mode."""
    require(request.param.partition("-")[0])
    programs.report(site)
    programs.echo(site)
    programs.hello(site)
    site.perl("copy", """
        binmode STDIN; binmode STDOUT; local $/;
        my $body = <STDIN>;
        print "Content-Type: application/octet-stream\\n\\n", $body;
        """)
    tcp = request.param in ("apache-tcp", "apache-proxypass")
    listen = [f"127.0.0.1:{processes.free_port()}"] if tcp else None
    bridge = site.start_bridge('mode = "classic"', listen=listen)
    name, _, variant = request.param.partition("-")
    if name == "nginx":
        return site.start_nginx(bridge, keep_alive=variant == "keep-alive")
    if name == "haproxy":
        return site.start_haproxy(bridge, multiplexing=variant == "multiplexing")
    if name in ("lighttpd", "caddy", "h2o"):
        return getattr(site, f"start_{name}")(bridge)
    return site.start_apache(bridge, backend_type={"generic": "GENERIC", "fpm": "FPM"}.get(variant),
                             route="ProxyPass" if variant == "proxypass" else "SetHandler")


def test_programs_in_folders_are_answered_too(site, server):
    """lighttpd takes the folder for the program, and the rest for PATH_INFO."""
    for name in ("sub/report", "sub/deep/report"):
        programs.report(site, name)
        for rest in ("", "/extra/path"):
            environment = reported(server.send_request(f"/cgi-bin/{name}{rest}?a=b"))["env"]
            assert environment["SCRIPT_NAME"] == f"/cgi-bin/{name}"
            assert environment.get("PATH_INFO", "") == rest
            assert environment["SCRIPT_FILENAME"] == str(site.cgi_bin / name)


def test_the_environment_is_that_of_rfc_3875(site, server):
    answer = server.send_request("/cgi-bin/report/extra/path?a=b%20c&d", headers={"X-Test": "1"})
    environment = reported(answer)["env"]
    for name, value in {
        "SCRIPT_NAME": "/cgi-bin/report", "PATH_INFO": "/extra/path",
        "SCRIPT_FILENAME": str(site.cgi_bin / "report"), "QUERY_STRING": "a=b%20c&d",
        "REQUEST_METHOD": "GET", "GATEWAY_INTERFACE": "CGI/1.1", "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1", "SERVER_PORT": str(server.port), "HTTP_X_TEST": "1",
    }.items():
        assert environment.get(name) == value, name
    # These send 0, which cannot be told from an empty body.
    without = [None, "0"] if server.name in ("lighttpd", "haproxy", "caddy") else [None]
    assert environment.get("CONTENT_LENGTH") in without
    assert environment.get("SERVER_SOFTWARE", "").lower().startswith(server.name)


def test_path_info_is_decoded_and_may_be_a_slash(site, server):
    environment = reported(server.send_request("/cgi-bin/report/a%20b/"))["env"]
    assert environment["PATH_INFO"] == "/a b/"
    assert environment["SCRIPT_NAME"] == "/cgi-bin/report"


def test_without_path_info_there_is_none(site, server):
    environment = reported(server.send_request("/cgi-bin/report"))["env"]
    assert "PATH_INFO" not in environment and "PATH_TRANSLATED" not in environment
    assert environment["QUERY_STRING"] == ""


def test_a_post_arrives_whole(site, server):
    body = os.urandom(300_000)
    answer = server.send_request("/cgi-bin/copy", "POST", body, {"Content-Type": "x/y"})
    assert answer.status == 200 and answer.body == body


def test_a_program_that_prints_its_head_before_it_reads_its_body_gets_it_whole(site, server):
    """nginx stops sending the body after it has seen the response's head."""
    site.perl("early", """
        $| = 1;
        print "Content-Type: text/plain\\n\\n";
        local $/;
        print length(<STDIN>), "\\n";
        """)
    answer = server.send_request("/cgi-bin/early", "POST", b"x" * 1_000_000)
    assert (answer.status, answer.body) == (200, b"1000000\n")


def test_a_program_that_complains_before_it_reads_its_body_gets_it_whole(site, server):
    """Its complaint is passed on at once, while the web server still sends."""
    site.perl("complains", """
        $| = 1;
        print STDERR "a word\\n";
        select undef, undef, undef, 0.2;
        local $/;
        print "Content-Type: text/plain\\n\\n", length(<STDIN>), "\\n";
        """)
    answer = server.send_request("/cgi-bin/complains", "POST", b"x" * 1_000_000)
    assert (answer.status, answer.body) == (200, b"1000000\n")
    if server.name != "caddy":  # 2.6 drops it
        wait_until(lambda: "a word" in server.log(), "the web server has logged it")


def test_a_chunked_post_arrives_whole_with_a_length(site, server):
    # Without a length, http.client sends an iterable in chunks.
    answer = server.send_request("/cgi-bin/report", "POST", iter([b"one ", b"two"]),
                                 {"Content-Type": "x/y"})
    if answer.status == 411:
        pytest.skip(f"{server.name} asks for a length")
    got = reported(answer)
    assert got["body"] == "one two"
    assert got["env"].get("CONTENT_LENGTH") == "7"


def test_the_proxy_header_is_dropped(site, server):
    answer = server.send_request("/cgi-bin/report", headers={"Proxy": "http://evil:1"})
    assert "HTTP_PROXY" not in reported(answer)["env"]


def test_a_head_request_has_no_body(site, server):
    connection = server.send_raw(b"HEAD /cgi-bin/hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    line, _, body = http_head_of(read_all(connection))
    connection.close()
    assert " 200 " in line and body == b""


def test_status_and_fields_come_through(site, server):
    site.sh("odd", "printf 'Status: 409 Conflict\\nX-Odd: yes\\nContent-Type: text/plain\\n\\nno\\n'\n")
    answer = server.send_request("/cgi-bin/odd")
    assert (answer.status, answer.headers["x-odd"], answer.body) == (409, "yes", b"no\n")


def test_a_redirect_to_elsewhere_is_302(site, server):
    site.sh("away", "printf 'Location: http://example.org/\\n\\n'\n")
    answer = server.send_request("/cgi-bin/away")
    assert (answer.status, answer.headers["location"]) == (302, "http://example.org/")


def test_a_missing_program_is_404(site, server):
    for name in ("missing", "sub/missing", "missing/sub"):
        (site.cgi_bin / "sub").mkdir(exist_ok=True)
        assert server.send_request(f"/cgi-bin/{name}").status == 404


def test_cookies_in_several_fields_reach_the_program(site, server):
    request = (b"GET /cgi-bin/report HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
               b"Cookie: a=b\r\nCookie: c=d\r\n\r\n")
    with server.send_raw(request) as connection:
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        cookies = json.loads(answer.read())["env"]["HTTP_COOKIE"]
    assert [piece.strip() for piece in re.split("[;,]", cookies)] == ["a=b", "c=d"]


def test_programs_get_the_words_of_a_query(site, server):
    words = reported(server.send_request("/cgi-bin/report?-a+b%3Dc"))["argv"][1:]
    assert words == ["-a", "b=c"]


def test_a_hundred_requests_on_one_client_connection(site, server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    for _ in range(100):
        connection.request("GET", "/cgi-bin/hello")
        assert connection.getresponse().read() == b"hello\n"
    connection.close()


# test_front_ends.py has this for the others.
@pytest.mark.parametrize("server", SERVERS, indirect=True)
def test_a_client_that_leaves_ends_the_program(site, server):
    notes = site.folder / "pid"
    programs.sleeper(site, notes=notes)
    connection = server.send_raw(b"GET /cgi-bin/sleeper HTTP/1.0\r\n\r\n")
    pid = int(wait_until(lambda: notes.exists() and notes.read_text(), "the program runs"))
    connection.close()
    if server.name in ("apache", "lighttpd"):
        # They notice only when they have something to send.
        server.stop()
    wait_until(lambda: not alive(pid), "the program has ended", 10)


@pytest.mark.plain_build
def test_nginx_keeps_its_connections_if_it_may(site):
    programs.hello(site)
    bridge = site.start_bridge('mode = "classic"')
    nginx = site.start_nginx(bridge, keep_alive=True)
    for _ in range(20):
        assert nginx.send_request("/cgi-bin/hello").body == b"hello\n"
    assert 1 <= bridge.status()["bridge"]["connections"] <= 2


def test_a_raw_form_is_not_needed_for_fcgiwrap_style_settings(site):
    """Common nginx settings for fcgiwrap work unchanged: DOCUMENT_ROOT and SCRIPT_NAME."""
    programs.report(site)
    bridge = site.start_bridge('mode = "classic"')
    nginx = site.start_nginx(bridge, locations="""
        location /cgi-bin/ {
          gzip off;
          include /etc/nginx/fastcgi_params;
          fastcgi_pass bridge;
        }
        """)
    environment = reported(nginx.send_request("/cgi-bin/report/x"))["env"]
    assert environment["SCRIPT_FILENAME"] == str(site.cgi_bin / "report")
    assert environment["PATH_INFO"] == "/x"


class TestModFcgid:
    """mod_fcgid starts `cgibridge attach` itself; the daemon serves its sockets."""

    def start(self, site, mode="classic", **options):
        programs.report(site)
        programs.echo(site)
        bridge = site.start_bridge(f'mode = "{mode}"', **options)
        bridge.control.chmod(0o666)
        wrapper = site.script("attach", f"""
            #!/bin/sh
            exec {BINARY} attach --control {bridge.control}
            """)
        # The path is relative to the server's own folder.
        apache = site.start_apache(None, modules=["fcgid"], extra=f"""
            FcgidIPCDir .
            FcgidProcessTableFile table
            FcgidMaxProcesses 4
            Alias "/cgi-bin/" "{site.folder}/cgi-bin/"
            <Directory "{site.folder}/cgi-bin">
              Require all granted
              AcceptPathInfo On
              Options ExecCGI
              SetHandler fcgid-script
              FcgidWrapper {wrapper} virtual
            </Directory>
            """)
        return bridge, apache

    def test_requests_are_answered_by_the_daemon(self, site, mode):
        bridge, apache = self.start(site, mode)
        for n in range(10):
            environment = reported(apache.send_request(f"/cgi-bin/report/info?n={n}"))["env"]
            assert environment["SCRIPT_NAME"] == "/cgi-bin/report"
            assert environment["PATH_INFO"] == "/info"
            assert environment["QUERY_STRING"] == f"n={n}"
        assert bridge.program(site.cgi_bin / "report")["requests"] == 10
        apache.stop()

    def test_a_body_arrives(self, site):
        _, apache = self.start(site)
        body = os.urandom(100_000)
        assert apache.send_request("/cgi-bin/echo", "POST", body).body == body
        apache.stop()

    def test_a_body_longer_than_its_length_is_no_next_answer(self, site, mode):
        site.sh("longer", r"""
            printf 'Content-Type: text/plain\nContent-Length: 2\n\nab'
            printf 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged'
            """)
        _, apache = self.start(site, mode)
        ask = b"GET /cgi-bin/%s HTTP/1.1\r\nHost: x\r\n%s\r\n"
        with apache.send_raw(ask % (b"longer", b"")) as connection:
            received = connection.recv(65536)
            while b"\r\n\r\nab" not in received:
                received += connection.recv(65536)
            connection.sendall(ask % (b"report?mine", b"Connection: close\r\n"))
            received += read_all(connection)
        assert b'"mine"' in received and b"forged" not in received
        apache.stop()

    def test_the_daemon_forgets_the_socket_when_mod_fcgid_ends_its_process(self, site):
        bridge, apache = self.start(site)
        assert apache.send_request("/cgi-bin/report").status == 200
        apache.stop()
        bridge.wait_idle()
        bridge.check_descriptors()

    def test_attach_ends_with_the_daemon(self, site):
        bridge, apache = self.start(site)
        assert apache.send_request("/cgi-bin/report").status == 200
        attached = [pid for pid in processes.descendants_of(apache.pid)
                    if "attach" in processes.command_of(pid)]
        assert attached
        bridge.expect_clean_stop(attached=1)
        wait_until(lambda: not any(alive(pid) for pid in attached), "attach has ended")
        apache.stop()


def test_a_program_s_stderr_is_in_the_web_server_s_log(site):
    site.sh("warns", "echo 'a word of warning' >&2; printf 'Content-Type: text/plain\\n\\nx\\n'\n")
    bridge = site.start_bridge('mode = "classic"')
    nginx = site.start_nginx(bridge)
    assert nginx.send_request("/cgi-bin/warns").status == 200
    wait_until(lambda: "a word of warning" in nginx.log(), "nginx has logged it")


def test_a_web_server_that_dies_leaves_nothing_running(site):
    notes = site.folder / "pid"
    programs.sleeper(site, notes=notes)
    bridge = site.start_bridge('mode = "classic"')
    nginx = site.start_nginx(bridge)
    connection = nginx.send_raw(b"GET /cgi-bin/sleeper HTTP/1.0\r\n\r\n")
    pid = int(wait_until(lambda: notes.exists() and notes.read_text(), "the program runs"))
    # The master goes first, because it would replace a worker that dies.
    its_own = [nginx.pid, *processes.descendants_of(nginx.pid)]
    for one in its_own:
        processes.kill_quietly(one)
    wait_until(lambda: not any(alive(one) for one in [pid, *its_own]), "all have ended", 10)
    connection.close()
    assert stat.S_ISSOCK(os.stat(bridge.address).st_mode)
