"""mode = "split", pins, and the header that names the arm, as an operator sees them."""

import pytest

from harness import programs

HEADER = 'arm_header = "X-CGI-Arm"\n'


def split(share, sticky="none", more=""):
    return (f'mode = "split"\nsplit = {{ persistent = {share}, sticky = "{sticky}" }}\n'
            + HEADER + more)


@pytest.fixture
def start(site):
    """Starts a bridge and a warm program on it; returns both."""
    def start(defaults, **options):
        script = programs.pid(site)
        bridge = site.start_bridge(defaults, **options)
        bridge.request(script)
        if 'mode = "classic"' not in defaults:
            bridge.wait_warm(script)
        return bridge, script
    return start


def arm_of(response):
    assert response.status == 200, response
    return response.head["x-cgi-arm"]


def arms(bridge, script, count, **more):
    return [arm_of(bridge.request(script, **more)) for _ in range(count)]


class TestShare:
    @pytest.mark.parametrize("share", [0, 10, 50, 100])
    def test_a_share_of_all_requests_is_persistent(self, start, share):
        bridge, script = start(split(share))
        found = arms(bridge, script, 100)
        assert abs(found.count("rewind") - share) <= 2
        assert set(found) <= {"rewind", "classic"}

    def test_the_arm_is_that_of_the_programs_reset(self, start):
        bridge, script = start(split(100, more='reset = "fork"\n'))
        assert set(arms(bridge, script, 10)) == {"fork"}

    def test_each_arm_has_its_figures(self, start):
        bridge, script = start(split(50))
        arms(bridge, script, 40)
        found = bridge.program(script)["arms"]
        assert set(found) == {"classic", "rewind"}
        assert sum(arm["requests"] for arm in found.values()) == 41
        assert abs(found["classic"]["requests"] - found["rewind"]["requests"]) <= 5
        for arm in found.values():
            assert arm["errors"] == 0 and arm["status"] == {"2xx": arm["requests"]}
            assert 0 < arm["latency_us"]["p50"] <= arm["latency_us"]["p99"] <= arm["latency_us"]["max"]
            assert arm["cpu_us"]["max"] > 0 and arm["bytes_out"] > 0

    def test_a_changed_share_holds_for_the_next_request(self, site, start):
        bridge, script = start(split(0))
        assert set(arms(bridge, script, 5)) == {"classic"}
        site.rewrite_config(split(100))
        assert set(arms(bridge, script, 5)) == {"rewind"}


class TestSticky:
    def test_a_client_stays_on_its_side(self, start):
        bridge, script = start(split(50, "client"))
        by_client = {}
        for client in range(40):
            address = {"REMOTE_ADDR": f"192.0.2.{client}"}
            found = set(arms(bridge, script, 4, **address))
            assert len(found) == 1, (client, found)
            by_client[client] = found.pop()
        assert 8 < list(by_client.values()).count("rewind") < 32

    def test_who_was_persistent_stays_so_when_the_share_grows(self, site, start):
        bridge, script = start(split(30, "client"))
        clients = [{"REMOTE_ADDR": f"198.51.100.{number}"} for number in range(30)]
        before = [arms(bridge, script, 1, **client)[0] for client in clients]
        site.rewrite_config(split(60, "client"))
        after = [arms(bridge, script, 1, **client)[0] for client in clients]
        assert all(now == "rewind" for was, now in zip(before, after) if was == "rewind")
        assert after.count("rewind") > before.count("rewind")

    def test_a_cookie_keeps_its_visitor_on_a_side_whatever_its_address(self, start):
        bridge, script = start(split(50, "cookie:visitor"))
        sides = set()
        for visitor in range(20):
            cookie = {"HTTP_COOKIE": f"a=1; visitor=v{visitor}; b=2"}
            found = {arm_of(bridge.request(script, REMOTE_ADDR=f"192.0.2.{i}", **cookie))
                     for i in range(3)}
            assert len(found) == 1
            sides |= found
        assert sides == {"classic", "rewind"}

    def test_visitors_without_the_cookie_are_split_all_the_same(self, start):
        bridge, script = start(split(50, "cookie:visitor"))
        assert set(arms(bridge, script, 20)) == {"classic", "rewind"}


