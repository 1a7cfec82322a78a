"""What a load balancer must know before it sends a request again: whether its program may have begun.
arm_header says so in each answer, and the bridge's own 503 always comes before the program."""

import http.client
import textwrap

import pytest

from harness import processes, programs
from harness.processes import wait_until
from harness.webserver import require

HEADER = 'arm_header = "X-Arm"\n'
NEVER = "not-begun"


def noting(site, name, text):
    """A program that notes that it has begun."""
    return site.sh(name, f"echo begun >> {site.folder}/{name}.notes\n{text}")


def has_begun(site, name):
    return (site.folder / f"{name}.notes").exists()


# What a program may do that makes the bridge answer instead of it, or that looks as if it did.
ENDINGS = {
    "says nothing": ("exit 3", 502),
    "says nonsense": ("echo nonsense", 502),
    "is killed": ("kill -9 $$", 502),
    "takes too long": ("sleep 60", 504),
    "answers 503 itself": (r"printf 'Status: 503\nX-Arm: not-begun\nContent-Type: text/plain\n\nno\n'", 503),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("mode", ["classic", "persistent"])
def test_a_program_that_began_is_never_said_not_to_have(site, mode, ending):
    text, status = ENDINGS[ending]
    script = noting(site, "program", text + "\n")
    bridge = site.start_bridge(f'mode = "{mode}"\n{HEADER}'
                               'timeouts = { request = "2s", kill_grace = "100ms" }\n')
    bridge.allow_log("program")
    answer = bridge.request(script)
    assert (answer.status, answer.head["x-arm"]) == (status, "classic") and has_begun(site, "program")
    if mode == "persistent":
        bridge.wait_warm(script)
        answer = bridge.request(script)
        assert answer.status == status and answer.head["x-arm"] in ("rewind", "classic")


def test_what_is_refused_at_once(site):
    script = noting(site, "program", "cat >/dev/null; printf 'Content-Type: text/plain\\n\\nok\\n'\n")
    plain = site.script("plain", "no program\n", mode=0o644)
    bridge = site.start_bridge(f'mode = "classic"\n{HEADER}limits = {{ body = "1KiB" }}\n')
    bridge.allow_log(".")
    for given, status, more in (("/no/such/file", 404, {}), ("/bin/true", 403, {}), (plain, 403, {}),
                                (script, 413, {"CONTENT_LENGTH": "2000"}),
                                (script, 502, {"FCGI_CHDIR": "/no/such/folder"})):
        answer = bridge.request(given, **more)
        assert (answer.status, answer.head["x-arm"]) == (status, NEVER), given
    # A body of no announced length is collected before the program begins.
    answer = bridge.request(script, "POST", body=b"x" * 2000, CONTENT_LENGTH=None,
                            HTTP_TRANSFER_ENCODING="chunked")
    assert (answer.status, answer.head["x-arm"]) == (413, NEVER)
    assert not has_begun(site, "program")
    assert bridge.request(script, "POST", body=b"x").head["x-arm"] == "classic" and has_begun(site, "program")


@pytest.mark.parametrize("queue", ['max = 0', 'max = 4, timeout = "200ms"'], ids=["full", "slow"])
@pytest.mark.parametrize("mode", ["classic", "persistent"])
def test_503_for_want_of_room_comes_before_the_program(site, mode, queue):
    sleeper = programs.sleeper(site, notes=site.folder / "sleeper.notes")
    bridge = site.start_bridge(f'mode = "{mode}"\nworkers = {{ max = 1 }}\n{HEADER}queue = {{ {queue} }}\n'
                               'timeouts = { kill_grace = "100ms" }\n')
    bridge.allow_log("sleeper")
    if mode == "persistent":
        bridge.request(sleeper, query="0")
        bridge.wait_warm(sleeper)
    with bridge.connect() as first:
        first.start(sleeper, query="60")
        first.wait_for_output(b"started ", 1)
        begun = (site.folder / "sleeper.notes").read_text().count("\n")
        refused = bridge.request(sleeper)
        assert (refused.status, refused.head["x-arm"]) == (503, NEVER)
        assert (site.folder / "sleeper.notes").read_text().count("\n") == begun


def test_a_drain_finishes_what_it_has_and_begins_no_more(site):
    """Its idle connections are closed, and there are no new ones: who comes now knows that nothing ran."""
    script = noting(site, "program", "sleep 1; printf 'Content-Type: text/plain\\n\\nok\\n'\n")
    bridge = site.start_bridge('mode = "classic"\n' + HEADER)
    with bridge.connect() as peer, bridge.connect() as idle:
        peer.start(script)
        wait_until(lambda: has_begun(site, "program"), "it has begun")
        bridge.command("drain")
        idle.expect_closed()
        answer = peer.response()
        assert answer.body == b"ok\n" and answer.head["x-arm"] == "classic"
        with pytest.raises(OSError):
            bridge.connect(seconds=1)
    bridge.expect_end()


def test_without_the_setting_answers_are_as_before(site):
    bridge = site.start_bridge('mode = "classic"\n')
    bridge.allow_log(".")
    assert not any("arm" in name for name in bridge.request("/no/such/file").head)


class TestBehindALoadBalancer:
    """Two bridges, of which the first has no room; the lines are those of config/README.md."""

    @pytest.fixture
    def bridges(self, site):
        sleeper = programs.sleeper(site)
        programs.echo(site)
        full, free = (site.start_bridge(
            f'mode = "classic"\n{HEADER}queue = {{ max = 0 }}\ntimeouts = {{ kill_grace = "100ms" }}\n',
            bridge="workers_max = 1\n", name=f"{name}.toml", listen=[f"unix:{site.folder}/{name}.sock"])
            for name in ("full", "free"))
        full.allow_log("503")
        with full.connect() as first:
            first.start(sleeper, query="60")
            first.wait_for_output(b"started ", 1)
            yield full, free

    def test_nginx_repeats_only_what_may_run_twice(self, site, bridges):
        full, free = bridges
        both = f"unix:{full.address} max_fails=0; server unix:{free.address} backup"
        nginx = site.start_nginx(
            free, upstreams={"both": (both, False)},
            locations=f"""location /cgi-bin/ {{
              include /etc/nginx/fastcgi_params;
              fastcgi_param SCRIPT_FILENAME {site.folder}$fastcgi_script_name;
              fastcgi_next_upstream error timeout http_503;
              fastcgi_pass both;
            }}""")
        assert nginx.send_request("/cgi-bin/echo").status == 200
        refused = nginx.send_request("/cgi-bin/echo", "POST", b"x")
        assert (refused.status, refused.headers["x-arm"]) == (503, NEVER)

    def test_haproxy_repeats_a_post_that_got_503(self, site, bridges):
        require("haproxy")
        full, free = bridges
        port, config = processes.free_port(), site.folder / "haproxy.cfg"
        config.write_text(textwrap.dedent(f"""
            defaults
              mode http
              timeout connect 5s
              timeout client 60s
              timeout server 60s
              retries 3
              option redispatch 1
              retry-on conn-failure 503
            listen both
              bind 127.0.0.1:{port}
              balance first
              use-fcgi-app cgi
              server full unix@{full.address} proto fcgi
              server free unix@{free.address} proto fcgi
            fcgi-app cgi
              docroot /nowhere
              set-param SCRIPT_FILENAME {site.folder}%[path]
            """))
        site.start("haproxy", "-db", "-f", config)
        wait_until(lambda: processes.accepts(("127.0.0.1", port)), "HAProxy listens")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("POST", "/cgi-bin/echo", b"x")
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"x")
        connection.close()
        assert full.status()["programs"] and free.program(site.cgi_bin / "echo")["requests_classic"] == 1
