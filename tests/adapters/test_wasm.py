"""WebAssembly modules in one worker: each request gets an instance of its own, and what a module does, or
how it ends, is as in a plain run of the runner."""

import os
import re
import shutil
import signal
import subprocess

import driver
import pytest
from harness.bridge import BUILD
from harness.modules import RUNNER, SOURCES, module

RESETS = ["rewind", "fork", "none"]


class Modules:
    """A module of tests/adapters/wasm_programs, plain and warm, with a folder and a cache of the test."""

    def __init__(self, folder):
        self.folder, self.data = folder, folder / "data"
        self.data.mkdir()
        self.switches = [f"--dir=/data={self.data}", f"--cache={folder}/cache", "--memory=67108864"]

    def argv(self, name, *switches):
        return [str(RUNNER), *self.switches, *switches, str(module(name, self.folder))]

    def warm(self, name, reset, *switches):
        return driver.Warm(self.argv(name, *switches), reset=reset, level="compiled")


@pytest.fixture
def modules(tmp_path):
    return Modules(tmp_path)


def env_of(query, **more):
    return {**driver.REQUEST_ENV, "QUERY_STRING": query, **more}


def without_places(answer):
    """Where a stack ends differs between baseline and optimized code, and so the frames that are told do."""
    return answer.stdout, answer.stderr.splitlines()[-1:], answer.code


@pytest.mark.parametrize("reset", RESETS)
def test_words_environment_and_body_are_the_request_s(modules, reset):
    argv = modules.argv("request")
    with modules.warm("request", reset) as warm:
        assert warm.reset == reset, warm.weaker
        for n in range(12):
            words, env = ["a", "b=c", ""][:n % 4], env_of(f"n={n}", HTTP_X=f"{n}" * n, EMPTY="")
            body = bytes(range(256)) * n
            plain = driver.run_plainly([*argv, *words], env=env, body=body)
            assert plain.stdout.count(b"word ") == len(words) + 1
            assert warm.ask(*words, env=env, body=body).seen() == plain.seen()
        assert warm.workers == 1 or reset == "fork"


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
    module("reactor", modules.folder)
    (modules.folder / "x.wasm").write_bytes(content)
    ended = driver.run_plainly([str(RUNNER), str(modules.folder / "x.wasm")])
    assert (ended.stdout, ended.code) == (b"", 1) and FILES[content] in ended.stderr.decode()


