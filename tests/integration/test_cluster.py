"""examples/cluster: three bridges in network namespaces, HAProxy in front, and what happens to hosts. Its
parts are in examples/cluster_stage: stage.py, acts.py, load.py, haproxy.cfg."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from harness.bridge import BUILD, environment
from harness.site import PROJECT


def why_not():
    if os.getuid() != 0:
        return "network namespaces need root"
    missing = [tool for tool in ("ip", "haproxy") if not shutil.which(tool)]
    if missing:
        return f"{missing[0]} is not installed"
    name = f"cgibridge-try-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode != 0:
        return f"no network namespace can be made here: {made.stderr.strip()}"
    veth = subprocess.run(["ip", "-n", name, "link", "add", "name", "a", "type", "veth", "peer", "name",
                           "b"], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "delete", name], check=True)
    return f"no virtual cable can be made here: {veth.stderr.strip()}" if veth.returncode else ""


def namespaces():
    return [name for name in os.listdir("/run/netns") if name.startswith("cgibridge-")] \
        if os.path.isdir("/run/netns") else []


@pytest.mark.plain_build
def test_no_get_is_lost_and_no_post_in_what_is_routine():
    if why_not():
        pytest.skip(why_not())
    with tempfile.TemporaryDirectory(prefix="cgibridge-test-") as folder:  # short: it has sockets in it
        routine(pathlib.Path(folder))


def routine(folder):
    done = subprocess.run(
        [PROJECT / "examples" / "cluster", "--acts", "quiet,drain,upgrade,deploy,killed", "--seconds",
         "6", "--rate", "60", "--out", folder], capture_output=True, text=True, timeout=300,
        env=environment(CGIBRIDGE_BUILD=str(BUILD), TMPDIR=str(folder)))
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((folder / "cluster.json").read_text())
    assert [row["act"] for row in result["rows"]] == ["quiet", "drain", "upgrade", "deploy", "killed"]
    for row in result["rows"]:
        assert row["gets"] + row["posts"] == 360, row
    hosts = {one["host"] for one in result["requests"]["drain"]}
    assert hosts >= {"host1", "host2", "host3"}
    assert not namespaces()
    assert sorted(os.listdir(folder)) == ["cluster.json", "cluster.md"]
