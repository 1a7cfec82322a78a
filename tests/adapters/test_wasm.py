"""WebAssembly modules in one worker: each request gets an instance of its own, and what a module does, or
how it ends, is as in a plain run of the runner."""

import os
import re
import shutil
import signal
import subprocess
import time

import driver
import pytest
from harness.bridge import BUILD
from harness.modules import RESETS, RUNNER, SOURCES, module
from wasm import Programs, env_of, without_places


@pytest.fixture
def modules(tmp_path):
    return Programs(tmp_path, module)


@pytest.mark.parametrize("reset", RESETS)
def test_nothing_of_a_request_is_in_the_memory_of_the_next(modules, reset):
    plain = driver.run_plainly(modules.argv("leak"), env=env_of("secret0"))
    assert b"runs 0, initialized 41" in plain.stdout and b"found 0" in plain.stdout
    with modules.warm("leak", reset) as warm:
        for n in range(30):
            answer = warm.ask(env=env_of(f"secret{n}"))
            assert (answer.stdout, answer.code) == (plain.stdout, 0), n


DEEDS = ["", "unreachable", "read-outside", "write-outside", "write-null", "divide-by-zero",
         "divide-too-far", "call-of-another-type", "call-of-nothing", "call-outside-the-table",
         "recurse", "recurse-a-little", "fill-stack", "take-all-memory", "grow-all-at-once", "complain",
         "complain-long", "complain-in-bytes", "close-output", "abort", "exit-with-handlers",
         "exit-without-flush", "exit=0", "exit=1", "exit=255", "exit=256", "exit=-1"]


@pytest.mark.parametrize("reset", RESETS)
def test_every_end_is_that_of_a_plain_run_and_the_next_request_is_fine(modules, reset):
    argv = modules.argv("deeds")
    wanted = {}
    for deed in DEEDS:
        for late in ({}, {"LATE": "1"}):
            env = env_of(deed, **late)
            wanted[deed, bool(late)] = without_places(driver.run_plainly(argv, env=env))
    assert wanted["recurse", True][1] == [b"%s: wasm trap: call stack exhausted" % os.fsencode(argv[-1])]
    assert wanted["abort", False][2] == 134 and wanted["exit=256", False][2] == 0
    with modules.warm("deeds", reset) as warm:
        for _ in range(2):
            for (deed, late), plain in wanted.items():
                env = env_of(deed, **({"LATE": "1"} if late else {}))
                assert without_places(warm.ask(env=env)) == plain, deed


# ---- cut off by its client, or by SIGTERM ----

