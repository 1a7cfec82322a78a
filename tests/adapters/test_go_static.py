"""Static Go programs stop at main.main(), with their packages initialized and their threads parked. Whatever
one does in a request, the answer is a plain process's; what it did before main.main() is seen.

CGIBRIDGE_TESTS_GO=/path/to/go tries another version than the machine's."""

import os
import pathlib
import re
import subprocess

import pytest

import driver
from driver import LAUNCH_ENV, REQUEST_ENV, Warm, Zygote, adapters_dir, run_plainly
from harness.compiled import make_once

GO = pathlib.Path(os.environ.get("CGIBRIDGE_TESTS_GO", "/usr/bin/go"))
SOURCES = pathlib.Path(__file__).parent / "go_programs"
pytestmark = [pytest.mark.skipif(not GO.exists(), reason=f"no {GO}"),
              pytest.mark.skipif(os.uname().machine != "x86_64", reason="elsewhere they run classic")]
DEEDS = re.findall(r'^\t"(.*?)": +func\(\) {', (SOURCES / "deeds.go").read_text(), re.MULTILINE)
TIMES = 6


def build(folder, name, *flags, source=None):
    """From the file of that name, or this one."""
    program = folder / name
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "CGO_ENABLED": "0", "GO111MODULE": "off",
                   "GOTOOLCHAIN": "local",
                   "GOCACHE": str(pathlib.Path(adapters_dir()).parent / "go-cache")}
    source = source or SOURCES / f"{name}.go"

    def build_to(path):
        subprocess.run([GO, "build", "-o", path, *flags, source], check=True, env=environment)
    make_once(program, [GO], repr(flags).encode() + source.read_bytes(), build_to)
    assert driver.is_static(program)
    return str(program)


@pytest.fixture(scope="module", params=["with symbols", "stripped"])
def deeds(request, tmp_path_factory):
    flags = ["-ldflags", "-s -w"] if request.param == "stripped" else []
    return build(tmp_path_factory.mktemp("go"), "deeds", *flags)


@pytest.fixture(scope="module")
def early(tmp_path_factory):
    return build(tmp_path_factory.mktemp("go"), "early")


@pytest.fixture(scope="module")
def stands(deeds):
    """A zygote for each reset, for all tests of a program."""
    zygotes = {}

    def stand(reset):
        if reset not in zygotes:
            zygotes[reset] = Warm([deeds], reset=reset)
            assert (zygotes[reset].reset, zygotes[reset].weaker) == (reset, "")
            assert zygotes[reset].threads == 1
        return zygotes[reset]
    yield stand
    for zygote in zygotes.values():
        zygote.__exit__()


def request_for(deed):
    body = b"b" * 60_000 if deed == "body slowly" else b"input"
    return {"env": {**REQUEST_ENV, "DEED": deed, "PATH": "/usr/bin:/bin"}, "body": body}


def seen(answer):
    """Without what differs between two plain runs: addresses and numbers in a panic's list of goroutines."""
    words = re.sub(rb"0x[0-9a-f]+|goroutine \d+|\d+ minutes|\+0x\S+", b"", answer.stderr)
    return answer.stdout, words, answer.code


# These end the process itself: by another program in its place, or by a signal.
END_THE_WORKER = {"itself", "dies of a signal"}


@pytest.mark.parametrize("deed", [deed for deed in DEEDS if deed not in ("draws", "age")])
@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_every_deed_is_done_as_in_a_plain_process(stands, deeds, reset, deed):
    zygote, request = stands(reset), request_for(deed)
    plain = seen(run_plainly([deeds], **request))
    assert plain[0].startswith(b"call 1 ")
    workers, retired = zygote.workers, len(zygote.retired)
    for _ in range(TIMES if reset == "rewind" else 2):
        assert seen(zygote.ask(**request)) == plain
        assert zygote.ask(**request_for("")).stdout.startswith(b"call 1 ")
    if reset == "rewind" and deed not in END_THE_WORKER:
        assert zygote.workers <= workers + 1 and zygote.retired[retired:] == []


@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_what_one_request_draws_no_other_draws(stands, deeds, reset):
    def draws(ask):
        return [ask().stdout.split(b"\n")[1].split(b"|") for _ in range(40)]
    plain = draws(lambda: run_plainly([deeds], **request_for("draws")))
    warm = draws(lambda: stands(reset).ask(**request_for("draws")))
    number, token, order, name, elsewhere, seeded = [len(set(kind)) for kind in zip(*warm)]
    assert (token, name, seeded) == (40, 40, 1) and order > 5
    # Before Go 1.20 the numbers of math/rand are always the same ones, in one order or another.
    always = len({drawn[0] for drawn in plain}) <= 2
    assert always or (number, elsewhere) == (40, 40)


