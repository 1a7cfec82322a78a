"""What several threads note at once, under ThreadSanitizer: the real code, built apart (notes_by_threads.c).
The library itself cannot be built with it: it runs before libc is set up, in programs of others."""

import pathlib
import platform
import re
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
CHECKPOINT = HERE.parents[1] / "adapters" / "checkpoint"
TIMERS, SIGNALS, LOCK = "calls/timers.c", "static/trapped_signals.c", "load/note_lock.h"

# Faults, by the text that is replaced.
FAULTS = {
    "a signal is noted beside the place": (
        SIGNALS, r"__atomic_fetch_or\(blocker, kCame, __ATOMIC_SEQ_CST\);", "*blocker |= kCame;"),
    "a place is left in two steps": (
        SIGNALS, r"int was = __atomic_exchange_n\(blocker, 0, __ATOMIC_SEQ_CST\);",
        "int was = *blocker; *blocker = 0;"),
    "two note at once": (LOCK, r"while \(__atomic_test_and_set\(is_held, __ATOMIC_ACQUIRE\)\)", "while (0)"),
}


def build(folder, changed=None, fault=None):
    for name in (TIMERS, SIGNALS, LOCK):
        text = (CHECKPOINT / name).read_text()
        if name == changed:
            text, count = re.subn(*fault, text)
            assert count == 1
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    program = folder / "notes"
    subprocess.run(["cc", "-fsanitize=thread", "-g", "-O1", "-w", "-pthread", "-D_GNU_SOURCE", "-I", folder,
                    "-I", CHECKPOINT, "-I", CHECKPOINT.parents[1] / "bridge", HERE / "notes_by_threads.c",
                    folder / TIMERS, folder / SIGNALS, "-o", program], check=True)
    return program


def run(program):
    return subprocess.run([program], capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module", autouse=True)
def sanitizer(tmp_path_factory):
    if platform.machine() != "x86_64":
        pytest.skip("static executables are run on x86-64")
    folder = tmp_path_factory.mktemp("sanitizer")
    (folder / "any.c").write_text("int main(void) { return 0; }")
    built = subprocess.run(["cc", "-fsanitize=thread", folder / "any.c", "-o", folder / "any"],
                           capture_output=True)
    if built.returncode != 0 or subprocess.run([folder / "any"], capture_output=True).returncode != 0:
        pytest.skip("this machine has no ThreadSanitizer")


def test_threads_note_all_without_a_race(tmp_path):
    done = run(build(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "all noted\n", "")


# A run in which the threads never met shows nothing.
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(tmp_path, fault):
    name, wrong, right = FAULTS[fault]
    program = build(tmp_path, name, (wrong, right))
    runs = (run(program) for _ in range(30))
    done = next((done for done in runs if done.returncode != 0), None)
    assert done is not None
    assert "data race" in done.stderr or "lost" in done.stdout
