"""Many requests by several connections at once: each answer is its own, and no memory has anything of
another request. CGIBRIDGE_TESTS_REQUESTS: how many of each; 10,000 were tried."""

import concurrent.futures
import os
import re

import pytest
from harness.components import component
from harness.modules import RESETS, maker, module, settings, start_warm

REQUESTS = int(os.environ.get("CGIBRIDGE_TESTS_REQUESTS", "200"))
CONNECTIONS = 4


def check_request(answer, n, body):
    assert f"variable: QUERY_STRING=n={n}\n".encode() in answer.body
    assert f"variable: HTTP_COOKIE=secret{n}\n".encode() in answer.body
    assert answer.body.count(b"secret") == 1 and answer.body.endswith(b"body:\n" + body)


def check_leak(answer, n, body):
    assert b"runs 0, initialized 41" in answer.body and b"found 0\n" in answer.body, answer.body


def check_http(answer, n, body):
    assert b"header cookie: secret%d\n" % n in answer.body and b"runs: 1\n" in answer.body
    assert answer.body.count(b"secret") == len(re.findall(rb"secret%d\b" % n, answer.body))
    assert (b"body: " + body if body else b"") in answer.body


@pytest.mark.parametrize("reset", RESETS)
@pytest.mark.parametrize("make, name, check", [
    (module, "request", check_request), (module, "leak", check_leak), (component, "request", check_request),
    (component, "leak", check_leak), (component, "http", check_http)])
def test_each_of_many_answers_is_that_request_s_own(site, make, name, check, reset):
    wasm = maker(site, make)
    program = wasm(name)
    bridge = start_warm(site, program, settings(site, reset), wasm.bridge, HTTP_HOST="h")

    def ask(connection):
        with bridge.connect() as peer:
            for n in range(connection, REQUESTS, CONNECTIONS):
                body = b"<%d>" % n * (n % 50)
                answer = peer.request(program, "POST", f"n={n}", body, HTTP_HOST="h",
                                      HTTP_COOKIE=f"secret{n}")
                assert answer.status == 200 and answer.app_status == 0, answer
                check(answer, n, body)
    with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as connections:
        list(connections.map(ask, range(CONNECTIONS)))
    assert bridge.program(program)["requests_persistent"] >= REQUESTS * 0.9
