"""examples/cpu-ceiling, with examples/cpu_ceiling/burn.py: it measures every point, draws its chart and
leaves nothing behind."""

import csv
import json
import os
import subprocess

import pytest

from harness import cgroups
from harness.bridge import BUILD
from harness.site import PROJECT

pytestmark = pytest.mark.plain_build


def test_static_requests_are_measured_beside_burning_ones(site, tmp_path):
    cgroups.need(site)
    scratch = site.folder / "scratch"
    scratch.mkdir()
    done = subprocess.run([PROJECT / "examples" / "cpu-ceiling", "--rounds", "1", "--seconds", "1",
                           "--burning", "2", "--ceilings", "none,10", "--out", tmp_path],
                          capture_output=True, text=True, timeout=240,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "CGIBRIDGE_BUILD": str(BUILD),
                               "TMPDIR": str(scratch), "HOME": os.environ.get("HOME", "/")})
    assert done.returncode == 0, done.stdout + done.stderr
    points = json.loads((tmp_path / "cpu-ceiling.json").read_text())["points"]
    assert [(point["ceiling"], point["burning"]) for point in points] == [
        (None, 0), (None, 2), (None, 0), (10, 0), (10, 2), (10, 0)]
    assert all(point["static_per_second"] > 0 for point in points)
    free, held = points[1]["cgi_cpu_percent"], points[4]["cgi_cpu_percent"]
    assert all(point["cgi_cpu_percent"] < 1 for point in points if point["burning"] == 0)
    assert 0 < held < free
    with open(tmp_path / "cpu-ceiling.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(points)
    assert (tmp_path / "cpu-ceiling.png").read_bytes().startswith(b"\x89PNG")
    assert "| no ceiling | 10 % |" in done.stdout
    assert not list(scratch.iterdir())
