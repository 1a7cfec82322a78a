"""Who ends a request of several threads: the real code, along all interleavings with a few preemptions
(threads_end_model.c)."""

import pathlib
import platform
import re
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
CHECKPOINT = HERE.parents[1] / "adapters" / "checkpoint"
CODE = (CHECKPOINT / "rewind" / "threads_end.c").read_text()

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="threads are carried over on x86-64")

# How many other threads end it, what the first one does meanwhile, and how often a turn is taken away.
SCENARIOS = ["1 x 3", "1 u 3", "1 g 3", "2 x 1", "2 u 1", "2 g 1", "3 u 0"]
# Faults, by the text that is replaced, and a scenario that shows them.
FAULTS = {
    "two take the end": (
        r"if \(!takes_end\(ENDER_NONE, (is_first [^)]*)\)\) wait_to_be_ended\(\);",
        r"takes_end(ENDER_NONE, \1);", "2 x 1"),
    "the handler does not take it": (r"if \(takes_end\(ENDER_CALLS_FIRST, ENDER_FIRST\)\) \{",
                                     "if (state.ender == ENDER_CALLS_FIRST) {", "1 u 2"),
    "who no longer waits does not take it": (
        r"if \(!takes_end\(ENDER_CALLS_FIRST, ENDER_OTHER\)\) wait_to_be_ended\(\);",
        "state.ender = ENDER_OTHER;", "1 u 2"),
    "the first does not take over": (
        r"if \(is_first && takes_end\(ENDER_CALLS_FIRST, ENDER_FIRST\)\) return;",
        "if (is_first && state.ender == ENDER_CALLS_FIRST) return;", "1 x 2"),
    "nobody is told": (r"raw_call\(SYS_tgkill, state\.pid, thread, kThreadSignal\);", ";", "1 x 1"),
}


def build(folder, code):
    (folder / "rewind").mkdir()
    (folder / "rewind" / "threads_end.c").write_text(code)
    program = folder / "model"
    # Beside rewind/ first: a header is looked for in the folder of the file that includes it.
    subprocess.run(["cc", "-O1", "-w", "-D_GNU_SOURCE", "-I", folder, "-I", CHECKPOINT,
                    "-I", CHECKPOINT.parents[1] / "bridge", HERE / "threads_end_model.c", "-o", program],
                   check=True)
    return program


def run(program, scenario):
    return subprocess.run([program, *scenario.split()], capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return build(tmp_path_factory.mktemp("model"), CODE)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_exactly_one_ends_it(model, scenario):
    done = run(model, scenario)
    assert done.returncode == 0, done.stdout
    assert int(re.match(r"(\d+) paths", done.stdout)[1]) > 500


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(tmp_path, fault):
    wrong, right, scenario = FAULTS[fault]
    code, count = re.subn(wrong, right, CODE)
    assert count == 1
    done = run(build(tmp_path, code), scenario)
    assert done.returncode == 1, done.stdout
