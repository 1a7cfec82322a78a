"""The mode changes under load, again and again, and no request notices."""

import re
import subprocess

import pytest

from harness.control import Control

MODES = ("classic", "persistent", "split", "shadow")


@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_a_thousand_switches_under_load_fail_no_request(site, reset):
    script = site.example("hello.cgi")
    bridge = site.start_bridge(
        f'mode = "classic"\nreset = "{reset}"\nsplit = {{ persistent = 50 }}\n')
    nginx = site.start_nginx(bridge)
    url = f"http://127.0.0.1:{nginx.port}/cgi-bin/{script.name}"
    load = site.start("ab", "-q", "-k", "-c", 4, "-t", 300, "-n", 10_000_000, url,
                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    with Control(bridge.control) as control:
        for number in range(1000):
            control.ask("mode", program=str(script), mode=MODES[number % len(MODES)])
            if number % 50 == 0:  # leave some modes the time to answer
                seen = bridge.status()["bridge"]["requests_total"]
                while bridge.status()["bridge"]["requests_total"] < seen + 20:
                    assert load.poll() is None, load.stdout.read()
    load.send_signal(2)  # makes ab report what it has seen so far
    report, _ = load.communicate(timeout=30)
    complete = int(re.search(r"Complete requests: +(\d+)", report).group(1))
    assert complete >= 400, report
    assert "Non-2xx" not in report, report
    # ab cuts the requests that are in flight when it is told to end.
    failed = re.search(r"Failed requests: +(\d+)", report)
    assert int(failed.group(1)) == 0, report
    entry = bridge.program(script)
    assert entry["requests_classic"] > 0 and entry["requests_persistent"] > 0
    # The requests that were in flight when ab was told to end.
    for name, arm in entry["arms"].items():
        assert set(arm["failures"]) <= {"client_gone"}, (name, arm)
    bridge.allow_log(r"the client closed its connection")
