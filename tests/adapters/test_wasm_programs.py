"""What holds for WebAssembly modules and components alike, in one worker and in a plain run of the runner."""

import os
import re
import signal
import subprocess

import driver
import pytest
from harness.components import component
from harness.modules import RESETS, RUNNER, module
from wasm import Programs, env_of


@pytest.fixture(params=[module, component], ids=["module", "component"])
def programs(tmp_path, request):
    return Programs(tmp_path, request.param)


@pytest.mark.parametrize("reset", RESETS)
def test_words_environment_and_body_are_the_request_s(programs, reset):
    argv = programs.argv("request")
    with programs.warm("request", reset) as warm:
        assert warm.reset == reset, warm.weaker
        for n in range(12):
            words, env = ["a", "b=c", ""][:n % 4], env_of(f"n={n}", HTTP_X=f"{n}" * n, EMPTY="")
            body = bytes(range(256)) * n
            plain = driver.run_plainly([*argv, *words], env=env, body=body)
            assert plain.stdout.count(b"word ") == len(words) + 1 and body in plain.stdout
            assert warm.ask(*words, env=env, body=body).seen() == plain.seen()
        assert warm.workers == 1 or reset == "fork"


def prepare(programs):
    """A secret beside its folder, and links that lead there."""
    (programs.folder / "secret").write_text("the secret\n")
    (programs.data / "x").mkdir()
    (programs.data / "ready").symlink_to("..")
    (programs.data / "ready-file").symlink_to("../secret")
    (programs.data / "ready-new").symlink_to("../planted")


@pytest.mark.parametrize("reset", ["", *RESETS])
def test_no_path_leads_out_of_its_folders(programs, reset):
    prepare(programs)
    argv = programs.argv("files")
    env = env_of("", DATA="/data", OUTSIDE=str(programs.folder / "secret"))
    if reset:
        with programs.warm("files", reset) as warm:
            answers = [warm.ask(env=env) for _ in range(2)]
    else:
        answers = [driver.run_plainly(argv, env=env)]
    for answer in answers:
        lines = answer.stdout.decode().splitlines()
        assert "create: ok" in lines and 'read new name: read "written"' in lines, lines
        out = [line for line in lines if line.startswith("out ")]
        assert len(out) > 20 and b"the secret" not in answer.stdout, lines
        assert not [line for line in out if "read " in line.partition(": ")[2]], out
    assert (programs.folder / "secret").read_text() == "the secret\n"
    left = {path.name for path in programs.folder.iterdir()}
    assert left == {"secret", "data", "cache", "files.wasm"}


def test_it_has_no_files_without_folders(programs):
    argv = [str(RUNNER), str(programs.made("files"))]
    answer = driver.run_plainly(argv, env=env_of("", DATA="/tmp", OUTSIDE="/etc/passwd"))
    assert b": ok" not in answer.stdout and b"read \"" not in answer.stdout, answer.stdout


def test_a_folder_is_the_one_that_has_the_name_when_the_request_comes(programs):
    with programs.warm("files", "rewind") as warm:
        env = env_of("", DATA="/data")
        warm.ask(env=env)
        programs.data.rename(programs.folder / "old")
        programs.data.mkdir()
        assert b"create: ok" in warm.ask(env=env).stdout
        assert os.listdir(programs.data)


def test_a_folder_that_is_missing_is_named(programs):
    ended = driver.run_plainly(programs.argv("request", "--dir=/more=/no/such"))
    assert (ended.stdout, ended.code) == (b"", 1)
    assert b"wasm.dirs: /more = /no/such: No such file" in ended.stderr


def test_who_prints_for_nobody_ends_as_by_a_signal(programs):
    argv = programs.argv("deeds")
    with subprocess.Popen(argv, env=env_of("print-forever"), stdout=subprocess.PIPE) as process:
        process.stdout.read(1000)
        process.stdout.close()
        assert process.wait(driver.PATIENCE) == 128 + signal.SIGPIPE


@pytest.mark.parametrize("reset", RESETS)
def test_random_numbers_are_new_in_each_request(programs, reset):
    with programs.warm("clocks", reset) as warm:
        drawn = [re.search(rb"drawn ([0-9a-f]{32})\n", warm.ask().stdout)[1] for _ in range(20)]
    assert len(set(drawn)) == 20


LEAVES = ["", "closed", "moved", "open", "flags", "memory", "read", "late", "exit", "trap"]


def told(answer):
    """Without what is each one's own."""
    return re.sub(rb"(?m)^own.*\n", b"", answer.stdout), answer.code


@pytest.mark.parametrize("reset", RESETS)
def test_it_cannot_tell_whether_its_worker_was_warm_or_who_was_there_before(programs, reset):
    (programs.data / "file").write_text("text")
    argv = programs.argv("tells")
    wanted = {what: driver.run_plainly(argv, env=env_of(what), body=b"body") for what in LEAVES}
    assert [answer.code for answer in wanted.values()][-3:] != [0, 0, 0]
    assert len(set(told(answer)[0] for answer in wanted.values())) > 1, "it sees its query"
    with programs.warm("tells", reset) as warm:
        drawn, ages = set(), []
        for what in LEAVES * 2:
            for query in (what, ""):
                answer = warm.ask(env=env_of(query), body=b"body")
                assert told(answer) == told(wanted[query]), (what, query)
                drawn.add(re.search(rb"own drawn 0 (\w+)", answer.stdout)[1])
                ages.append([int(age) for age in re.search(rb"own age (\d+) (\d+)", answer.stdout).groups()])
        assert len(drawn) == 4 * len(LEAVES)
        # A module's monotonic clock is the machine's. A component has no clock of processor time.
        of_worker = [age[programs.make is module] for age in ages]
        assert of_worker != sorted(of_worker)


@pytest.mark.parametrize("reset", RESETS)
def test_a_module_cannot_tell_by_its_globals_and_tables_who_was_there_before(tmp_path, reset):
    programs = Programs(tmp_path, module)
    plain = driver.run_plainly(programs.argv("tells_state"))
    assert plain.stdout.endswith(b"\n\r\n1211\n"), plain.stdout
    with programs.warm("tells_state", reset) as warm:
        for _ in range(5):
            assert warm.ask().seen() == plain.seen()
