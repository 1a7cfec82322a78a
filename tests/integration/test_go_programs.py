"""Go behind a bridge: stopped at main.main(), also if it is linked with libc, and put back there."""

import pathlib
import re

import pytest

from harness.compiled import compile_go
from harness.processes import wait_until
from harness.site import EXAMPLES

GO = "/usr/bin/go"


@pytest.fixture
def go(site):
    def go(name):
        if not (EXAMPLES / name).exists():
            pytest.skip("no /usr/bin/go when it was configured")
        return site.example(name)
    return go


def hello(answer):
    return (answer.status, answer.body, answer.stderr, answer.app_status)


@pytest.mark.parametrize("name", ["hello-go.cgi", "hello-cgo.cgi"])
@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_it_is_warm(site, go, name, reset):
    script = go(name)
    bridge = site.start_bridge(f'mode = "persistent"\nreset = "{reset}"\n'
                               'workers = { max = 4, spare = 4 }')
    for _ in range(40):
        bridge.request(script)
        assert hello(bridge.request(script)) == (200, b"Hello, world!\n", b"", 0)
        bridge.wait_warm(script)
    status = bridge.program(script)
    assert status["arm"] == f"persistent/{reset}" and status["requests_persistent"] >= 40
    assert status["level"] == "compiled" and not status["retired"]


def test_linked_with_libc_and_not_deeper_it_is_forked(site, go):
    script = go("hello-cgo.cgi")
    bridge = site.start_bridge('mode = "persistent"\nlevel = "linked"\n'
                               'workers = { max = 4, spare = 4 }')
    for _ in range(40):
        bridge.request(script)
        assert hello(bridge.request(script)) == (200, b"Hello, world!\n", b"", 0)
        bridge.wait_warm(script)
    # Its own threads end each worker, so it is given fork, and status says so.
    wait_until(lambda: bridge.program(script)["arm"] == "persistent/fork", "it is forked")
    assert bridge.program(script)["reset_reason"]


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("imports,linked", [("", False), ("_ \"net\"", True)])
def test_one_that_draws_as_it_starts_is_stopped_before_that(site, tmp_path, imports, linked, reset):
    source = tmp_path / "token.go"
    source.write_text("""package main

import (
	"crypto/rand"
	"fmt"
	IMPORTS
)

var token [8]byte

func init() { rand.Read(token[:]) }

func main() { fmt.Printf("Content-Type: text/plain\\n\\n%x", token) }
""".replace("IMPORTS", imports))
    script = site.cgi_bin / "token.cgi"
    if not pathlib.Path(GO).exists():
        pytest.skip(f"no {GO}")
    compile_go(script, [source], with_libc=linked)
    bridge = site.start_bridge(f'mode = "persistent"\nreset = "{reset}"')
    bridge.request(script)
    bridge.wait_warm(script)
    tokens = {bridge.request(script).body for _ in range(40)}
    assert len(tokens) == 40
    status = bridge.program(script)
    assert (status["level"], status["arm"]) == ("booted", f"persistent/{reset}")
    assert re.search(r"(draws random numbers|asks for the time).*main\.init", status["level_reason"])
    assert not status["retired"] and status["requests_persistent"] >= 40
