"""RFC 3875's request: the environment, argv, the working directory, and which files are programs."""

import os
import shutil

import pytest

from harness import programs
from harness.fastcgi import variables_for
from harness.programs import reported


@pytest.fixture
def bridge(site):
    programs.report(site)
    return site.start_bridge('mode = "classic"\nenv = { CONFIGURED = "yes" }')


def ask(site, bridge, script=None, **more):
    return reported(bridge.request(script or site.cgi_bin / "report", **more))


def test_meta_variables_reach_the_program(site, bridge):
    environment = ask(site, bridge, method="POST", query="a=b", body=b"12345",
                      CONTENT_TYPE="text/plain", HTTP_ACCEPT="*/*")["env"]
    for name, value in {
        "GATEWAY_INTERFACE": "CGI/1.1", "REQUEST_METHOD": "POST", "QUERY_STRING": "a=b",
        "CONTENT_LENGTH": "5", "CONTENT_TYPE": "text/plain", "HTTP_ACCEPT": "*/*",
        "SCRIPT_NAME": "/cgi-bin/report", "SERVER_PROTOCOL": "HTTP/1.1", "REMOTE_ADDR": "127.0.0.1",
        "CONFIGURED": "yes",
    }.items():
        assert environment[name] == value
    assert environment["SCRIPT_FILENAME"] == str(site.cgi_bin / "report")
    assert environment["PATH"]


def test_nothing_of_the_daemon_s_own_environment_reaches_the_program(site):
    report = programs.report(site)
    bridge = site.prepare_bridge('mode = "classic"')
    bridge.start(env={"SECRET_OF_THE_OPERATOR": "x", "LD_LIBRARY_PATH": "/nowhere"})
    environment = reported(bridge.request(report))["env"]
    for name in ("SECRET_OF_THE_OPERATOR", "LD_LIBRARY_PATH", "LD_PRELOAD", "CGIBRIDGE_CHECKPOINT",
                 "LISTEN_FDS", "ASAN_OPTIONS"):
        assert name not in environment


def test_persistent_gives_the_same_environment_as_classic(site):
    report = programs.report(site)
    bridge = site.start_bridge('mode = "classic"')
    wanted = ask(site, bridge, query="a=b", HTTP_X="1")
    bridge.command("mode", report, "persistent")
    bridge.request(report)
    bridge.wait_warm(report)
    got = ask(site, bridge, query="a=b", HTTP_X="1")
    del wanted["pid"], got["pid"]
    assert got == wanted


def test_without_a_body_there_is_no_content_length_and_stdin_is_empty(site, bridge):
    answer = ask(site, bridge)
    assert "CONTENT_LENGTH" not in answer["env"] and "CONTENT_TYPE" not in answer["env"]
    assert answer["body"] == ""


def test_a_content_length_that_is_no_number_is_refused(site, bridge):
    assert bridge.request(site.cgi_bin / "report", CONTENT_LENGTH="many").status == 400
    bridge.expect_log("CONTENT_LENGTH")


def test_the_proxy_header_never_becomes_http_proxy(site, bridge):
    assert "HTTP_PROXY" not in ask(site, bridge, HTTP_PROXY="http://evil:3128")["env"]


@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_AUDIT", "PERL5OPT", "PYTHONSTARTUP", "BASH_ENV"])
def test_variables_that_steer_loaders_and_interpreters_are_dropped(site, bridge, name):
    assert name not in ask(site, bridge, **{name: "/tmp/evil"})["env"]


def test_a_query_without_an_equals_sign_becomes_argv(site, bridge):
    assert ask(site, bridge, query="one+t%77o+%2b")["argv"][1:] == ["one", "two", "+"]
    assert ask(site, bridge, query="a=b+c")["argv"][1:] == []
    assert ask(site, bridge, method="POST", query="one+two", body=b"x")["argv"][1:] == []
    assert ask(site, bridge, query="one+%zz")["argv"][1:] == []


