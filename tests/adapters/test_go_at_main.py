"""Go programs stop at main.main(), with their packages initialized and their threads parked. Whatever
one does in a request, the answer is a plain process's; what it did before main.main() is seen.

CGIBRIDGE_TESTS_GO=/path/to/go tries another version than the machine's."""

import contextlib
import os
import pathlib
import re
import time

import pytest

import driver
from driver import LAUNCH_ENV, REQUEST_ENV, Warm, Zygote, run_plainly
from harness.compiled import compile_go

GO = pathlib.Path(os.environ.get("CGIBRIDGE_TESTS_GO", "/usr/bin/go"))
SOURCES = pathlib.Path(__file__).parent / "go_programs"
pytestmark = [pytest.mark.skipif(not GO.exists(), reason=f"no {GO}"),
              pytest.mark.skipif(os.uname().machine != "x86_64", reason="elsewhere they run classic")]


def deeds_of(name):
    return re.findall(r'^\t"(.*?)": +func\(\) {', (SOURCES / f"{name}.go").read_text(), re.MULTILINE)


DEEDS, C_DEEDS = deeds_of("deeds"), deeds_of("c_deeds")
TIMES = 4


# How a program is linked: by itself; with libc by Go's linker, as soon as it imports net, and then Go's
# own code begins it; with libc by the system's linker, as with C code of its own.
STATIC, INTERNAL, EXTERNAL = "static", "internal", "external"
WAYS = {STATIC: [], "stripped": ["-ldflags=-s -w"], INTERNAL: [],
        EXTERNAL: ["-ldflags=-linkmode=external -s -w"],
        "position-independent": ["-buildmode=pie", "-ldflags=-linkmode=external"]}


def build(folder, name, way=STATIC, source=None, flags=()):
    """From the file of that name, or this one."""
    program, flags = folder / name, [*WAYS[way], *flags]
    is_static = way in (STATIC, "stripped")
    compile_go(program, [source or SOURCES / f"{name}.go"], flags, with_libc=not is_static, go=GO)
    assert driver.is_static(program) == is_static
    return str(program)


@pytest.fixture(scope="module", params=WAYS)
def deeds(request, tmp_path_factory):
    return build(tmp_path_factory.mktemp("go"), "deeds", request.param)


@pytest.fixture(scope="module", params=[STATIC, INTERNAL, EXTERNAL])
def early(request, tmp_path_factory):
    # Some of its functions are the runtime's.
    return build(tmp_path_factory.mktemp("go"), "early", request.param, flags=["-gcflags=-complete=false"])


@pytest.fixture(scope="module", params=[EXTERNAL, "position-independent"])
def c_deeds(request, tmp_path_factory):
    return build(tmp_path_factory.mktemp("go"), "c_deeds", request.param)


@contextlib.contextmanager
def standing(program):
    """A zygote for each reset, for all tests of a program."""
    zygotes = {}

    def stand(reset):
        if reset not in zygotes:
            zygotes[reset] = Warm([program], reset=reset, level="compiled")
            assert (zygotes[reset].reset, zygotes[reset].weaker) == (reset, "")
            assert zygotes[reset].threads == 1
        return zygotes[reset]
    yield stand
    for zygote in zygotes.values():
        zygote.__exit__()


@pytest.fixture(scope="module")
def stands(deeds):
    with standing(deeds) as stand:
        yield stand


@pytest.fixture(scope="module")
def c_stands(c_deeds):
    with standing(c_deeds) as stand:
        yield stand


def request_for(deed):
    body = b"b" * 60_000 if deed == "body slowly" else b"input"
    return {"env": {**REQUEST_ENV, "DEED": deed, "PATH": "/usr/bin:/bin"}, "body": body}


def seen(answer, deed=""):
    """Without what differs between two plain runs: addresses and numbers in a panic's list of goroutines;
    which of these are running at a crash."""
    words = answer.stderr.partition(b"\n")[0] if deed == "crashes" else answer.stderr
    words = re.sub(rb"0x[0-9a-f]+|goroutine \d+|\d+ minutes|\+0x\S+", b"", words)
    return answer.stdout, words, answer.code


# These end the process itself: by another program in its place, or by a signal.
END_THE_WORKER = {"itself", "dies of a signal", "crashes"}


@pytest.mark.parametrize("deed", [deed for deed in DEEDS if deed not in ("draws", "age")])
@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_every_deed_is_done_as_in_a_plain_process(stands, deeds, reset, deed):
    if deed == "deadlock" and not driver.is_static(deeds):
        pytest.skip("with libc Go does not look for deadlocks")
    do_as_in_a_plain_process(stands(reset), deeds, deed, b"call 1 ")


def do_as_in_a_plain_process(zygote, program, deed, begins):
    request = request_for(deed)
    plain = seen(run_plainly([program], **request), deed)
    assert plain[0].startswith(begins)
    workers, retired = zygote.workers, len(zygote.retired)
    for _ in range(TIMES if zygote.reset == "rewind" else 2):
        assert seen(zygote.ask(**request), deed) == plain
        assert zygote.ask(**request_for("")).stdout.startswith(begins)
    if zygote.reset == "rewind" and deed not in END_THE_WORKER:
        assert zygote.workers <= workers + 1 and zygote.retired[retired:] == []