@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_a_request_s_process_is_as_young_as_its_request(stands, reset):
    # The zygote's age would only grow.
    answers = [stands(reset).ask(**request_for("age")).stdout for _ in range(30)]
    ages = [float(re.search(rb"m=\+([0-9.]+)", answer)[1]) for answer in answers]
    assert ages != sorted(ages)


@pytest.mark.parametrize("count", [0, 1, 300, 1500])
def test_any_number_of_variables(stands, deeds, count):
    env = {f"V{n}": "x" * n for n in range(count)} | {"DEED": "environment", "QUERY_STRING": "q"}
    plain = run_plainly([deeds], env=env)
    for _ in range(3):
        assert stands("rewind").ask(env=env).seen() == plain.seen()


def test_a_request_with_words_gets_them(stands, deeds):
    plain = run_plainly([deeds, "a", "query's words"])
    for _ in range(3):
        assert stands("rewind").ask("a", "query's words").seen() == plain.seen()
        assert stands("rewind").ask().stdout.startswith(b"call 1 ")


# What keeps the program from standing at main.main(), in words; or None.
EARLY = {
    "time": r"asks for the time \(time.now, called by main\.(glob\.\.func1|init.*)\)",
    "bytes": "draws random numbers|asks for the time",
    "random": "asks for the time",
    "pid": "asks for its process id",
    "prints": r"prints \(write, called by main\.",
    "prints raw": "prints",
    "warns": "prints",
    "writes": "changes files",
    "removes": "changes files",
    "host": "reads the environment's HTTP_HOST",
    "all": "asks for all variables",
    "sets": "changes the environment",
    "unsets": "changes the environment",
    "timer": "asks for the time",
    "sleeps": "asks for the time",
    "child": "starts a process|asks for its process id",
    "folder": "changes its working folder",
    "dials": "opens a connection|asks for the time",
    "listens": "opens a connection",
    "input": "reads its input",
    "reads": None, "lists": None, "looks": None, "setting": None, "goroutine": None, "nothing": None,
}


@pytest.mark.parametrize("what", EARLY)
def test_what_packages_do_as_they_are_initialized_is_seen(early, what):
    launch = {**LAUNCH_ENV, "EARLY": what}
    with Warm([early], env=launch) as zygote:
        if EARLY[what] is not None:
            assert not zygote.stands
            assert re.search(EARLY[what], zygote.note(driver.SHALLOWER)[0])
            return
        assert (zygote.reset, zygote.weaker) == ("rewind", "")
        request = {**REQUEST_ENV, "EARLY": what, "QUERY_STRING": "this request's"}
        plain = run_plainly([early], env=request)
        for _ in range(3):
            assert zygote.ask(env=request).seen() == plain.seen()
        files = "".join(zygote.note(driver.FILE))
        assert {"reads": "/etc/hostname\n", "lists": "/etc/apt\n", "looks": "/etc/nothing-there\n"}.get(
            what, "") in files
        read = "".join(zygote.note(driver.READ))
        assert "EARLY\n" in read and "GODEBUG\n" in read


def test_what_an_operator_accepts_may_come_before(early):
    launch = {**LAUNCH_ENV, "EARLY": "pid"}
    with Zygote([early], env=launch, accept="pid") as zygote:
        assert zygote.stands


# main.main() begins differently with the room that it needs on its stack.
@pytest.mark.parametrize("room", [0, 50, 600, 8000])
def test_main_may_begin_in_any_way(tmp_path, room):
    source = tmp_path / "main.go"
    lines = [f"var room [{room}]byte", f"for i := range room {{ room[i] = byte(i) }}",
             "println(room[len(room)/2], use(room[:]))"] if room else []
    source.write_text("package main\n\n//go:noinline\nfunc use(all []byte) int { return len(all) }\n\n"
                      "func main() {\n" + "\n".join(lines) + "\n}\n")
    program = build(tmp_path, "main", source=source)
    driver.answers_in_one_worker([program], run_plainly([program]), times=3)


def test_a_program_without_its_table_is_refused(early, tmp_path):
    damaged = bytearray(pathlib.Path(early).read_bytes())
    for mark in (b"\xf0\xff\xff\xff\0\0\1\x08", b"\xf1\xff\xff\xff\0\0\1\x08"):
        at = damaged.find(mark)
        while at >= 0:
            damaged[at:at + 4] = b"none"
            at = damaged.find(mark)
    program = tmp_path / "damaged"
    program.write_bytes(damaged)
    program.chmod(0o755)
    with Zygote([str(program)]) as zygote:
        assert not zygote.stands
        assert "of Go's: it has no table" in zygote.note(driver.SHALLOWER)[0]