@pytest.mark.parametrize("mode", ["classic", "persistent"])
def test_a_query_with_a_nul_byte_puts_nothing_into_argv_or_environment(site, mode):
    """A worker receives strings that end at a NUL: a word with a NUL would become two, and the second a
    variable of the environment."""
    report = programs.report(site)
    bridge = site.start_bridge(f'mode = "{mode}"')
    bridge.request(report)
    if mode == "persistent":
        bridge.wait_warm(report)
    answer = programs.reported(bridge.request(report, query="a\0LD_PRELOAD%3D/tmp/x.so+b"))
    assert len(answer["argv"]) == 1
    assert "LD_PRELOAD" not in answer["env"] or "/tmp/x.so" not in answer["env"]["LD_PRELOAD"]
    assert answer["env"]["SCRIPT_NAME"]


def test_the_program_runs_in_its_own_folder(site, bridge):
    inner = programs.report(site, "inner/report")
    assert ask(site, bridge, inner)["cwd"] == str(site.cgi_bin / "inner")


def test_argv_0_is_the_program(site, bridge):
    assert os.path.basename(ask(site, bridge)["argv"][0]) == "report"


def test_path_info_is_split_off_when_the_server_did_not(site, bridge):
    script = site.cgi_bin / "report"
    environment = ask(site, bridge, str(script) + "/more/info", DOCUMENT_ROOT="/srv",
                      SCRIPT_NAME="/cgi-bin/report/more/info")["env"]
    assert environment["SCRIPT_NAME"] == "/cgi-bin/report"
    assert environment["PATH_INFO"] == "/more/info"
    assert environment["PATH_TRANSLATED"] == "/srv/more/info"
    assert environment["SCRIPT_FILENAME"] == str(script)


def test_without_path_info_there_is_no_path_translated(site, bridge):
    environment = ask(site, bridge, PATH_INFO="", PATH_TRANSLATED="/srv")["env"]
    assert "PATH_INFO" not in environment and "PATH_TRANSLATED" not in environment


@pytest.mark.parametrize("prefix", ["proxy:fcgi://127.0.0.1:9000",
                                    "proxy:unix:/run/x.sock|fcgi://localhost",
                                    "proxy:balancer://cluster"])
def test_what_apache_puts_before_the_path_is_taken_off(site, bridge, prefix):
    environment = ask(site, bridge, SCRIPT_FILENAME=f"{prefix}{site.cgi_bin}/report")["env"]
    assert environment["SCRIPT_FILENAME"] == str(site.cgi_bin / "report")


def test_without_script_filename_document_root_and_script_name_find_the_program(site, bridge):
    answer = reported(bridge.request("report", SCRIPT_FILENAME=None,
                                     DOCUMENT_ROOT=str(site.folder)))
    assert answer["env"]["SCRIPT_FILENAME"] == str(site.cgi_bin / "report")


