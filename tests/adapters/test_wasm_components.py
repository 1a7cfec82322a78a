"""WebAssembly components of the world wasi:cli/command in one worker: what was said of modules holds for the
same programs as components."""

import os
import re
import subprocess

import driver
import pytest
from harness.components import component
from harness.modules import RESETS, RUNNER, module
from wasm import Programs, env_of, without_places


@pytest.fixture
def components(tmp_path):
    return Programs(tmp_path, component)


def test_it_answers_as_the_same_program_as_a_module(components):
    (components.folder / "module").mkdir()
    same = [str(RUNNER), *components.switches, str(module("request", components.folder / "module"))]
    for body in (b"", b"x" * 100_000):
        env = env_of("a=b", HTTP_X="x")
        answers = [driver.run_plainly([*argv, "w"], env=env, body=body)
                   for argv in (components.argv("request"), same)]
        texts = [answer.stdout.replace(b"/module/", b"/") for answer in answers]
        assert texts[0] == texts[1] and answers[0].code == answers[1].code == 0


def test_bytes_that_are_no_text_become_the_sign_for_that(components):
    env = {os.fsencode(name): os.fsencode(value) for name, value in driver.REQUEST_ENV.items()}
    answer = driver.run_plainly([*components.argv("request"), b"w\xff"], env={**env, b"HTTP_X": b"gr\xfcn"})
    assert "HTTP_X=gr\ufffdn\n".encode() in answer.stdout and "w\ufffd".encode() in answer.stdout


@pytest.mark.parametrize("reset", RESETS)
def test_nothing_of_a_request_is_in_the_memory_of_the_next(components, reset):
    plain = driver.run_plainly(components.argv("leak"), env=env_of("secret0"))
    assert b"runs 0, initialized 41" in plain.stdout and b"found 0" in plain.stdout
    with components.warm("leak", reset) as warm:
        for n in range(30):
            answer = warm.ask(env=env_of(f"secret{n}"))
            assert (answer.stdout, answer.code) == (plain.stdout, 0), n


# Not take-all-memory: the C library of Debian 12 takes the memory of the adapter for its own.
DEEDS = ["", "unreachable", "read-outside", "write-outside", "write-null", "divide-by-zero",
         "divide-too-far", "call-of-another-type", "call-of-nothing", "call-outside-the-table",
         "recurse", "recurse-a-little", "fill-stack", "grow-all-at-once", "complain",
         "complain-long", "complain-in-bytes", "close-output", "abort", "exit-with-handlers",
         "exit-without-flush", "exit=0", "exit=1", "exit=255", "exit=256"]


@pytest.mark.parametrize("reset", RESETS)
def test_every_end_is_that_of_a_plain_run_and_the_next_request_is_fine(components, reset):
    argv = components.argv("deeds")
    wanted = {}
    for deed in DEEDS:
        for late in ({}, {"LATE": "1"}):
            env = env_of(deed, **late)
            wanted[deed, bool(late)] = without_places(driver.run_plainly(argv, env=env))
    assert wanted["recurse", True][1] == [b"%s: wasm trap: call stack exhausted" % os.fsencode(argv[-1])]
    assert wanted["abort", False][2] == 134
    assert b"-1\ndone" in wanted["grow-all-at-once", False][0]
    with components.warm("deeds", reset) as warm:
        for _ in range(2):
            for (deed, late), plain in wanted.items():
                env = env_of(deed, **({"LATE": "1"} if late else {}))
                assert without_places(warm.ask(env=env)) == plain, deed


@pytest.mark.parametrize("reset", ["", *RESETS])
def test_it_ends_with_the_code_that_it_says(components, reset):
    codes = {"0": 0, "7": 7, "255": 255, "": 1}
    if not reset:
        for query, code in codes.items():
            assert driver.run_plainly(components.argv("exits"), env=env_of(query)).seen() == (b"", b"", code)
        return
    with components.warm("exits", reset) as warm:
        for query, code in codes.items():
            assert warm.ask(env=env_of(query)).seen() == (b"", b"", code)


def test_a_trap_is_told_with_the_names_of_the_functions(components):
    ended = driver.run_plainly(components.argv("deeds"), env=env_of("divide-by-zero"))
    lines = ended.stderr.decode().splitlines()
    assert lines[-1].endswith("deeds.wasm: wasm trap: integer divide by zero")
    assert re.search(r"in divide_by_zero \(at 0x[0-9a-f]+\)$", lines[-2])


