"""Programs that execute another one, in workers that end after their request."""

import pytest

from harness.executed import PROGRAM, WARM, answers, differences, stood_in, warm_up
from harness.processes import wait_until
from test_executed import EXECUTED, HANDED, LOCK_DEEDS, gone, locker, slow, wrapper  # noqa: F401

FORK = WARM + '\nreset = "fork"'


# A program has eight others at most, and these are more.
@pytest.mark.parametrize("deeds", [HANDED[:15], HANDED[15:], EXECUTED], ids=["some", "others", "executed"])
def test_another_worker_answers_or_nothing_is_lost(site, wrapper, deeds):  # noqa: F811
    bridge = site.start_bridge(FORK, programs=PROGRAM)
    request = {"method": "POST", "query": "a+b", "body": b"a body"}
    site.cgibridge("mode", "x", "classic", "--config", bridge.config)
    classic = {deed: answers(bridge, wrapper, 1, HTTP_DEED=deed, **request)[0] for deed in deeds}
    site.cgibridge("mode", "x", "persistent", "--config", bridge.config)
    warm_up(bridge, wrapper)
    wrong = {}
    for deed in deeds:
        if deed in HANDED:
            warm_up(bridge, wrapper, HTTP_DEED=deed, **request)
        bridge.wait_warm(wrapper)
        before = stood_in(bridge, wrapper)
        different = differences(answers(bridge, wrapper, 1, HTTP_DEED=deed, **request)[0], classic[deed])
        count = stood_in(bridge, wrapper) - before
        if different or count != (1 if deed in HANDED else 0):
            wrong[deed] = (count, different)
    assert wrong == {}
    assert bridge.program(wrapper)["arm"] == "persistent/fork"


def test_a_lock_is_held_as_long_as_the_program_itself_would_hold_it(site):
    script = locker(site)
    bridge = site.start_bridge(FORK, programs=PROGRAM)
    classic = {}
    for deed in LOCK_DEEDS:
        site.cgibridge("mode", "x", "classic", "--config", bridge.config)
        classic[deed] = bridge.request(script, query=deed).body
    site.cgibridge("mode", "x", "persistent", "--config", bridge.config)
    warm_up(bridge, script)
    for deed in LOCK_DEEDS:
        bridge.wait_warm(script)
        before = stood_in(bridge, script)
        assert bridge.request(script, query=deed).body == classic[deed], deed
        assert stood_in(bridge, script) == before + 1, deed


def test_its_end_is_the_end_of_the_request(site, wrapper):  # noqa: F811
    bridge = site.start_bridge(FORK)
    warm_up(bridge, wrapper)
    before = stood_in(bridge, wrapper)
    for request, code in (({"HTTP_FAIL": "1"}, 3), ({"HTTP_DIE": "1"}, 128 + 9), ({}, 0)):
        bridge.wait_warm(wrapper)
        with bridge.connect() as peer:
            answer = peer.request(wrapper, **request)
            assert (answer.status, answer.app_status) == (200, code)
    assert stood_in(bridge, wrapper) == before + 3
    bridge.expect_log("killed by signal 9")


def test_a_client_that_leaves_takes_both_along(site):
    bridge = site.start_bridge(FORK)
    script = slow(site)
    warm_up(bridge, script)
    bridge.wait_warm(script)
    before = stood_in(bridge, script)
    with bridge.connect() as peer:
        peer.start(script, query="slow")
        pid = int(peer.wait_for_output(b"\n\n").split()[-1])
    wait_until(lambda: gone(pid), "the other program goes on")
    assert bridge.request(script).status == 200
    assert stood_in(bridge, script) > before
    bridge.wait_idle()