class TestPathsThatAreNotPrograms:
    """The answer is 404 or 403; the reason is in the log and not in the answer."""

    def refused(self, bridge, path, status, reason):
        response = bridge.request(path)
        assert response.status == status
        assert str(path).encode() not in response.body
        bridge.expect_log(reason)

    def test_missing(self, site, bridge):
        self.refused(bridge, site.cgi_bin / "missing", 404, r"missing")

    def test_outside_the_roots(self, site, bridge):
        outside = site.folder / "outside"
        shutil.copy2(site.cgi_bin / "report", outside)
        self.refused(bridge, outside, 403, r"outside.*root|root.*outside")

    def test_a_link_out_of_the_roots(self, site, bridge):
        outside = site.folder / "secret"
        shutil.copy2(site.cgi_bin / "report", outside)
        (site.cgi_bin / "link").symlink_to(outside)
        self.refused(bridge, site.cgi_bin / "link", 403, r"root")

    def test_a_folder_link_out_of_the_roots(self, site, bridge):
        (site.folder / "elsewhere").mkdir()
        shutil.copy2(site.cgi_bin / "report", site.folder / "elsewhere" / "report")
        (site.cgi_bin / "folder").symlink_to(site.folder / "elsewhere")
        self.refused(bridge, site.cgi_bin / "folder" / "report", 403, r"root")

    def test_dots_in_the_path(self, site, bridge):
        self.refused(bridge, f"{site.cgi_bin}/../cgi-bin/report", 403, r"\.\.")

    @pytest.mark.parametrize("path", ["/%2e%2e/{}", "/x/..%2f../{}", "//..//{}", "/%2e/{}", "/..%00/{}"])
    def test_dots_behind_an_encoding(self, site, bridge, path):
        """Encoded, they are names that do not exist; decoded, as Apache's ProxyPass sends them, they are
        dots."""
        hello = programs.hello(site)
        encoded = str(hello.parent) + path.format(hello.name)
        plain = path.format(hello.name).replace("%2e", ".").replace("%2f", "/")
        for sent, name in ((encoded, ""), ("proxy:fcgi://h:9" + encoded, plain)):
            assert bridge.request(sent, SCRIPT_NAME=name).status in (400, 403, 404)

    def test_encoded_slashes_are_no_other_program(self, site, bridge):
        hello = programs.hello(site)
        assert bridge.request(str(hello.parent) + "%2f" + hello.name).status == 404

    def test_a_folder(self, site, bridge):
        (site.cgi_bin / "sub").mkdir()
        self.refused(bridge, site.cgi_bin / "sub", 403, r"folder|directory")

    def test_a_fifo(self, site, bridge):
        os.mkfifo(site.cgi_bin / "fifo", 0o755)
        self.refused(bridge, site.cgi_bin / "fifo", 403, r"FIFO")

    def test_not_executable(self, site, bridge):
        site.sh("plain", "echo no\n", mode=0o644)
        self.refused(bridge, site.cgi_bin / "plain", 403, r"execut")

    def test_a_nul_byte(self, site, bridge):
        assert bridge.request(f"{site.cgi_bin}/report\0.txt").status == 400
        bridge.expect_log("NUL")

    def test_a_relative_path(self, site, bridge):
        assert bridge.request("cgi-bin/report").status == 404

    def test_no_path_at_all(self, site, bridge):
        with bridge.connect() as peer:
            peer.begin()
            peer.params({"REQUEST_METHOD": "GET"})
            peer.stdin(b"")
            assert peer.response().status == 404

    def test_a_very_long_path(self, site, bridge):
        assert bridge.request(f"{site.cgi_bin}/" + "x" * 10000).status == 404

    def test_a_link_inside_the_roots_is_followed(self, site, bridge):
        (site.cgi_bin / "alias").symlink_to(site.cgi_bin / "report")
        assert bridge.request(site.cgi_bin / "alias").status == 200

    def test_a_log_line_cannot_be_forged(self, site, bridge):
        bridge.request(f"{site.cgi_bin}/x\n2026-01-01T00:00:00.000 error forged")
        assert "\n2026-01-01T00:00:00.000 error forged" not in bridge.log()


def test_odd_environment_values_arrive_unchanged(site, bridge):
    value = "".join(map(chr, range(1, 256)))
    with bridge.connect() as peer:
        peer.begin()
        peer.params({**variables_for(site.cgi_bin / "report"), "HTTP_ODD": value})
        peer.stdin(b"")
        got = reported(peer.response())["env"]["HTTP_ODD"]
    assert os.fsencode(got).decode("latin-1") == value


def test_very_many_variables_and_a_long_one_reach_the_program(site, bridge, mode):
    script = site.cgi_bin / "report"
    bridge.command("mode", script, mode)
    bridge.request(script)
    if mode == "persistent":
        bridge.wait_warm(script)
    many = {f"HTTP_N{n}": "v" for n in range(2000)}
    got = ask(site, bridge, HTTP_LONG="l" * 100_000, **many)["env"]
    assert got["HTTP_LONG"] == "l" * 100_000 and got["HTTP_N1999"] == "v"


@pytest.mark.parametrize("mode", ["classic", "persistent"])
@pytest.mark.parametrize("length", ["-1", ""])
def test_a_body_of_unknown_length_reaches_the_program(site, length, mode):
    """Caddy says -1, others nothing, and none of them that the body comes in chunks."""
    script = site.sh("length.sh", """
        printf 'Content-Type: text/plain\\n\\n%s:' "${CONTENT_LENGTH-none}"
        cat
        """)
    bridge = site.start_bridge(f'mode = "{mode}"\n')
    for body in (b"hello", b"", b"x" * 100_000):
        for method in ("POST", "GET") if length else ("POST",):
            answer = bridge.request(script, method, body=body, CONTENT_LENGTH=length)
            assert answer.body == (b"%d:" % len(body) if body else b"none:") + body
