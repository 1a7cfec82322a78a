"""The leak battery's programs, and the zygotes that run them."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "adapters"))

import batteries  # noqa: E402


@pytest.fixture(scope="session")
def battery_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("batteries")
    batteries.install(folder)
    return folder


@pytest.fixture(scope="session")
def stands(battery_folder):
    """Zygotes of the batteries, kept for all tests that use the same one."""
    kept = batteries.Stands(battery_folder)
    yield kept
    kept.close()
