"""Go behind a bridge: linked with libc it is warm, one worker per request; static it runs classic."""

import pytest

from harness.processes import wait_until
from harness.site import EXAMPLES


@pytest.fixture
def go(site):
    def go(name):
        if not (EXAMPLES / name).exists():
            pytest.skip("no /usr/bin/go when it was configured")
        return site.example(name)
    return go


def hello(answer):
    return (answer.status, answer.body, answer.stderr, answer.app_status)


@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_linked_with_libc_it_is_forked(site, go, reset):
    script = go("hello-cgo.cgi")
    bridge = site.start_bridge(f'mode = "persistent"\nreset = "{reset}"\n'
                               'workers = { max = 4, spare = 4 }')
    for _ in range(40):
        bridge.request(script)
        assert hello(bridge.request(script)) == (200, b"Hello, world!\n", b"", 0)
        bridge.wait_warm(script)
    status = bridge.program(script)
    assert status["level"] == "linked" and status["requests_persistent"] >= 40
    # Its own threads end each worker, so it is given fork, and status says so.
    wait_until(lambda: bridge.program(script)["arm"] == "persistent/fork", "it is forked")
    assert reset == "fork" or bridge.program(script)["reset_reason"]


def test_a_static_one_runs_classic_and_says_why(site, go):
    script = go("hello-go.cgi")
    bridge = site.start_bridge('mode = "persistent"')
    for _ in range(5):
        assert hello(bridge.request(script)) == (200, b"Hello, world!\n", b"", 0)
    status = bridge.program(script)
    assert status["requests_persistent"] == 0 and status["zygote_pid"] is None
    bridge.expect_log("runs classic: a static executable of Go's")