FAULTS = {
    "missing_import": r"cannot be linked: .*example:unheard/of",
    "no_program": r"exports neither wasi:cli/run nor wasi:http/incoming-handler",
    "of_wasi_0_3": r"made for WASI 0\.3",
    "run_of_another_type": r"cannot be started: .*type mismatch",
    "declares_all_memory": r"its limit of memory is 67108864 bytes",
    "trap_before_start": r"unreachable",
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_cannot_run_says_why(components, name):
    ended = driver.run_plainly(components.argv(name))
    assert (ended.stdout, ended.code) == (b"", 1)
    assert re.search(FAULTS[name], ended.stderr.decode()), ended.stderr
    zygote = components.warm(name, "rewind")
    assert not zygote.stands and re.search(FAULTS[name], zygote.log()), zygote.log()
    zygote.channel.close()
    zygote.process.wait(driver.PATIENCE)


@pytest.mark.parametrize("reset", RESETS)
def test_an_instance_that_asks_before_it_runs_is_made_when_the_request_is_there(components, reset):
    plain = driver.run_plainly(components.argv("asks_before_start"))
    assert (plain.stdout, plain.code) == (b"started\n", 0), plain.stderr
    with components.warm("asks_before_start", reset) as warm:
        for _ in range(3):
            assert warm.ask().seen() == plain.seen()


def test_a_cut_component_is_refused_wherever_it_is_cut(components):
    whole = components.made("leak").read_bytes()
    cut = components.folder / "cut.wasm"
    for end in range(0, len(whole) - 1, len(whole) // 40):
        cut.write_bytes(whole[:end])
        ended = driver.run_plainly([str(RUNNER), str(cut)])
        assert ended.code == 1 and ended.stderr and not ended.stdout, (end, ended.stderr)


# ---- its files ----

def test_where_it_may_only_read_nothing_is_changed(components):
    (components.data / "there").write_text("as it was\n")
    before = os.stat(components.data).st_mtime_ns
    argv = components.argv("files", "--read-only=/data")
    answer = driver.run_plainly(argv, env=env_of("", DATA="/data"))
    assert b"create: Operation not permitted" in answer.stdout
    assert os.listdir(components.data) == ["there"] and os.stat(components.data).st_mtime_ns == before
    assert (components.data / "there").read_text() == "as it was\n"


# ---- the network, threads ----

def test_it_has_no_network(components):
    answer = driver.run_plainly(components.argv("sockets"))
    assert (answer.stdout, answer.code) == (b"refused\n" * 3, 0), answer.stderr


@pytest.mark.parametrize("name", ["request", "file_streams", "sockets"])
def test_it_makes_no_thread_and_no_process(components, name):
    (components.data / "there").write_text("content")
    argv = components.argv(name)
    trace = components.folder / "trace"
    driver.run_plainly([argv[0], "--compile", *argv[1:]])
    words = ["strace", "-f", "-o", str(trace), "-e", "trace=clone,clone3,fork,vfork,socket", *argv]
    try:
        traced = subprocess.run(words, env=driver.REQUEST_ENV, capture_output=True)
    except FileNotFoundError:
        pytest.skip("no strace")
    if b"PTRACE" in traced.stderr:
        pytest.skip("strace may not trace here")
    assert traced.returncode == 0 and not re.search(r"(clone|fork|socket)\w*\(", trace.read_text())


@pytest.mark.parametrize("reset", RESETS)
def test_streams_of_files_work_without_threads(components, reset):
    (components.data / "there").write_text("content")
    with components.warm("file_streams", reset) as warm:
        for _ in range(3):
            answer = warm.ask()
            assert (answer.stdout, answer.code) == (b"content\n", 0), answer.stderr
            assert (components.data / "made").read_text() == "writtenappended"
        assert warm.workers == 1 or reset == "fork"


# ---- compiled code ----

def test_a_component_is_compiled_once_for_all_that_start_it(components):
    with components.warm("request", "rewind") as warm:
        assert warm.stands
    (entry,) = components.entries()
    made = entry.stat().st_mtime_ns
    with components.warm("request", "rewind") as warm:
        notes = "\n".join(warm.note(driver.FILE))
        assert warm.stands and "request.wasm" in notes and str(components.folder / "cache") not in notes
    assert components.entries() == [entry] and entry.stat().st_mtime_ns == made


def test_code_of_a_module_is_not_taken_for_that_of_a_component(components):
    """Under the component's name, but with all digests right, as no compilation would leave it."""
    argv = components.argv("request")
    driver.run_plainly([argv[0], "--compile", *argv[1:]])
    (of_component,) = components.entries()
    head = of_component.read_bytes()[:22 + 32]
    of_component.unlink()
    module("request", components.folder)
    driver.run_plainly([argv[0], "--compile", *argv[1:]])
    (of_module,) = components.entries()
    assert of_module.name != of_component.name
    of_component.write_bytes(head + of_module.read_bytes()[len(head):])
    ended = driver.run_plainly(components.argv("request"))
    assert (ended.stdout, ended.code) == (b"", 1) and b"incompatible" in ended.stderr, ended.stderr


def test_a_compilation_has_a_limit_and_says_that_it_was_reached(components):
    switches = ["--compile-memory=30000000"]
    argv = components.argv("deeds", *switches)
    ended = driver.run_plainly([argv[0], "--compile", *argv[1:]])
    assert ended.code == 1 and re.search(rb"cannot be compiled", ended.stderr), ended.stderr
    assert not components.entries()


def test_a_plain_run_has_the_component_compiled_for_the_next(components):
    argv = components.argv("request")
    assert driver.run_plainly(argv).code == 0
    driver.run_plainly([argv[0], "--compile", *argv[1:]])  # waits for the one that is under way
    assert len(components.entries()) == 1
    assert driver.run_plainly(argv).code == 0
