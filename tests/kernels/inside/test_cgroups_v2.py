"""tests/integration/test_cgroups.py with all controllers in v2, because the guest mounts nothing by itself.
Also what only v2 requires: no process may stay in a cgroup that passes controllers on."""

import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "integration"))

from harness import cgroups, programs  # noqa: E402
from test_cgroups import *  # noqa: E402, F401, F403

TREE = pathlib.Path("/sys/fs/cgroup")


@pytest.fixture(scope="session", autouse=True)
def with_v2():
    if not (TREE / "cgroup.controllers").exists():
        subprocess.run(["mount", "-t", "cgroup2", "none", str(TREE)], check=True)


def test_a_bridge_alone_in_its_cgroup_makes_room_for_programs(site):
    service = TREE / "system.slice" / "cgibridge.service"
    service.mkdir(parents=True)
    for above in (TREE, service.parent):
        (above / "cgroup.subtree_control").write_text("+cpu +memory +pids")
    hello = programs.hello(site)
    bridge = site.prepare_bridge('mode = "classic"\nlimits = { memory = "64MiB", cpu = 50 }')
    # Started like a systemd service with Delegate=yes.
    bridge.start(command_prefix=["sh", "-c", f'echo $$ > {service}/cgroup.procs; exec "$@"', "sh"])
    bridge.request(hello)
    assert bridge.status()["bridge"]["cgroups"]["not_held"] == []
    assert cgroups.holding(service / "bridge") == {bridge.pid}
    assert cgroups.folders(bridge)[0].parent == service
    assert cgroups.file_of(bridge, hello, "memory.max") == str(64 << 20)
    bridge.expect_clean_stop()
    assert [entry.name for entry in service.iterdir() if entry.is_dir()] == ["bridge"]
    for folder in (service / "bridge", service, service.parent):
        folder.rmdir()


def test_a_bridge_among_others_in_its_cgroup_says_what_it_lacks(site):
    shared = TREE / "shared"
    shared.mkdir()
    neighbour = site.start("sh", "-c", f"echo $$ > {shared}/cgroup.procs; exec sleep 1000")
    hello = programs.hello(site)
    bridge = site.prepare_bridge('mode = "classic"\nlimits = { memory = "64MiB" }')
    bridge.start(command_prefix=["sh", "-c", f'echo $$ > {shared}/cgroup.procs; exec "$@"', "sh"])
    bridge.expect_log("cgroups: not held: limits.memory: .*shared holds other processes as well")
    assert bridge.request(hello).body == b"hello\n"
    bridge.expect_clean_stop()
    neighbour.kill()
    neighbour.wait()
    shared.rmdir()