@pytest.mark.parametrize("deed", C_DEEDS)
@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_every_deed_in_c_is_done_as_in_a_plain_process(c_stands, c_deeds, reset, deed):
    do_as_in_a_plain_process(c_stands(reset), c_deeds, deed, b"call 2 ")


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


# Some are taken away before the program sees its environment, after which the runtime looks for what the
# kernel says.
@pytest.mark.parametrize("early_binding", [False, True])
@pytest.mark.parametrize("variables", range(3))
def test_any_number_of_variables_at_its_launch(deeds, early_binding, variables):
    env = {f"V{n}": "x" for n in range(variables)} | ({"LD_BIND_NOW": "1"} if early_binding else {})
    if variables == 0:
        env["PATH"] = "/usr/bin:/bin"
    driver.answers_in_one_worker([deeds], run_plainly([deeds]), times=2, level="compiled", env=env)


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


RANDOM = r"draws random numbers \(.+?, called by main\."
# Before what the program stands, in words; or None: at main.main().
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
    "host": r"asks for a request's variable, called by main\.",
    "long": "asks for a variable of a long name",
    "all": "asks for all variables",
    "sets": "changes the environment",
    "unsets": "changes the environment",
    "timer": "asks for the time",
    "sleeps": "asks for the time",
    "child": "starts a process|asks for its process id",
    "folder": "changes its working folder",
    "dials": "opens a (connection|socket)|asks for the time",
    "listens": "opens a (connection|socket)",
    "input": "reads its input",
    "many": "asks for a request's variable",
    "hash seed": RANDOM, "hash": RANDOM, "word": RANDOM, "below": RANDOM, "two words": RANDOM,
    "temporary": RANDOM, "at random": RANDOM, "monotonic": "asks for the time", "clock": "asks for the time",
    "seconds": "asks for the time", "ticks": r"asks for the time \(times, called by main\.",
    "usage": "asks for the time", "uptime": "asks for the time", "by number": "asks for the time",
    "tid": r"asks for its process id \(gettid",
    "reads": None, "lists": None, "looks": None, "setting": None, "goroutine": None, "map": None,
    "collects": None, "nothing": None,
}


LEVELS = {1: "linked", 2: "booted", 3: "compiled"}
LEAVES_CHILDREN = {"child"}
DRAWN = [what for what, stands in EARLY.items() if stands == RANDOM]


def launched(what, **more):
    return {**LAUNCH_ENV, "EARLY": what, **more}


def request_after(what):
    return {**REQUEST_ENV, "EARLY": what, "QUERY_STRING": "this request's", "HTTP_HOST": "a.example"}


@pytest.mark.parametrize("what", EARLY)
@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_what_packages_do_as_they_are_initialized_is_seen(early, what, reset):
    with Warm([early], env=launched(what), level="compiled", reset=reset) as zygote:
        assert (zygote.reset, zygote.weaker) == (reset, "")
        assert LEVELS[zygote.level] == ("booted" if EARLY[what] else "compiled")
        assert re.search("^what runs before main.main\\(\\) .*?" + (EARLY[what] or ""),
                         (zygote.note(driver.LEVEL) or ["what runs before main.main() "])[0])
        plain = run_plainly([early], env=request_after(what))
        for _ in range(3):
            answer = zygote.ask(env=request_after(what))
            assert answer.seen() == plain.seen() or what in ("random", "clock", *DRAWN)
        # A child costs the worker only if it still runs.
        assert zygote.workers in ([3] if reset == "fork" else [1, 2, 3] if what in LEAVES_CHILDREN else [1])
        files = "".join(zygote.note(driver.FILE))
        assert {"reads": "/etc/hostname\n", "lists": "/etc/apt\n", "looks": "/etc/nothing-there\n"}.get(
            what, "") in files
        read = "".join(zygote.note(driver.READ))
        assert "EARLY\n" in read and "GODEBUG\n" in read and "HTTP_HOST\n" not in read


def found_by(answer):
    return answer.stdout.split()[1].decode()


@pytest.mark.parametrize("what", ["when", "clock"])
@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_the_time_that_it_is_stopped_before_is_each_request_s_own(early, what, reset):
    with Warm([early], env=launched(what), level="compiled", reset=reset) as zygote:
        for _ in range(10):
            before = time.time_ns() // 1000 * 1000
            assert before <= int(found_by(zygote.ask(env=request_after(what)))) <= time.time_ns()


@pytest.mark.parametrize("what", ["token", *DRAWN])
@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_what_it_is_stopped_before_drawing_is_each_request_s_own(early, what, reset):
    with Warm([early], env=launched(what), level="compiled", reset=reset) as zygote:
        assert len({zygote.ask(env=request_after(what)).stdout for _ in range(10)}) == 10


@pytest.mark.parametrize("what,why", [("aside", r"asks for the time \(time.now, called by main\."),
                                      ("aside all", "asks for all variables"),
                                      ("aside host", "asks for a request's variable")])
