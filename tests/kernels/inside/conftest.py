"""For tests inside a guest whose kernel has soft-dirty bits and no PAGEMAP_SCAN; on other kernels they mean
nothing, unless CGIBRIDGE_TESTS_TRACKING names what the kernel has. The batteries are those of
tests/fidelity."""

import os
import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(TESTS / "adapters"), str(TESTS / "fidelity")]

import batteries  # noqa: E402


def pytest_collection_modifyitems(items):
    release = tuple(int(part) for part in os.uname().release.split(".")[:2])
    if "CGIBRIDGE_TESTS_TRACKING" not in os.environ and release >= (6, 7):
        for item in items:
            item.add_marker(pytest.mark.skip(reason="this kernel has PAGEMAP_SCAN"))


@pytest.fixture(scope="session")
def stands(tmp_path_factory):
    folder = tmp_path_factory.mktemp("batteries")
    batteries.install(folder)
    kept = batteries.Stands(folder)
    yield kept
    kept.close()
