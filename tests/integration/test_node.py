"""Node in persistent mode: processes that are started before their one request, and `none`."""

import concurrent.futures
import json
import os
import shutil
import signal

import pytest

from harness import guestbooks, processes
from harness.processes import wait_until

pytestmark = pytest.mark.skipif(not shutil.which("/usr/bin/node"), reason="no node")
HEAD = "console.log('Content-Type: text/plain\\n');\n"
PID = HEAD + "console.log(process.pid);\n"


def js(site, name, text, first_line="#!/usr/bin/node"):
    return site.script(name, f"{first_line}\n{text}")


def warm(bridge, script):
    bridge.request(script)
    return bridge.wait_warm(script)


def wait_booted(bridge, script):
    """Waits until it has started as many in advance as it wants."""
    return wait_until(lambda: (lambda e: e if e["workers"]["idle"] >= 2 and not e["workers"]["starting"]
                               else None)(bridge.program(script)), "two are ahead")


# What a program's own modules make ready for one request is not copied.
AHEAD = 'mode = "persistent"\npreload = ["fs"]'


class TestCopied:
    @pytest.fixture(params=["rewind", "fork"])
    def bridge(self, site, request):
        return site.start_bridge(f'mode = "persistent"\nreset = "{request.param}"')

    def test_each_request_has_a_process_that_has_seen_nothing(self, site, bridge):
        script = js(site, "n.js", HEAD + "globalThis.n = (globalThis.n ?? 0) + 1; Array.prototype.left = n;"
                    "process.chdir('/usr'); process.env.LEFT = 'x'; require('fs').left = 1;"
                    "setInterval(() => {}, 1e6).unref(); require('path').sep = '!';"
                    "console.log(n, process.env.LEFT, Object.keys(require('fs')).includes('left'))")
        entry = warm(bridge, script)
        assert entry["level"] == "booted"
        for _ in range(12):
            assert bridge.request(script).body == b"1 x true\n"
        entry = bridge.program(script)
        assert entry["zygote_pid"] and entry["requests_persistent"] >= 12

    def test_what_exec_would_draw_differs_in_each_request(self, site, bridge):
        script = js(site, "d.js", HEAD + "const c = require('crypto');"
                    "console.log([Math.random(), Math.random(), c.randomUUID(), c.randomInt(2 ** 40),"
                    "c.randomBytes(8).toString('hex'), c.getRandomValues(new Uint32Array(2)).join()]"
                    ".join(' '),"
                    "process.pid === Number(require('fs').readlinkSync('/proc/self')))")
        warm(bridge, script)
        drawn = []
        for _ in range(100):
            *values, is_own = bridge.request(script).body.decode().split()
            drawn += values
            assert is_own == "true"
        assert len(set(drawn)) == len(drawn) == 600

    def test_bodies_modules_threads_and_ends(self, site, bridge):
        site.script("own.mjs", "export const word = 'esm'")
        script = js(site, "e.js", HEAD + """
const { Worker } = require('worker_threads');
const { execSync } = require('child_process');
const fs = require('fs').promises;
process.on('exit', () => console.log('exits'));
(async () => {
  let size = 0;
  for await (const part of process.stdin) size += part.length;
  const { word } = await import('./own.mjs');
  const text = 'require("worker_threads").parentPort.postMessage(6 * 7)';
  const answer = await new Promise((done) => new Worker(text, { eval: true }).on('message', done));
  const name = await fs.readFile('/etc/hostname');
  console.log(size, word, answer, String(execSync('echo child')).trim(), name.length > 0);
  let waste = []; for (let i = 0; i < 3e5; ++i) waste.push({ i });
  if (process.env.QUERY_STRING === 'exit') process.exit(3);
  if (process.env.QUERY_STRING === 'throw') throw new Error('told');
})();""")
        bridge.allow_log("told")
        warm(bridge, script)
        for n in range(3):
            body = b"x" * (70_000 * n)
            answer = bridge.request(script, "POST", body=body)
            assert (answer.body, answer.app_status) == (b"%d esm 42 child true\nexits\n" % len(body), 0)
            assert bridge.request(script, query="exit").app_status == 3
            answer = bridge.request(script, query="throw")
            assert answer.app_status == 1 and b"Error: told" in answer.stderr

    def test_a_program_that_makes_contexts_is_copied(self, site, bridge):
        script = js(site, "v.js", HEAD + "console.log(require('vm').runInNewContext('Math.random()'))")
        entry = warm(bridge, script)
        assert entry["reset"] in entry["arm"] and not entry["reset_reason"]
        drawn = []
        for _ in range(4):
            bridge.wait_warm(script)
            drawn.append(bridge.request(script).body)
        assert len(set(drawn)) == 4