def begun(modules, deed):
    """A module that has printed its first lines."""
    env = env_of(deed, DATA="/data")
    process = subprocess.Popen(modules.argv("ends"), env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.read(34).endswith(b"begun\n")
    return process


@pytest.mark.parametrize("deed", ["sleep", "read"])
def test_one_that_is_to_end_waits_no_more_and_makes_its_files_whole(modules, deed):
    for wait in (0, 0.0002, 0.001, 0.01):  # the signal may come before the module waits
        with begun(modules, deed) as process:
            time.sleep(wait)
            process.terminate()
            assert process.wait(driver.PATIENCE) == -signal.SIGTERM
        assert (modules.data / "ended").read_text() == "whole\n"
        (modules.data / "ended").unlink()


def test_one_that_prints_a_little_for_nobody_makes_its_files_whole(modules):
    with begun(modules, "print") as process:
        process.stdout.close()
        assert process.wait(driver.PATIENCE) == 128 + signal.SIGPIPE
    assert (modules.data / "ended").read_text() == "whole\n"


@pytest.mark.parametrize("deed", ["loop", "complain-forever", "sleep-forever"])
def test_one_that_is_to_end_and_does_not_is_ended(modules, deed):
    argv, env = modules.argv("deeds"), env_of(deed, LATE="1")
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.read(10)
        process.terminate()
        assert process.wait(driver.PATIENCE) == -signal.SIGTERM


def test_a_trap_is_told_with_the_names_of_the_functions(modules):
    ended = driver.run_plainly(modules.argv("deeds"), env=env_of("divide-by-zero"))
    lines = ended.stderr.decode().splitlines()
    assert lines[-1].endswith("deeds.wasm: wasm trap: integer divide by zero")
    assert re.search(r"in divide_by_zero \(at 0x[0-9a-f]+\)$", lines[-2])


FAULTS = {
    "missing_import": r"unknown import: `env::unheard_of`",
    "wrong_import": r"incompatible import type for `wasi_snapshot_preview1::fd_write`",
    "reactor": r"no function _start.*reactor",
    "no_memory": r"exports no memory",
    "start_of_another_type": r"_start is no function without parameters",
    "declares_all_memory": r"its limit of memory is 67108864 bytes",
    "data_outside": r"out of bounds memory access",
    "trap_before_start": r"unreachable",
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_cannot_run_says_why(modules, name):
    ended = driver.run_plainly(modules.argv(name))
    assert (ended.stdout, ended.code) == (b"", 1)
    assert re.search(FAULTS[name], ended.stderr.decode()), ended.stderr
    zygote = modules.warm(name, "rewind")
    assert not zygote.stands and re.search(FAULTS[name], zygote.log()), zygote.log()
    zygote.channel.close()
    zygote.process.wait(driver.PATIENCE)


# What is in the file, and what is said of it.
FILES = {
    b"\0asm\x0d\0\x01\0": "exports neither wasi:cli/run nor",
    b"\0asm\x0c\0\x01\0": "version of WebAssembly",
    b"\0asm\x01\0\0\0\x01\x40": "not valid",
    b"\0asm\x01\0": "cut off",
    b"(module)": "wat2wasm",
    b"#!/bin/sh\n": "no WebAssembly module",
    b"": "no WebAssembly module",
}


@pytest.mark.parametrize("content", FILES)
def test_what_is_no_module_says_what_it_is(modules, content):
    modules.made("reactor")
    (modules.folder / "x.wasm").write_bytes(content)
    ended = driver.run_plainly([str(RUNNER), str(modules.folder / "x.wasm")])
    assert (ended.stdout, ended.code) == (b"", 1) and FILES[content] in ended.stderr.decode()


def test_a_cut_module_is_refused_wherever_it_is_cut(modules):
    whole = modules.made("bad_pointers").read_bytes()
    cut = modules.folder / "cut.wasm"
    for end in range(0, len(whole) - 1, max(1, len(whole) // 40)):
        cut.write_bytes(whole[:end])
        ended = driver.run_plainly([str(RUNNER), str(cut)])
        assert ended.code in (1, 134) and ended.stderr, (end, ended.stdout)


def test_pointers_that_lead_out_of_its_memory_are_errors(modules):
    ended = driver.run_plainly(modules.argv("bad_pointers"))
    assert (ended.stdout.endswith(b"still here, well\n"), ended.code) == (True, 0), ended.stdout


# ---- its files ----

def test_where_it_may_only_read_nothing_is_changed(modules):
    (modules.data / "there").write_text("as it was\n")
    before = os.stat(modules.data).st_mtime_ns
    argv = modules.argv("files", "--read-only=/data")
    answer = driver.run_plainly(argv, env=env_of("", DATA="/data"))
    assert b"create: Read-only file system" in answer.stdout
    assert os.listdir(modules.data) == ["there"] and os.stat(modules.data).st_mtime_ns == before
    assert (modules.data / "there").read_text() == "as it was\n"


# ---- compiled code ----

def test_a_module_is_compiled_once_for_all_that_start_it(modules):
    with modules.warm("request", "rewind") as warm:
        assert warm.stands
    (entry,) = modules.entries()
    made = entry.stat().st_mtime_ns
    with modules.warm("request", "rewind") as warm:
        notes = "\n".join(warm.note(driver.FILE))
        assert warm.stands and "request.wasm" in notes and str(modules.folder / "cache") not in notes
    assert modules.entries() == [entry] and entry.stat().st_mtime_ns == made


@pytest.mark.parametrize("damage", ["cut", "changed", "writable", "link", "folder"])
def test_bad_code_is_never_loaded_and_is_made_anew(modules, damage):
    with modules.warm("request", "rewind") as warm:
        assert warm.stands
    (entry,) = modules.entries()
    good = entry.read_bytes()
    if damage == "cut":
        entry.write_bytes(good[:-1])
    elif damage == "changed":
        entry.write_bytes(good[:-1000] + bytes([good[-1000] ^ 1]) + good[-999:])
    elif damage == "writable":
        entry.chmod(0o666)
    elif damage == "link":
        entry.rename(modules.folder / "elsewhere")
        entry.symlink_to(modules.folder / "elsewhere")
    else:
        (modules.folder / "cache").chmod(0o777)
    with modules.warm("request", "rewind") as warm:
        assert warm.ask().code == 0
        assert "is not loaded" in warm.log() or "is not used" in warm.log(), warm.log()
    if damage != "folder":
        assert entry.read_bytes() == good and not entry.is_symlink() and entry.stat().st_mode & 0o22 == 0


def test_a_compilation_has_a_limit_and_says_that_it_was_reached(modules):
    switches = ["--compile-memory=30000000"]
    ended = driver.run_plainly([str(RUNNER), "--compile", *modules.switches, *switches,
                                str(modules.made("deeds"))])
    assert ended.code == 1 and b"cannot be compiled within 28 MiB" in ended.stderr, ended.stderr
    assert not modules.entries()


def test_a_plain_run_has_the_module_compiled_for_the_next(modules):
    argv = modules.argv("request")
    assert driver.run_plainly(argv).code == 0
    driver.run_plainly([argv[0], "--compile", *argv[1:]])  # waits for the one that is under way
    assert len(modules.entries()) == 1
    assert driver.run_plainly(argv).code == 0


def test_the_runner_s_own_unit_tests_pass():
    source = SOURCES.parents[2] / "adapters" / "wasm"
    text = (BUILD / "CMakeCache.txt").read_text()
    cache = dict(re.findall(r"^(CGIBRIDGE_\w+):\w+=(.*)$", text, re.MULTILINE))
    cargo = cache.get("CGIBRIDGE_CARGO", "")
    if not RUNNER.exists() or not shutil.which(cargo):
        pytest.skip("cgibridge-wasm is not built here")
    done = subprocess.run([cargo, "test", "--quiet", "--release", "--locked", "--offline"], cwd=source,
                          env={**os.environ, "CARGO_TARGET_DIR": cache["CGIBRIDGE_WASM_TARGET"]},
                          capture_output=True, text=True)
    assert done.returncode == 0 and "0 failed" in done.stdout, done.stdout + done.stderr
