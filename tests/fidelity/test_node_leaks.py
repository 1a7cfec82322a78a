"""The leak battery in Node: nothing leaks if each request has its own process or one that was put back, and
under `none` exactly what its README says."""

import os
import random
import re
import shutil
import time

import pytest

import batteries
import driver

NODE = "/usr/bin/node"
TEXT = (batteries.SOURCES / "battery.js").read_text()
KINDS = dict(re.findall(r"^kind\('(\w+)', '([^']*)'", TEXT, re.MULTILINE))
LEVELS = {2: "booted", 3: "compiled"}
REQUESTS = int(os.environ.get("CGIBRIDGE_FIDELITY_REQUESTS", 150))

# Kinds that show only later, or only in their own request.
UNSEEN = {"exit_code", "stdin_rest", "stdout_replaced", "timer", "immediate", "exit_handlers_early",
          "main_variable"}

pytestmark = pytest.mark.skipif(not shutil.which(NODE), reason="no node")


def install(folder):
    folder.mkdir(exist_ok=True)
    script = folder / "battery.js"
    shutil.copy2(batteries.SOURCES / "battery.js", script)
    script.chmod(0o755)
    (folder / "own.js").write_text("")
    (folder / "node_modules" / "kept").mkdir(parents=True)
    (folder / "node_modules" / "kept" / "index.js").write_text("")
    return script


class Process(driver.Zygote):
    """A process that is started before its requests, and keeps its state."""

    def __init__(self, script):
        argv = [NODE, "--require", f"{driver.adapters_dir()}/node/start.js", str(script)]
        super().__init__(argv, level="booted", reset="none ahead", cwd=str(script.parent))
        self.script, self.only = script, self.worker()

    def ask(self, query=""):
        return self.only.request([NODE, str(self.script)], env=batteries.environment(query),
                                 cwd=str(self.script.parent), body=batteries.BODY)


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    return install(tmp_path_factory.mktemp("node") / "cgi")


@pytest.fixture(scope="module")
def reference(script):
    """What the second request of a process sees if the first one left nothing, because checks leave
    traces."""
    with Process(script) as process:
        process.ask()
        return process.ask().text


def test_there_are_many_kinds():
    assert len(KINDS) >= 50


@pytest.mark.parametrize("name, leaks_under", KINDS.items())
def test_a_kind_under_none(script, reference, name, leaks_under):
    if leaks_under != "none" and name not in UNSEEN:  # otherwise its leak shows that the check sees it
        with Process(script) as process:
            left = process.ask("again=" + name)
            assert name in batteries.differences(left.text, reference)
    with Process(script) as process:
        if not process.ask(name).stays:
            assert leaks_under == ""
            return
        found = batteries.differences(process.ask().text, reference)
        assert (name in found) == (leaks_under == "none"), found


@pytest.fixture(scope="module", params=[("rewind", "booted"), ("rewind", "compiled"), ("fork", "compiled")])
def copied(request, script):
    """One worker after another, of one zygote; compiled: the battery's own modules are loaded ahead."""
    reset, level = request.param
    argv = [NODE, "--require", f"{driver.adapters_dir()}/node/start.js", str(script)]
    with driver.Warm(argv, reset=reset, level=level, cwd=str(script.parent), has_pipe=True) as warm:
        assert (warm.reset, warm.threads, LEVELS[warm.level]) == (reset, 1, level)
        warm.argv = [NODE, str(script)]
        warm.first = ask_copy(warm, script)
        yield warm


def ask_copy(warm, script, query=""):
    return warm.ask(env=batteries.environment(query), cwd=str(script.parent), body=batteries.BODY)


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_in_a_copy(copied, script, name):
    ask_copy(copied, script, name)
    again = ask_copy(copied, script)
    assert batteries.differences(again.text, copied.first.text) == {} and again.code == copied.first.code


@pytest.mark.parametrize("preload, level, reset", [("", "compiled", "rewind"),
                                                   ('preload = ["fs"]', "booted", "fork")])
def test_requests_see_nothing_of_each_other(site, preload, level, reset):
    """Each request has its own process, one that was put back, or runs classic; it cannot tell which."""
    script = install(site.cgi_bin)
    bridge = site.start_bridge(f'mode = "classic"\nworkers = {{ max = 4, spare = 3 }}\n{preload}')

    def ask(query=""):
        return bridge.request(script, "POST", query, batteries.BODY)
    first, second = ask(), ask()
    assert first.stdout == second.stdout and not first.stderr
    bridge.command("mode", script, "persistent")
    ask()
    bridge.wait_warm(script)
    seed = int(os.environ.get("CGIBRIDGE_FIDELITY_SEED", time.time_ns() % 1_000_000))
    print(f"CGIBRIDGE_FIDELITY_SEED={seed}")
    chance = random.Random(seed)
    for n in range(REQUESTS):
        answer = ask(chance.choice(list(KINDS)))
        assert batteries.differences(answer.stdout.decode(), first.stdout.decode()) == {}
        if n % 3 == 0:  # if no processor is idle, few processes are started in advance during requests
            bridge.wait_warm(script)
    entry = bridge.program(script)
    assert (entry["level"], entry["reset"]) == (level, reset)
    assert entry["requests_persistent"] > REQUESTS / 4