class TestAhead:
    @pytest.fixture
    def bridge(self, site):
        return site.start_bridge(AHEAD)

    def test_a_script_runs_in_a_process_that_was_up_before(self, site, bridge):
        script = js(site, "p.js", PID)
        entry = warm(bridge, script)
        assert (entry["level"], entry["reset"]) == ("booted", "fork")
        assert "not forked" in entry["reset_reason"] and not entry["level_reason"]
        pids = set()
        for _ in range(5):
            waiting = wait_booted(bridge, script)["worker_pids"]
            pids.add(int(bridge.request(script).body))
            assert pids & set(waiting)
        assert len(pids) == 5

    def test_an_es_module_does_too(self, site, bridge):
        script = js(site, "p.mjs", "import { pid } from 'node:process';\nconst late = await pid;\n"
                    "console.log('Content-Type: text/plain\\n\\n' + late);\n", "#!/usr/bin/env node")
        warm(bridge, script)
        wait_booted(bridge, script)
        assert bridge.answered_by(script) == "persistent"

    def test_switches_of_the_first_line_hold(self, site, bridge):
        (site.cgi_bin / "own.js").write_text("globalThis.own = process.env.QUERY_STRING")
        script = js(site, "s.js", HEAD + "console.log(own, process.execArgv, process.pid)",
                    f"#!/usr/bin/env -S node --stack-size=900 --require {site.cgi_bin}/own.js")
        warm(bridge, script)
        answers = set()
        for _ in range(4):
            bridge.wait_warm(script)
            answers.add(bridge.request(script, query="q=1").body.rpartition(b" ")[0])
        assert len(answers) == 1 and answers.pop().startswith(b"q=1 [\n  '--stack-size=900'")

    def test_the_request_s_words_body_and_errors_arrive(self, site, bridge):
        script = js(site, "e.js", HEAD + "console.error('told', process.env.REQUEST_METHOD);"
                    "console.log(process.argv.slice(2).join('|'));process.stdin.pipe(process.stdout)")
        bridge.allow_log("told")
        warm(bridge, script)
        answer = bridge.request(script, "GET", query="a+b%20c")
        assert answer.body == b"a|b c\n" and answer.stderr == b"told GET\n"
        bridge.wait_warm(script)
        body = os.urandom(300_000)
        assert bridge.request(script, "POST", body=body).body == b"\n" + body

    def test_a_changed_script_answers_the_next_request(self, site, bridge):
        script = js(site, "c.js", HEAD + "console.log('first')")
        warm(bridge, script)
        for n in range(3):
            js(site, "c.js", HEAD + f"console.log('changed {n}')")
            assert bridge.request(script).body == b"changed %d\n" % n
        bridge.wait_warm(script)
        assert bridge.request(script).body == b"changed 2\n"

    def test_workers_that_are_killed_while_they_wait_are_replaced(self, site, bridge):
        script = js(site, "p.js", PID)
        warm(bridge, script)
        for _ in range(4):
            pids = wait_booted(bridge, script)["worker_pids"]
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            # A worker that dies just as it gets a request counts as having died in a request.
            wait_until(lambda: not set(pids) & set(bridge.program(script)["worker_pids"]), "it knows")
            assert int(bridge.request(script).body) not in pids
        assert wait_booted(bridge, script)["level"] == "booted"

    def test_processes_that_are_not_up_yet_may_be_killed_too(self, site, bridge):
        script = js(site, "p.js", PID)
        warm(bridge, script)
        wait_booted(bridge, script)
        bridge.allow_log("killed by signal 9|502: the program ended")
        for _ in range(40):
            for pid in set(processes.children_of(bridge.pid)):
                processes.kill_quietly(pid)
            assert bridge.request(script).status in (200, 502)
        wait_until(lambda: not bridge.program(script)["workers"]["busy"], "nothing runs")
        wait_until(lambda: bridge.request(script).status == 200, "it answers")

    def test_an_end_by_a_signal_or_an_error_is_node_s_own(self, site, bridge):
        script = js(site, "x.js", HEAD + "console.log('begin');"
                    "if (process.env.QUERY_STRING === 'exit') process.exit(3);"
                    "if (process.env.QUERY_STRING === 'throw') throw new Error('thrown');"
                    "if (process.env.QUERY_STRING === 'kill') process.kill(process.pid, 'SIGKILL');"
                    "Promise.reject(new Error('rejected'))")
        bridge.allow_log("thrown|rejected|SIGKILL|signal|Node|Error|at |\\^|^$")
        warm(bridge, script)
        for query, status, error in (("exit", 3, b""), ("throw", 1, b"Error: thrown"),
                                     ("kill", 137, b""), ("", 1, b"Error: rejected")):
            bridge.wait_warm(script)
            answer = bridge.request(script, query=query)
            assert answer.body == b"begin\n" and answer.app_status == status and error in answer.stderr

    def test_a_client_that_leaves_ends_the_script(self, site, bridge):
        note = site.folder / "pid"
        script = js(site, "s.js", f"require('fs').writeFileSync('{note}', process.pid + '');"
                    f"{HEAD}if (process.env.QUERY_STRING) setTimeout(() => {{}}, 60000);")
        warm(bridge, script)
        with bridge.connect() as peer:
            peer.start(script, query="stay")
            wait_until(lambda: note.exists() and processes.alive(int(note.read_text() or 0)), "it runs")
        wait_until(lambda: not processes.alive(int(note.read_text())), "it has ended")