class TestPin:
    PIN = 'pin = { header = "X-CGI-Mode", from = ["192.0.2.0/24"] }\n'
    TRUSTED = {"REMOTE_ADDR": "192.0.2.7"}

    @pytest.mark.parametrize("mode", ["classic", "persistent", "split"])
    def test_a_trusted_client_chooses_in_every_mode(self, start, mode):
        bridge, script = start(f'mode = "{mode}"\n' + self.PIN + HEADER)
        bridge.request(script, HTTP_X_CGI_MODE="persistent", **self.TRUSTED)
        bridge.wait_warm(script)
        for word, arm in (("classic", "classic"), ("persistent", "rewind")):
            found = arms(bridge, script, 5, HTTP_X_CGI_MODE=word, **self.TRUSTED)
            assert set(found) == {arm}

    def test_nobody_else_does(self, start):
        bridge, script = start('mode = "classic"\n' + self.PIN + HEADER)
        for stranger in ({"REMOTE_ADDR": "198.51.100.1"}, {"REMOTE_ADDR": ""}, {"REMOTE_ADDR": "x"}):
            assert set(arms(bridge, script, 3, HTTP_X_CGI_MODE="persistent", **stranger)) == {"classic"}

    def test_without_a_pin_the_header_is_only_a_header(self, start):
        bridge, script = start('mode = "classic"\n' + HEADER)
        assert arms(bridge, script, 1, HTTP_X_CGI_MODE="persistent", **self.TRUSTED) == ["classic"]

    def test_a_word_that_is_no_side_changes_nothing(self, start):
        bridge, script = start('mode = "classic"\n' + self.PIN + HEADER)
        assert arms(bridge, script, 1, HTTP_X_CGI_MODE="rewind!", **self.TRUSTED) == ["classic"]

    def test_the_web_server_pins_where_all_requests_come_from_it(self, start):
        pin = 'pin = { header = "X-CGI-Mode", from = ["unix"] }\n'
        bridge, script = start('mode = "persistent"\n' + pin + HEADER)
        no_address = {"REMOTE_ADDR": "unix:"}
        assert arms(bridge, script, 2, HTTP_X_CGI_MODE="classic", **no_address) == ["classic"] * 2
        assert arms(bridge, script, 1, **no_address) == ["rewind"]


class TestArmHeader:
    def test_it_is_there_only_if_asked_for(self, start):
        bridge, script = start('mode = "persistent"\n')
        assert "x-cgi-arm" not in bridge.request(script).head

    @pytest.mark.parametrize("head", ["Content-Type: text/plain\\n\\n",
                                      "Content-Type: text/plain\\r\\n\\r\\n",
                                      "Status: 404 Gone\\nX-More: 1\\n\\n",
                                      "HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\n\\r\\n"])
    def test_it_joins_every_kind_of_head(self, site, head):
        script = site.sh("x", f"printf '{head}the body\\n'\n")
        bridge = site.start_bridge('mode = "classic"\n' + HEADER)
        answer = bridge.request(script)
        assert answer.head["x-cgi-arm"] == "classic"
        assert answer.body == b"the body\n"

    def test_a_head_cut_into_pieces_gets_it_once(self, site):
        script = site.sh("x", "printf 'Content-Ty'; sleep 0.05; printf 'pe: a/b\\n'; sleep 0.05;"
                              "printf '\\nbody'\n")
        bridge = site.start_bridge('mode = "classic"\n' + HEADER)
        answer = bridge.request(script)
        assert answer.stdout.count(b"X-CGI-Arm") == 1 and answer.body == b"body"


def test_a_slow_worker_holds_up_no_classic_request(site):
    """One worker is busy and no other is available; requests for classic do not queue for it."""
    script = site.python("x", """
        import os, time
        if os.environ["QUERY_STRING"] == "slow":
            print("Content-Type: a/b\\n", flush=True)
            time.sleep(600)
        else:
            print("Content-Type: a/b\\n\\nquick")
        """)
    bridge = site.start_bridge('mode = "persistent"\nworkers = { max = 3, spare = 1 }\n'
                               + TestPin.PIN + HEADER)
    bridge.request(script)
    bridge.wait_warm(script)
    with bridge.connect() as slow, bridge.connect() as slower:
        for peer in (slow, slower):
            peer.start(script, query="slow")
            peer.wait_for_output(b"a/b")
        pinned = arms(bridge, script, 3, HTTP_X_CGI_MODE="classic", **TestPin.TRUSTED)
        assert pinned == ["classic"] * 3
        for peer in (slow, slower):
            peer.abort()
            peer.response()
    bridge.wait_idle()