def test_a_cut_module_is_refused_wherever_it_is_cut(modules):
    whole = module("bad_pointers", modules.folder).read_bytes()
    cut = modules.folder / "cut.wasm"
    for end in range(0, len(whole) - 1, max(1, len(whole) // 40)):
        cut.write_bytes(whole[:end])
        ended = driver.run_plainly([str(RUNNER), str(cut)])
        assert ended.code in (1, 134) and ended.stderr, (end, ended.stdout)


def test_pointers_that_lead_out_of_its_memory_are_errors(modules):
    ended = driver.run_plainly(modules.argv("bad_pointers"))
    assert (ended.stdout.endswith(b"still here, well\n"), ended.code) == (True, 0), ended.stdout


# ---- its files ----

def prepare(modules):
    """A secret beside its folder, and links that lead there."""
    (modules.folder / "secret").write_text("the secret\n")
    (modules.data / "x").mkdir()
    (modules.data / "ready").symlink_to("..")
    (modules.data / "ready-file").symlink_to("../secret")
    (modules.data / "ready-new").symlink_to("../planted")


@pytest.mark.parametrize("reset", ["", *RESETS])
def test_no_path_leads_out_of_its_folders(modules, reset):
    prepare(modules)
    argv, env = modules.argv("files"), env_of("", DATA="/data", OUTSIDE=str(modules.folder / "secret"))
    if reset:
        with modules.warm("files", reset) as warm:
            answers = [warm.ask(env=env) for _ in range(2)]
    else:
        answers = [driver.run_plainly(argv, env=env)]
    for answer in answers:
        lines = answer.stdout.decode().splitlines()
        assert "create: ok" in lines and 'read new name: read "written"' in lines, lines
        out = [line for line in lines if line.startswith("out ")]
        assert len(out) > 20 and b"the secret" not in answer.stdout, lines
        assert not [line for line in out if "read " in line.partition(": ")[2]], out
    assert (modules.folder / "secret").read_text() == "the secret\n"
    left = {path.name for path in modules.folder.iterdir()}
    assert left == {"secret", "data", "cache", "files.wasm"}


def test_where_it_may_only_read_nothing_is_changed(modules):
    (modules.data / "there").write_text("as it was\n")
    before = os.stat(modules.data).st_mtime_ns
    argv = modules.argv("files", "--read-only=/data")
    answer = driver.run_plainly(argv, env=env_of("", DATA="/data"))
    assert b"create: Read-only file system" in answer.stdout
    assert os.listdir(modules.data) == ["there"] and os.stat(modules.data).st_mtime_ns == before
    assert (modules.data / "there").read_text() == "as it was\n"


def test_it_has_no_files_without_folders(modules):
    argv = [str(RUNNER), str(module("files", modules.folder))]
    answer = driver.run_plainly(argv, env=env_of("", DATA="/tmp", OUTSIDE="/etc/passwd"))
    assert b": ok" not in answer.stdout and b"read \"" not in answer.stdout, answer.stdout


def test_a_folder_is_the_one_that_has_the_name_when_the_request_comes(modules):
    with modules.warm("files", "rewind") as warm:
        env = env_of("", DATA="/data")
        warm.ask(env=env)
        modules.data.rename(modules.folder / "old")
        modules.data.mkdir()
        assert b"create: ok" in warm.ask(env=env).stdout
        assert os.listdir(modules.data)


def test_a_folder_that_is_missing_is_named(modules):
    ended = driver.run_plainly(modules.argv("request", "--dir=/more=/no/such"))
    assert (ended.stdout, ended.code) == (b"", 1)
    assert b"wasm.dirs: /more = /no/such: No such file" in ended.stderr


def test_who_prints_for_nobody_ends_as_by_a_signal(modules):
    argv = modules.argv("deeds")
    with subprocess.Popen(argv, env=env_of("print-forever"), stdout=subprocess.PIPE) as process:
        process.stdout.read(1000)
        process.stdout.close()
        assert process.wait(driver.PATIENCE) == 128 + signal.SIGPIPE


# ---- random numbers and time ----

@pytest.mark.parametrize("reset", RESETS)
def test_random_numbers_are_new_in_each_request(modules, reset):
    with modules.warm("clocks", reset) as warm:
        drawn = [re.search(rb"drawn ([0-9a-f]{32})\n", warm.ask().stdout)[1] for _ in range(20)]
    assert len(set(drawn)) == 20


# ---- compiled code ----

def entries(modules):
    return sorted((modules.folder / "cache").glob("*.cwasm"))


def test_a_module_is_compiled_once_for_all_that_start_it(modules):
    with modules.warm("request", "rewind") as warm:
        assert warm.stands
    (entry,) = entries(modules)
    made = entry.stat().st_mtime_ns
    with modules.warm("request", "rewind") as warm:
        notes = "\n".join(warm.note(driver.FILE))
        assert warm.stands and entry.name in notes and "request.wasm" in notes
    assert entries(modules) == [entry] and entry.stat().st_mtime_ns == made


@pytest.mark.parametrize("damage", ["cut", "changed", "writable", "link", "folder"])
def test_bad_code_is_never_loaded_and_is_made_anew(modules, damage):
    with modules.warm("request", "rewind") as warm:
        assert warm.stands
    (entry,) = entries(modules)
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
                                str(module("deeds", modules.folder))])
    assert ended.code == 1 and b"cannot be compiled within 28 MiB" in ended.stderr, ended.stderr
    assert not entries(modules)


def test_a_plain_run_has_the_module_compiled_for_the_next(modules):
    argv = modules.argv("request")
    assert driver.run_plainly(argv).code == 0
    driver.run_plainly([argv[0], "--compile", *argv[1:]])  # waits for the one that is under way
    assert len(entries(modules)) == 1
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
