"""The leak battery in Java: nothing leaks, in fork and in rewind, on any of the collectors."""

import os
import random
import re
import subprocess
import sys

import pytest

import batteries
import driver

sys.path.insert(0, str(batteries.SOURCES.parents[1] / "adapters"))
from java_programs import JAVA, JAVAC, WarmJava  # noqa: E402

pytestmark = pytest.mark.skipif(not os.path.exists(JAVAC), reason="no javac")

SOURCE = batteries.SOURCES / "Battery.java"
KINDS = re.findall(r'^    kind\("(\w+)"', SOURCE.read_text(), re.MULTILINE)
REQUESTS = int(os.environ.get("CGIBRIDGE_FIDELITY_REQUESTS", 150))
# What such a request leaves is memory, or code, that no check can tell from what was there before; or ends
# with the request anyway.
UNSEEN = {"heap", "collected", "compiled", "interned", "number_format", "date_format", "hooks", "common_pool",
          "mapped_file", "environment_of_children", "locked", "process_name"}
# Which kinds are left to each collector in a usual run: all to the usual one, half to each of the others.
COLLECTORS = {"UseG1GC": KINDS, "UseSerialGC": KINDS[::2], "UseParallelGC": KINDS[1::2]}
IS_LONG = REQUESTS > 150


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("java")
    subprocess.run([JAVAC, "-nowarn", "-XDignore.symbol.file", "-d", folder, SOURCE], check=True,
                   capture_output=True)
    (folder / "lock").write_text("")
    return folder


def words(collector="UseG1GC"):
    return [f"-XX:+{collector}", "-cp", ".", "Battery"]


def plainly(folder, query):
    done = driver.run_plainly([JAVA, *words()], env=batteries.environment(query), cwd=str(folder),
                              body=batteries.BODY)
    assert (done.code, done.stderr) == (0, b"")
    return done.text


@pytest.fixture(scope="module")
def reference(folder):
    return plainly(folder, "")


def ask(warm, folder, query):
    answer = warm.ask(env=batteries.environment(query), cwd=str(folder), body=batteries.BODY)
    assert (answer.code, answer.stderr) == (0, b"")
    return answer.text


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_would_be_seen(folder, kind):
    if kind in UNSEEN:
        pytest.skip("no check can see it")
    text = plainly(folder, f"{kind}&twice")
    [before] = re.findall(rf"^{kind}: (.*)$", text, re.MULTILINE)
    [after] = re.findall(r"^again: (.*)$", text, re.MULTILINE)
    assert before != after


@pytest.mark.parametrize("reset, collector", [("fork", "UseG1GC"), *(("rewind", one) for one in COLLECTORS)])
def test_nothing_leaks(folder, reference, reset, collector):
    order = KINDS * (REQUESTS // 150) if IS_LONG else list(COLLECTORS[collector])
    random.Random(11).shuffle(order)
    with WarmJava(*words(collector), reset=reset, cwd=str(folder)) as warm:
        assert (warm.reset, warm.weaker) == (reset, "")
        for kind in order:
            text = ask(warm, folder, kind)
            assert batteries.differences(text, reference) == {}, kind
        if reset == "rewind":  # on a busy machine a child may outlast its request
            assert {why for why, _ in warm.retired} <= {"children"}
            assert warm.workers <= 1 + order.count("child")


def test_several_workers_in_turns(folder, reference):
    with WarmJava(*words(), reset="rewind", cwd=str(folder), verify=False) as warm:
        workers = [warm.worker() for _ in range(3)]
        for n, kind in enumerate(KINDS * (REQUESTS // 150) if IS_LONG else KINDS[::2]):
            worker = workers[n % 3]
            answer = worker.request([JAVA, *words()], env=batteries.environment(kind), cwd=str(folder),
                                    body=batteries.BODY)
            assert (answer.code, answer.stderr) == (0, b""), kind
            assert batteries.differences(answer.text, reference) == {}, kind
            if not answer.stays:
                workers[n % 3] = warm.worker()
