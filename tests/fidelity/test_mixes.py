"""Programs that do a random mix of what programs do to themselves and leave behind: threads, timers, signals,
children, files, memory, settings (mixes/). Whatever the mix, and whatever the one before it was, the answer
is that of a process of its own: what was printed, the first line on standard error, and the exit code."""

import functools
import os
import pathlib
import shutil
import subprocess

import pytest

from driver import REQUEST_ENV, Warm, run_plainly
from harness.compiled import compile_go
from node import NODE, node_argv

SOURCES = pathlib.Path(__file__).parent / "mixes"
BODY = b"one\ntwo\n"
# CGIBRIDGE_MIXES: how many mixes each program is asked for (10,000 were tried); CGIBRIDGE_MIXES_FROM: the
# first.
MIXES = int(os.environ.get("CGIBRIDGE_MIXES", 60))
FROM = int(os.environ.get("CGIBRIDGE_MIXES_FROM", 1))
VERIFIED = 7  # each so many is compared with the zygote

# name: (which threads there are before main(), for C)
IN_C = {"C": 0, "C with a pool": 1, "C with threads that wait for events": 2, "C with a barrier": 3}
IN_GO = {"Go": False, "Go with libc": True}
PROGRAMS = [*IN_C, *IN_GO, "JavaScript", "JavaScript, as an ES module"]
LEVELS = {1: "linked", 2: "booted", 3: "compiled"}
AS_MODULE = """import { createRequire } from 'module';
import './own.js';
const require = createRequire(import.meta.url), module = { children: [] };
"""


def compile_c(program, threads):
    subprocess.run(["gcc", "-O1", "-w", "-D_GNU_SOURCE", f"-DSETUP={threads}", "-o", program,
                    *SOURCES.glob("mix*.c"), "-pthread", "-ldl", "-lm"], check=True)


def installed(name, folder):
    """(the command line, what launches it as a zygote, the level)"""
    program = str(folder / "mix")
    if name in IN_C:
        compile_c(program, IN_C[name])
        return [program], [program], "linked"
    if name in IN_GO:
        if not shutil.which("/usr/bin/go"):
            pytest.skip("no /usr/bin/go")
        compile_go(program, [SOURCES / "mix.go"], with_libc=IN_GO[name])
        return [program], [program], "compiled"
    if not shutil.which(NODE):
        pytest.skip(f"no {NODE}")
    script, begin = folder / ("mix.mjs" if "module" in name else "mix.js"), "require('./own.js');\n"
    (folder / "own.js").write_text("exports.own = 1;\n")
    text = (SOURCES / "mix.js").read_text().partition("\n")[2]  # without its first line
    script.write_text((AS_MODULE if "module" in name else begin) + text)
    return [NODE, str(script)], node_argv(str(script)), "compiled"


def seen(answer):
    return answer.stdout, answer.stderr.partition(b"\n")[0], answer.code


def env_of(number):
    return {**REQUEST_ENV, "QUERY_STRING": str(number)}


def plainly(argv, number, folder):
    return seen(run_plainly(argv, body=BODY, env=env_of(number), cwd=str(folder)))


def is_steady(argv, number, folder, wanted):
    """Whether a process of its own always answers so: what depends on the scheduler proves nothing."""
    return all(plainly(argv, number, folder) == wanted for _ in range(5))


@pytest.fixture(scope="module", params=PROGRAMS)
def mix(request, tmp_path_factory):
    """A program that is installed once for all resets, and what a process of its own answers to each mix."""
    folder = tmp_path_factory.mktemp("mix")
    argv, launch, level = installed(request.param, folder)
    return argv, launch, level, folder, functools.cache(lambda number: plainly(argv, number, folder))


@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_every_mix_is_answered_as_by_a_process_of_its_own(mix, reset):
    argv, launch, level, folder, wanted_of = mix
    wrong, unsteady = [], 0
    with Warm(launch, reset=reset, level=level, cwd=str(folder), has_pipe=True) as warm:
        assert (warm.reset, warm.weaker, LEVELS[warm.level]) == (reset, "", level)
        warm.argv = argv
        for number in range(FROM, FROM + MIXES):
            wanted = wanted_of(number)
            warm.verifies = number % VERIFIED == 0
            got = seen(warm.ask(body=BODY, env=env_of(number), cwd=str(folder)))
            if got == wanted:
                continue
            if is_steady(argv, number, folder, wanted):
                wrong.append((number, got, wanted))
            else:
                unsteady += 1
        assert wrong == []
        assert unsteady <= MIXES // 20
        # Many end by a signal or exec another program; the others leave a worker that is put back.
        assert warm.workers <= MIXES * (0.7 if reset == "rewind" else 1)
        assert warm.retired == []
