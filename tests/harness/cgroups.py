"""The cgroups that a bridge has on this machine."""

import pathlib

import pytest

ALL = "limits = { cpu = 10000, memory = \"1000GiB\", processes = 100000 }\n"


# Why the bridge cannot use them; None: not checked yet.
_hindrance = None


def need(site):
    """Skips the test, with the reason, if a bridge cannot limit programs with cgroups here."""
    global _hindrance
    if _hindrance is None:
        _hindrance = "; ".join(_not_held(site))
    if _hindrance:
        pytest.skip(f"no cgroups: {_hindrance}")


def _not_held(site):
    probe = site.start_bridge(bridge=ALL, listen=[f"unix:{site.folder}/probe.sock"], name="probe.toml")
    found = probe.status()["bridge"]["cgroups"]
    probe.allow_log("cgroups")
    probe.expect_clean_stop()
    return found["not_held"]


def folders(bridge):
    """The folders of the cgroup for all programs, one in each tree."""
    return [pathlib.Path(folder) for folder in bridge.status()["bridge"]["cgroups"]["folders"]]


def of_program(bridge, script):
    """The folders of a program's own cgroup that exist."""
    return [found for folder in folders(bridge)
            for found in folder.glob(pathlib.Path(script).name + "-*")]


def holding(folder):
    """The pids in a cgroup; none if it was removed meanwhile."""
    try:
        return {int(line) for line in (folder / "cgroup.procs").read_text().split()}
    except OSError:
        return set()


def file_of(bridge, script, *names):
    """The text of the first of these files that a program's cgroup has in any tree, v1 or v2."""
    for folder in of_program(bridge, script):
        for name in names:
            if (folder / name).is_file():
                return (folder / name).read_text().strip()
    raise AssertionError(f"{script} has no {names} below {folders(bridge)}")
