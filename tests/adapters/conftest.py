"""Fixtures for the adapters' suite: programs are written or compiled into the test's own folder."""

import pathlib
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import driver  # noqa: E402
from harness.compiled import compile_program  # noqa: E402


class Folder:
    """A folder with programs in it."""

    def __init__(self, path):
        self.path = path

    def script(self, name, text):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def compile(self, name, text, *flags):
        source = self.script(name, text)
        program = source.rpartition(".")[0]
        compiler = "g++" if name.endswith(".cc") else "gcc"
        compile_program(compiler, source, program, ["-O1", "-w", *flags])
        return program


@pytest.fixture(scope="session", autouse=True)
def built_library():
    if not pathlib.Path(driver.library()).exists():
        pytest.fail(f"no {driver.library()}: build it first, or set CGIBRIDGE_BUILD")


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture
def needs():
    def needs(program):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    return needs
