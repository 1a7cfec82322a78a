"""Fixtures for every suite under tests/ that runs the bridge."""

import contextlib
import os
import pathlib

import pytest

from harness import processes
from harness.bridge import BINARY
from harness.processes import SANITIZED
from harness.site import Site

MARKERS = {
    "slow": "takes minutes; run by `tests/run slow`",
    "plain_build": "measures memory, speed or system calls, which mean nothing under ASan",
    "root": "needs to be root",
}


def pytest_configure(config):
    for name, text in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {text}")
    processes.adopt_orphans()


def ends_of_each(items):
    """The first and the last case of each parametrized test: cases usually differ only in the program, which
    no sanitizer inspects."""
    cases = {}
    for item in items:
        cases.setdefault((item.path, item.cls, getattr(item, "originalname", item.name)), []).append(item)
    return [item for group in cases.values() for item in ([group[0], group[-1]] if len(group) > 2 else group)]


def pytest_collection_modifyitems(config, items):
    if SANITIZED and not os.environ.get("CGIBRIDGE_TESTS_ALL_CASES"):
        kept = set(ends_of_each(items))
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]
    for item in items:
        if item.get_closest_marker("root") and os.getuid() != 0:
            item.add_marker(pytest.mark.skip(reason="needs root"))
        if item.get_closest_marker("plain_build") and SANITIZED:
            item.add_marker(pytest.mark.skip(reason="means nothing under sanitizers"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if call.when == "call":
        item.call_passed = report.passed
    if report.skipped:
        item.was_skipped = True


@pytest.fixture
def site(request):
    """A separate environment for one test, which is checked when the test is done."""
    with site_of([request.node]) as world:
        yield world


@pytest.fixture(scope="session")
def site_for_several():
    """For a fixture that several tests use: site_for_several(tests) is such an environment, as a context
    manager. The fixture appends the node of each test that uses it to the list `tests`."""
    return site_of


@contextlib.contextmanager
def site_of(tests):
    if not BINARY.exists():
        pytest.fail(f"no bridge at {BINARY}: build it first, or set CGIBRIDGE_BUILD")
    world = Site()
    yield world
    passed = all(getattr(test, "call_passed", False) for test in tests)
    problems = world.close(check=passed)
    done = passed or all(getattr(test, "was_skipped", False) for test in tests)
    if (done and not problems) and not os.environ.get("CGIBRIDGE_TESTS_KEEP"):
        world.remove()
    else:
        print(f"kept: {world.folder}")
        for log in pathlib.Path(world.folder).glob("*.log"):
            print(f"-- {log.name} --\n{log.read_text(errors='replace')[-4000:]}")
    assert not problems, f"{world.folder}: " + "\n".join(problems)


@pytest.fixture(params=["classic", "persistent"])
def mode(request):
    """Tests that use this run in both modes."""
    return request.param