class TestPace:
    def test_a_burst_is_answered_and_starts_do_not_come_in_bursts(self, site):
        # Some take longer than others, so that at each moment at least one runs.
        busy = HEAD + ("const end = Date.now() + Number(process.env.QUERY_STRING);\n"
                       "while (Date.now() < end);\nconsole.log(process.pid);")
        script = js(site, "b.js", busy)
        bridge = site.start_bridge(AHEAD + '\nworkers = { max = 8, spare = 4 }')
        warm(bridge, script)
        wait_until(lambda: bridge.program(script)["workers"]["idle"] >= 4, "all spares are up before it")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = [pool.submit(bridge.request, script, query=str(300 + 50 * (n % 8)))
                       for n in range(16)]
            seen = []
            while not all(answer.done() for answer in answers):
                workers = bridge.program(script)["workers"]
                if workers["busy"]:
                    seen.append(workers["starting"])
        assert {answer.result().status for answer in answers} == {200}
        assert len({answer.result().body for answer in answers}) == 16
        assert seen and max(seen) <= 1
        wait_until(lambda: bridge.program(script)["workers"]["idle"] >= 4, "all spares are up")

    def test_a_rested_pool_keeps_one(self, site):
        script = js(site, "p.js", PID)
        bridge = site.start_bridge(AHEAD + '\nworkers = { spare = 3, idle_timeout = "5s" }')
        warm(bridge, script)
        wait_until(lambda: bridge.program(script)["workers"]["idle"] == 3, "three are ahead")
        wait_until(lambda: bridge.program(script)["workers"]["idle"] == 1, "one is kept", 30)
        assert bridge.answered_by(script) == "persistent"

    def test_a_program_that_was_not_asked_for_in_long_is_let_go(self, site):
        script = js(site, "p.js", PID)
        bridge = site.start_bridge(AHEAD, bridge='zygote_idle_timeout = "4s"\n')
        pids = warm(bridge, script)["worker_pids"]
        wait_until(lambda: not any(processes.alive(pid) for pid in pids), "none is left", 30)
        assert bridge.request(script).status == 200


