"""1,000 requests to each battery through a running bridge, several at a time, each leaving a kind chosen at
random: every answer is the same as classic's, and every rewind is compared with its zygote. A usual run has
125 requests; the slow tests have 1,000.

CGIBRIDGE_FIDELITY_REQUESTS sets another number, CGIBRIDGE_FIDELITY_SEED another order.
"""

import os
import random
import threading
import time

import pytest

import batteries

REQUESTS = int(os.environ.get("CGIBRIDGE_FIDELITY_REQUESTS", 1000))
CLIENTS = 4
# The reasons for which these kinds may retire a worker.
RETIREMENTS = {"threads", "children", "identity", "session", "limits", "call", "mappings"}


@pytest.fixture
def seed():
    chosen = int(os.environ.get("CGIBRIDGE_FIDELITY_SEED", time.time_ns() % 1_000_000))
    print(f"CGIBRIDGE_FIDELITY_SEED={chosen}")
    return chosen


class Client(threading.Thread):
    """Sends requests one after another, and compares each answer with the reference."""

    def __init__(self, bridge, script, queries, reference):
        super().__init__()
        self.bridge, self.script, self.queries, self.reference = bridge, script, queries, reference
        self.problems, self.before = [], "none"

    def run(self):
        for query in self.queries:
            try:
                self.check(query)
            except Exception as error:  # reported by the test itself
                self.problems.append((query, repr(error)))

    def check(self, query):
        answer = ask(self.bridge, self.script, query)
        text = answer.stdout.decode(errors="replace")
        if text != self.reference or answer.app_status != 0 or answer.stderr:
            self.problems.append((query, batteries.differences(text, self.reference),
                                  answer.app_status, answer.stderr[:300]))


def ask(bridge, script, query):
    return bridge.request(script, "POST", query, batteries.BODY)


def reference_of(bridge, script):
    """Classic's answer, which must be the same twice."""
    bridge.command("mode", script, "classic")
    first, second = [ask(bridge, script, "") for _ in range(2)]
    assert first.stdout == second.stdout and (first.app_status, first.stderr) == (0, b"")
    assert batteries.sections(first.stdout.decode())
    bridge.command("mode", script, "persistent")
    return first.stdout.decode(errors="replace")


# A script can see what was loaded in advance, and Tcl's looks for the very package that it loads.
LEARN = {"tcl": "none"}


def cases():
    for language in batteries.LANGUAGES:
        for reset in batteries.RESETS:
            yield language, reset, REQUESTS // 8
            yield pytest.param(language, reset, REQUESTS, marks=pytest.mark.slow)


@pytest.mark.parametrize("language, reset, requests", cases())
def test_a_thousand_requests_see_nothing_of_each_other(site, seed, language, reset, requests):
    batteries.install(site.cgi_bin, [language])
    script = site.cgi_bin / batteries.PROGRAMS[language]
    bridge = site.start_bridge(f'mode = "persistent"\nreset = "{reset}"\n'
                               f'rewind = {{ verify = 1, max_retired = 100 }}\n'
                               f'learn = "{LEARN.get(language, "installed")}"\n'
                               f'workers = {{ max = {CLIENTS}, spare = 2 }}\n'
                               'timeouts = { start = "60s", request = "60s" }\nqueue = { timeout = "30s" }')
    reference = reference_of(bridge, script)
    ask(bridge, script, "")
    bridge.wait_warm(script)
    chance, names = random.Random(seed), sorted(filter(batteries.can_do, batteries.kinds(language)))
    queries = [chance.choice(names) for _ in range(requests)]
    clients = [Client(bridge, script, queries[n::CLIENTS], reference) for n in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    problems = [problem for client in clients for problem in client.problems]
    assert not problems, (f"seed {seed}", len(problems), problems[:5])
    status = bridge.program(script)
    assert status["arm"] == f"persistent/{reset}", status["reset_reason"]
    if reset == "rewind":
        assert status["rewind"]["rewinds"] >= requests * 0.6
        assert status["rewind"]["verified"] > 0 and status["rewind"]["differences"] == 0
        assert set(status["retired"]) <= RETIREMENTS, status["retired"]
