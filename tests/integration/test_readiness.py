"""Whether requests should be sent to a bridge: what load balancers ask, and how a bridge leaves them."""

import pytest

from harness import programs
from harness.bridge import BINARY, environment
from harness.control import Control
from harness.processes import PATIENCE, wait_until

HEALTH = 'health = "/up"\n'


def ask(bridge, target="/up", method="GET", body=b""):
    """Asks as a web server does that passes a path on without knowing a program."""
    with bridge.connect() as peer:
        return peer.request("/no/program", method=method, body=body, REQUEST_URI=target)


def ready(site, bridge):
    """The exit code and the words of `status --ready`."""
    done = site.cgibridge("status", "--ready", "--control", bridge.control, expect=None)
    return done.returncode, done.stdout


def metric(bridge):
    lines = bridge.command("status", "--openmetrics").splitlines()
    return next(line.split()[1] for line in lines if line.startswith("cgibridge_ready "))


def test_it_is_ready_when_nothing_is_awaited(site):
    bridge = site.start_bridge('mode = "classic"', bridge=HEALTH)
    answer = ask(bridge)
    assert (answer.status, answer.body) == (200, b"ready\n")
    assert answer.head["cache-control"] == "no-store"
    assert ask(bridge, "/up?verbose").status == 200
    assert ready(site, bridge) == (0, "ready\n")
    assert metric(bridge) == "1"


def test_only_that_path_and_only_reading_it_is_meant(site):
    bridge = site.start_bridge('mode = "classic"', bridge=HEALTH)
    bridge.allow_log("no/program")
    head = ask(bridge, method="HEAD")
    assert (head.status, head.body) == (200, b"")
    refused = ask(bridge, method="POST", body=b"x")
    assert (refused.status, refused.head["allow"]) == (405, "GET, HEAD")
    for other in ("/up/there", "/upper", "/", "//up"):
        assert ask(bridge, other).status == 404, other


def test_without_the_setting_nothing_answers(site):
    bridge = site.start_bridge('mode = "classic"')
    bridge.allow_log("no/program")
    assert ask(bridge).status == 404


def test_it_is_not_ready_before_its_programs_are_warm(site):
    gate = site.folder / "gate"
    script = site.perl("slow", f"""
        BEGIN {{ select(undef, undef, undef, 0.02) until -e "{gate}" }}
        print "Content-Type: text/plain\\n\\n$$\\n";
        """)
    quick = programs.pid(site)
    bridge = site.start_bridge('mode = "persistent"\ntimeouts = { start = "1m" }',
                               bridge=HEALTH + f'prewarm = ["{quick}", "{script}"]\n')
    bridge.wait_warm(quick)
    answer = ask(bridge)
    assert answer.status == 503
    assert answer.body.decode() == \
        f"1 program(s) of bridge.prewarm are not warm yet, the first is {script}\n"
    assert ready(site, bridge) == (1, "not ready: " + answer.body.decode())
    assert metric(bridge) == "0"
    gate.touch()
    wait_until(lambda: ask(bridge).status == 200, "it is ready", 20)
    assert ready(site, bridge)[0] == 0


def test_a_program_that_changes_later_does_not_make_it_unready(site):
    gate = site.folder / "gate"
    gate.touch()
    text = f"""
        BEGIN {{ select(undef, undef, undef, 0.02) until -e "{gate}" }}
        print "Content-Type: text/plain\\n\\n$$\\n";
        """
    script = site.perl("slow", text)
    bridge = site.start_bridge('mode = "persistent"\ntimeouts = { start = "1m" }',
                               bridge=HEALTH + f'prewarm = ["{script}"]\n')
    wait_until(lambda: ask(bridge).status == 200, "it is ready", 20)
    gate.unlink()
    site.perl("slow", text + "# changed\n")
    with bridge.connect() as peer:
        peer.start(script)
        wait_until(lambda: bridge.program(script)["level"] == "warming"
                   or bridge.program(script)["newest_generation"] > 1, "it starts again")
        assert ask(bridge).status == 200
        gate.touch()
        assert peer.response().status == 200


def test_programs_that_cannot_be_warm_are_not_awaited(site):
    broken = site.script("broken", "#!/no/such/interpreter\n")
    bridge = site.start_bridge('mode = "persistent"',
                               bridge=HEALTH + f'prewarm = ["{broken}", "/no/such/program"]\n')
    bridge.allow_log("no/such")
    wait_until(lambda: ask(bridge).status == 200, "it is ready", 20)


class TestDrain:
    def test_it_is_announced_and_requests_are_answered_until_then(self, site):
        script = programs.hello(site)
        bridge = site.start_bridge('mode = "classic"', bridge=HEALTH)
        bridge.command("drain", "--after", "1h")
        answer = ask(bridge)
        assert (answer.status, answer.body) == (503, b"the bridge is about to end\n")
        assert ready(site, bridge) == (1, "not ready: the bridge is about to end\n")
        assert bridge.request(script).status == 200
        assert bridge.status()["bridge"]["draining"] is False
        assert "about to end" in bridge.command("upgrade", expect=1)
        bridge.command("drain")
        bridge.expect_end()

    def test_it_ends_by_itself_when_the_time_is_over(self, site):
        bridge = site.start_bridge('mode = "classic"', bridge=HEALTH)
        bridge.command("drain", "--after", "100ms")
        bridge.expect_end()

    def test_a_caller_may_wait_for_the_end(self, site):
        sleeper = programs.sleeper(site)
        bridge = site.start_bridge('mode = "classic"', bridge=HEALTH)
        with bridge.connect() as peer:
            peer.start(sleeper, query="1")
            peer.wait_for_output(b"started")
            waiting = site.start(BINARY, "drain", "--after", "100ms", "--wait", "--control",
                                 bridge.control, env=environment())
            bridge.expect_log("draining, 1 request")
            assert waiting.poll() is None
            assert peer.response().body.endswith(b"ended\n")
        assert waiting.wait(10 * PATIENCE) == 0
        bridge.expect_end()

    @pytest.mark.parametrize("after", ["soon", "5", "-1s"])
    def test_nonsense_is_refused(self, site, after):
        bridge = site.start_bridge('mode = "classic"', bridge=HEALTH)
        done = site.cgibridge("drain", f"--after={after}", "--control", bridge.control, expect=None)
        assert done.returncode > 0 and after in done.stderr
        for word in (after, 5, None, ["1s"]):
            with pytest.raises(AssertionError, match="after"), Control(bridge.control) as control:
                control.ask("drain", after=word)
        assert ask(bridge).status == 200


def test_the_page_is_not_shown_in_place_of_a_refusal(site):
    """nginx answers with a program of its own; REQUEST_URI still names what the visitor may not see."""
    programs.hello(site, "sorry", "sorry")
    bridge = site.start_bridge('mode = "classic"', bridge='page = { path = "/page" }\n')
    nginx = site.start_nginx(bridge, locations=f"""
        error_page 403 /cgi-bin/sorry;
        location /cgi-bin/ {{
          include /etc/nginx/fastcgi_params;
          fastcgi_param SCRIPT_FILENAME {site.folder}$fastcgi_script_name;
          fastcgi_pass bridge;
        }}
        location /page {{ deny all; include /etc/nginx/fastcgi_params; fastcgi_pass bridge; }}
        location /page/metrics {{ include /etc/nginx/fastcgi_params; fastcgi_pass bridge; }}
        """)
    for below in ("", "/", "/data.json", "/data.json?x"):
        answer = nginx.send_request("/page" + below)
        assert (answer.status, answer.body) == (403, b"sorry\n"), below
    assert nginx.send_request("/page/metrics").status == 200