def test_what_another_goroutine_does_keeps_it_from_being_stopped(early, what, why):
    with Warm([early], env=launched(what), level="compiled") as zygote:
        assert not zygote.stands
        assert re.search(f"^what runs before main.* {why}", zygote.note(driver.SHALLOWER)[0])


@pytest.mark.parametrize("what", ["aside file", "too late", "left alone"])
def test_what_another_goroutine_changes_outside_is_not_changed_for_nobody(early, tmp_path, what):
    """One that nobody waits for may begin in the requests."""
    log = tmp_path / "log"
    with Warm([early], env=launched(what, LOG=str(log)), level="compiled") as zygote:
        assert not zygote.stands or what == "left alone", zygote.notes
        assert zygote.stands or "what runs before main" in zygote.note(driver.SHALLOWER)[0]
        assert not log.exists()
    run_plainly([early], env={**request_after(what), "LOG": str(log)})
    assert log.exists() or what == "left alone"


@pytest.mark.parametrize("value", ["", "a value", None])
def test_a_variable_of_the_launch_may_be_asked_for_anywhere(early, value):
    env = {} if value is None else {"SERVER_NAME": value}
    with Warm([early], env=launched("aside name", **env), level="compiled") as zygote:
        assert LEVELS[zygote.level] == "compiled"
        request = request_after("aside name") | env
        assert zygote.ask(env=request).seen() == run_plainly([early], env=request).seen()


def test_what_an_operator_accepts_may_come_before(early):
    launch = {**LAUNCH_ENV, "EARLY": "pid"}
    with Zygote([early], env=launch, level="compiled", accept="pid") as zygote:
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
    driver.answers_in_one_worker([program], run_plainly([program]), times=3, level="compiled")


@pytest.mark.parametrize("what", ["below", "map", "nothing"])
def test_one_that_is_built_for_a_debugger_is_watched_alike(tmp_path, what):
    """Functions begin in other ways there. From Go 1.22 on, it is not found where the generators are."""
    early = build(tmp_path, "early", flags=["-gcflags=all=-N -l -complete=false"])
    with Zygote([early], env=launched(what), level="compiled") as zygote:
        left = (zygote.note(driver.LEVEL) or zygote.note(driver.SHALLOWER) or [""])[0]
        assert zygote.stands or "where it keeps its random numbers is not known" in left, left
        assert what != "below" or "random numbers" in left


def test_what_brings_code_of_its_own_is_refused(tmp_path):
    source = tmp_path / "main.go"
    source.write_text("package main\n\nfunc main() {}\n")
    built = build(tmp_path, "main", EXTERNAL, source=source, flags=["-race"])
    with Zygote([built], level="compiled") as zygote:
        assert not zygote.stands
        assert "it is built with -race" in zygote.note(driver.SHALLOWER)[0]


HOST = """package main

import (
	"fmt"
	"os"
	"plugin"
)

func open(path string) string {
	opened, err := plugin.Open(path)
	if err != nil {
		return "none"
	}
	does, _ := opened.Lookup("Does")
	return does.(func() string)()
}

var early = open(os.Getenv("EARLY"))

func main() { fmt.Println(early, open(os.Getenv("PLUGIN"))) }
"""
PLUGIN = """package main

import (
	"fmt"
	"os"
	"time"
)

var begun = time.Now()

func Does() string {
	done := make(chan string)
	go func() { time.Sleep(time.Millisecond); done <- os.Getenv("QUERY_STRING") }()
	return fmt.Sprint(<-done, begun.IsZero(), os.Getpid() > 0)
}

func main() {}
"""


@pytest.fixture(scope="module")
def host_and_plugin(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    for name, text in (("host", HOST), ("plugin", PLUGIN)):
        (folder / f"{name}.go").write_text(text)
    plugin = folder / "plugin.so"
    compile_go(plugin, [folder / "plugin.go"], ["-buildmode=plugin"], with_libc=True, go=GO)
    flags = ["-ldflags=-linkmode=external"]
    return build(folder, "host", EXTERNAL, source=folder / "host.go", flags=flags), plugin


@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_a_plugin_is_opened_in_a_request_which_the_worker_does_not_survive(host_and_plugin, reset):
    host, plugin = host_and_plugin
    with Warm([host], env=launched("/nonexistent"), level="compiled", reset=reset) as zygote:
        assert LEVELS[zygote.level] == "booted"
        assert "opens a plugin" in zygote.note(driver.LEVEL)[0]
        for opened in (plugin, "/nonexistent"):
            request = {**request_after("/nonexistent"), "PLUGIN": str(opened)}
            for _ in range(3):
                assert zygote.ask(env=request).seen() == run_plainly([host], env=request).seen()
    if reset == "rewind":
        assert zygote.workers >= 4 and "call" in str(zygote.retired)


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
    with Zygote([str(program)], level="compiled") as zygote:
        assert not zygote.stands
        assert re.search("it has no table|its own code begins", zygote.note(driver.SHALLOWER)[0])
