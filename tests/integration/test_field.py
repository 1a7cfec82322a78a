"""tests/bench/field, which repeats the published measurements: it measures every side."""

import json
import subprocess

import pytest

from harness.bridge import BUILD
from harness.site import PROJECT

pytestmark = pytest.mark.plain_build


def field(out, *arguments):
    done = subprocess.run([PROJECT / "tests" / "bench" / "field", "--rounds", "1", "--seconds", "1",
                           "--out", out, *arguments], capture_output=True, text=True, timeout=300,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "CGIBRIDGE_BUILD": str(BUILD)})
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((out / "field.json").read_text())["measurements"], done.stdout


@pytest.mark.slow
def test_a_guestbook_is_read_and_signed_on_every_side(tmp_path):
    found, table = field(tmp_path, "--only", "1,2", "--languages", "C", "--p99-ms", "5000")
    sides = {"fcgiwrap", "mod_cgid", "classic", "fork", "rewind"}
    [loops], [rates] = found["1"]["C"]["rounds"], found["2"]["C"]["rounds"]
    assert set(loops) == set(rates) == sides
    for side in sides:
        assert loops[side]["reads"]["requests"] > 0 and loops[side]["writes"]["requests"] > 0
        assert 10_000 < loops[side]["reads"]["page_bytes"] < 11_500
        assert rates[side]["at_most"]["done"] > 0 and rates[side]["at_most"]["wrong"] == 0
    reached = found["1"]["C"]["reached"]
    assert reached["rewind"]["rewinds"] > 0 and reached["fork"]["rewinds"] == 0
    assert "| reads/s |" in table and "| writes/s |" in table and "| signings/s" in table


def test_hello_is_asked_for_through_apache_in_every_way(tmp_path):
    found, table = field(tmp_path, "--only", "3", "--requests", "40")
    [sides] = found["3"]
    assert set(sides) == {"mod_cgid", "mod_fcgid", "rewind", "rewind-reuse"}
    for counts in sides.values():
        assert all(figures["requests_per_second"] > 0 for figures in counts.values())
    assert "Apache mod_fcgid, program rewritten" in table
