"""Tests of the guest itself: what comes back from it, and that it ends. (run.py runs tests inside.)"""

import os
import pathlib
import platform
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import guest  # noqa: E402
from harness import processes  # noqa: E402

BUILD = pathlib.Path(os.environ.get("CGIBRIDGE_BUILD", "build")).resolve()
KERNEL = BUILD / "kernels"


@pytest.fixture(scope="module", autouse=True)
def kernel():
    fetch = pathlib.Path(__file__).parent / "fetch"
    done = subprocess.run([fetch, KERNEL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    children = set(processes.children_of(os.getpid()))
    yield
    assert set(processes.children_of(os.getpid())) == children
    assert list(tmp_path.iterdir()) == []


def test_output_exit_code_and_files_come_back(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shown")
    (folder / "here").write_text("seen")
    heard = []
    outcome = guest.Guest(KERNEL, shown=[folder]).run(
        ["/bin/sh", "-c", f'uname -r; cat here; echo "$A" >{guest.EXCHANGE}/left; touch here; '
                          "touch /usr/left; touch /tmp/left && exit 7"],
        env={"A": "a  b", "PATH": "/usr/bin:/bin"}, cwd=str(folder), seconds=600, follow=heard.append)
    assert outcome.code == 7
    assert outcome.output.startswith("6.1.") and platform.release() not in outcome.output
    assert "\nseen" in outcome.output and outcome.output.count("Read-only file system") == 2
    assert outcome.files == {"left": b"a  b\n"}
    assert "".join(heard) == outcome.output


def test_a_guest_that_does_not_end_is_ended():
    with pytest.raises(guest.GuestFailed, match="took too long"):
        guest.Guest(KERNEL).run(["/bin/sleep", "1000"], seconds=10)


def test_a_guest_that_gives_no_answer_says_why():
    with pytest.raises(guest.GuestFailed, match="without an answer") as failed:
        guest.Guest(KERNEL).run(["/bin/sh", "-c", "echo c > /proc/sysrq-trigger"], seconds=600)
    assert "panic" in str(failed.value)