class TestFallingBack:
    def test_node_options_that_run_modules_ahead_make_it_shallower(self, site):
        (site.cgi_bin / "own.js").write_text("globalThis.own = process.env.QUERY_STRING")
        script = js(site, "o.js", HEAD + "console.log(own)")
        bridge = site.start_bridge('mode = "persistent"\nreset = "fork"\n'
                                   f'env = {{ NODE_OPTIONS = "--require {site.cgi_bin}/own.js" }}')
        entry = warm(bridge, script)
        assert entry["level"] == "linked" and "NODE_OPTIONS" in entry["level_reason"]
        for n in range(3):
            assert bridge.request(script, query=f"n={n}").body == b"n=%d\n" % n

    def test_a_request_that_brings_another_value_of_what_node_has_read_runs_classic(self, site):
        script = js(site, "n.js", HEAD + "console.log(process.env.NODE_ENV, process.env.NO_COLOR)")
        bridge = site.start_bridge('mode = "persistent"\nreset = "fork"')
        warm(bridge, script)
        assert bridge.request(script, NO_COLOR="1").body == b"undefined 1\n"
        entry = bridge.program(script)
        assert entry["misfits"] == {"count": 1, "variable": "NO_COLOR"}
        assert entry["level"] == "booted"

    def test_level_linked_may_be_asked_for(self, site):
        script = js(site, "p.js", PID)
        bridge = site.start_bridge('mode = "persistent"\nlevel = "linked"\nreset = "fork"')
        assert warm(bridge, script)["level"] == "linked"
        assert bridge.answered_by(script) == "persistent"

    def test_a_script_with_an_error_answers_as_classic_does(self, site):
        script = js(site, "broken.js", "let let = 1;\n")
        bridge = site.start_bridge('mode = "persistent"')
        bridge.allow_log("broken|SyntaxError|let|at |Node|\\^")
        for _ in range(4):
            assert bridge.request(script).status == 502


class TestNone:
    @pytest.fixture
    def bridge(self, site):
        return site.start_bridge('mode = "persistent"\nreset = "none"\nworkers = { max = 2, spare = 1 }')

    def test_one_process_answers_one_request_after_the_other(self, site, bridge):
        script = js(site, "n.js", HEAD + "globalThis.n = (globalThis.n ?? 0) + 1;"
                    "console.log(n, process.argv.length, process.env.QUERY_STRING, process.pid)")
        entry = warm(bridge, script)
        assert (entry["level"], entry["reset"], entry["reset_reason"]) == ("booted", "none", "")
        answers = [bridge.request(script, query=f"{n}=").body.split() for n in range(40)]
        assert [answer[2] for answer in answers] == [b"%d=" % n for n in range(40)]
        assert len({answer[3] for answer in answers}) <= 4
        assert max(int(answer[0]) for answer in answers) >= 8

    def test_a_script_that_leaves_by_exit_gets_a_new_process(self, site, bridge):
        script = js(site, "x.js", PID + "process.exit(0)")
        warm(bridge, script)
        pids = []
        for _ in range(5):
            bridge.wait_warm(script)
            pids.append(bridge.request(script).body)
        assert len(set(pids)) == 5
        assert bridge.program(script)["retired"]["left"] >= 3

    def test_an_es_module_falls_back_to_a_process_for_each_request(self, site, bridge):
        script = js(site, "m.mjs", PID)
        entry = warm(bridge, script)
        assert entry["reset"] == "fork" and "ES module" in entry["reset_reason"]


def test_check_says_what_it_bears(site):
    script = js(site, "h.js", HEAD + "console.log('hello')")
    done = site.cgibridge("check", "--json", "--runs", "5", "--timeout", "300", script, seconds=120)
    found = json.loads(done.stdout)
    assert found["level"] == "booted" and found["verdict"]["safety"] == "safe"
    fork, none = found["arms"]["fork"], found["arms"]["none"]
    assert fork["different"] == none["different"] == 0 and fork["compared"] >= 12
    assert all(entry["runs"] > 0 for entry in fork["times"])
    assert found["arms"]["rewind"]["different"] == 0 and found["arms"]["rewind"]["compared"] >= 12


@pytest.mark.skipif(guestbooks.missing("JavaScript") is not None, reason="no guestbook.js")
def test_the_guestbook_is_answered_warm(site):
    script = guestbooks.install(site, "JavaScript")
    database = site.folder / "guestbook.db"
    bridge = site.start_bridge(f'mode = "persistent"\nenv = {{ GUESTBOOK_DB = "{database}" }}')
    warm(bridge, script)
    for n in range(4):
        bridge.wait_warm(script)
        answer = bridge.request(script, "POST", body=b"name=n%d&message=m" % n, CONTENT_TYPE=guestbooks.FORM)
        assert answer.status == 303, answer.body
    bridge.wait_warm(script)
    assert bridge.request(script).body == guestbooks.page_of(guestbooks.entries_of(database))
    entry = bridge.program(script)
    assert entry["level"] == "compiled" and entry["requests_persistent"] >= 4
