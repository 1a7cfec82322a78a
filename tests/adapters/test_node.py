"""Node: a process that is started before its one request, level `booted`, and the reset `none`."""

import json
import os
import signal
import subprocess
import time

import pytest

from driver import FILE, LAUNCH_ENV, REQUEST_ENV, SHALLOWER, answers_in_one_worker, library, run_plainly
from harness.compiled import compile_library
from node import (NODE, Ahead, answers_like_plain, ask_once, needs_node, node_argv, request_of,
                  stand)

pytestmark = needs_node


LOOK_AROUND = r"""
const fs = require('fs');
const show = (...what) => console.log(...what);
show(process.argv, process.argv0, process.execArgv, process.execPath, process.title);
show(__filename, __dirname, module.id, module.parent, module.children, module.loaded, module.paths);
show(require.main === module, process.mainModule === module, Object.keys(require.cache));
show(process.env, Object.keys(globalThis), Object.keys(process).sort());
show(process.cwd(), process.umask(), process.exitCode, process.connected, process._eventsCount);
show(process.eventNames(), process.eventNames().map((name) => process.listenerCount(name)));
show(Object.getOwnPropertyNames(process.uptime), process.uptime.name, process.uptime.length);
show(performance.now.name, performance.now.length, Object.keys(performance));
show(new Error('x').stack, Error.stackTraceLimit);
for (const name of ['stdin', 'stdout', 'stderr']) {
  const stream = process[name];
  show(stream.constructor.name, stream.fd, stream._type, stream.isTTY, stream.readableFlowing,
       stream.writableHighWaterMark, Object.keys(stream).sort());
}
show(new Date(0).toString(), Intl.DateTimeFormat().resolvedOptions().timeZone, (1.5).toLocaleString());
show(process.getActiveResourcesInfo(), process.report?.excludeNetwork);
const { spawnSync } = require('child_process');
show(spawnSync('/bin/sh', ['-c', 'echo child; env | sort; ls /proc/self/fd; kill -l $?; trap']).stdout + '');
show(fs.readFileSync(0, 'utf8'));
process.stderr.write('an error\n');
"""


@pytest.mark.parametrize("switches", [(), ("--no-warnings",), ("--stack-size=900", "--title=T"),
                                      ("--use-strict", "--max-old-space-size=60")])
def test_what_a_script_sees_of_itself(folder, switches):
    script = folder.script("x.js", LOOK_AROUND)
    answers_like_plain(script, switches, ["a", "b c", "", "ü"], "grüße\n".encode())


def test_the_rest_of_a_first_line_s_switches(folder):
    folder.script("own.js", "console.log('own first', process.argv.length, process.env.QUERY_STRING)")
    script = folder.script("x.js", "console.log('main', process.execArgv, Object.keys(require.cache))")
    answers_like_plain(script, ("--require", f"{folder.path}/own.js"), ["w"])


MODULE = """
import { readFileSync } from 'node:fs';
import * as own from './lib.mjs';
import cjs from './lib.cjs';
console.log(import.meta.url, process.argv, own.word, cjs.word, typeof require, this);
const data = await new Promise((resolve) => setTimeout(resolve, 5, 'awaited'));
console.log(data, readFileSync(0, 'utf8'), (await import('./lib.mjs')) === own);
console.log(process.mainModule, new Error('x').stack);
"""


def test_an_es_module_by_its_name(folder):
    folder.script("lib.mjs", "export const word = 'esm'\n")
    folder.script("lib.cjs", "exports.word = 'cjs'\n")
    answers_like_plain(folder.script("x.mjs", MODULE), words=["a"], body=b"body")


def test_an_es_module_by_its_package(folder):
    folder.script("package.json", '{"type": "module"}')
    folder.script("lib.mjs", "export const word = 'esm'\n")
    folder.script("lib.cjs", "exports.word = 'cjs'\n")
    answers_like_plain(folder.script("x.js", MODULE), body=b"body")


@pytest.mark.parametrize("name", ["x.cgi", "x", "x.node.js", "x.cjs"])
def test_names_that_scripts_have(folder, name):
    answers_like_plain(folder.script(name, "#!/usr/bin/node\nconsole.log(__filename, module.id)\n"))


@pytest.mark.parametrize("end, code", [
    ("process.exit(3)", 3), ("process.exit()", 0), ("process.exitCode = 4", 4), ("", 0),
    ("process.exitCode = 4; process.exit()", 4), ("throw new Error('x')", 1), ("throw 'text'", 1),
    ("Promise.reject(new TypeError('x'))", 1), ("(async () => { await 1; nothing(); })()", 1),
    ("Promise.reject(7)", 1), ("process.abort", 0), ("process.kill(process.pid, 'SIGTERM')", -15),
    ("process.kill(process.pid, 'SIGKILL')", -9), ("process.kill(process.pid, 'SIGHUP')", -1),
    ("process.on('SIGTERM', () => { console.log('caught'); process.exit(9); });\n"
     "process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 5000)", 9),
    ("require('nosuchmodule')", 1), ("JSON.parse('{')", 1), ("process.reallyExit(6)", 6),
    ("process.on('exit', (code) => { console.log('exit', code); process.exitCode = 8; })", 8),
    ("process.on('beforeExit', () => { if (!globalThis.again) { globalThis.again = 1;\n"
     "setTimeout(() => console.log('later'), 1); } })", 0),
    ("process.on('uncaughtException', (e) => console.log('caught', e.message)); throw new Error('x')", 0),
    ("process.on('unhandledRejection', (e) => console.log('seen', e)); Promise.reject(5)", 0),
    ("process.emitWarning('careful')", 0), ("new Promise(() => {})", 0),
    ("process.nextTick(() => { throw new Error('tick') })", 1),
    ("setTimeout(() => console.log('timer'), 300); setImmediate(() => console.log('immediate'))", 0),
    ("const t = setInterval(() => {}, 1000); t.unref()", 0),
    ("setImmediate(() => console.log('never')).unref()", 0),
    ("process.on('exit', () => process.on('exit', () => console.log('never')))", 0),
    ("process.on('exit', () => { throw new Error('late') })", 1),
    ("process.on('exit', () => { process.exit(4) })", 4),
    ("'use strict'; const { emit } = process; process.emit = function(name, ...rest) {\n"
     "if (name === 'exit') console.log('seen'); return emit.call(this, name, ...rest); }", 0),
    ("const { reallyExit } = process; process.reallyExit = (code) => { console.log('left', code);\n"
     "reallyExit.call(process, code + 1); }; process.exit()", 1),
    ("process.on('exit', () => { throw new Error('x') }); try { process.exit() } catch { }\n"
     "setTimeout(() => console.log('goes on'), 5)", 1),
    ("process.reallyExit = () => {}; process.exit(); setTimeout(() => console.log('goes on'), 5)", 0),
    ("Error.stackTraceLimit = 0; Error.prepareStackTrace = () => console.log('asked')", 0),
    ("process.on('exit', () => console.log(new Error('x').stack, process.listenerCount('exit')))", 0),
    ("process.on('exit', () => { Promise.resolve().then(() => 0).then(() => console.log('last')) })", 0),
])
def test_every_end_is_node_s_own(folder, end, code):
    script = folder.script("x.js", f"console.log('begin');\n{end}\n")
    plain = run_plainly([NODE, script])
    answer = ask_once(script)
    # A warning contains the process id.
    plain.stderr, answer.stderr = (b"" if b"careful" in text else text
                                   for text in (plain.stderr, answer.stderr))
    assert answer.seen() == plain.seen() and answer.code == code
    assert answer.done in (None, code)


# Loaded from the start, it keeps the process from ending until somebody writes.
SLOW_END = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((destructor)) static void end(void) {
  const char *fifo = getenv("FIFO");
  char byte;
  if (fifo != NULL) (void)!read(open(fifo, O_RDONLY), &byte, 1);
}
"""


def shared_object(folder, name, text):
    source = folder.script(name + ".c", text)
    compile_library(source, f"{folder.path}/{name}")
    return f"{folder.path}/{name}"


def test_an_answer_is_complete_before_the_process_has_ended(folder):
    fifo = f"{folder.path}/fifo"
    os.mkfifo(fifo)
    script = folder.script("x.js", """
        console.log('first');
        process.on('exit', () => {
          process.exitCode = 3;
          Promise.resolve().then(() => console.log('last'));
        });""")
    with Ahead(script, preload=f"{library()}:{shared_object(folder, 'slow.so', SLOW_END)}") as ahead:
        worker = ahead.worker()
        answer = worker.answer_until_done([NODE, script], env={**REQUEST_ENV, "FIFO": fifo})
        assert (answer.text, answer.done, answer.stays) == ("first\nlast\n", 3, False)
        with open(fifo, "w"):  # it has reached this point
            assert os.waitpid(worker.pid, os.WNOHANG)[0] == 0, "it still waits"
        assert os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1]) == 3


ADDON = r"""
#include <unistd.h>
void *napi_register_module_v1(void *env, void *exports) { return exports; }
__attribute__((destructor)) static void end(void) { (void)!write(1, "end\n", 4); }
"""


def test_what_an_addon_writes_at_its_end_belongs_to_the_answer(folder):
    shared_object(folder, "addon.node", ADDON)
    answer = answers_like_plain(folder.script("x.js", "require('./addon.node'); console.log('main')"))
    assert answer.text == "main\nend\n"


# Says what Node and the linker call of it at the end.
ADDON_WITH_ENDS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
extern int napi_add_env_cleanup_hook(void *env, void (*hook)(void *), void *data);
extern int napi_create_external(void *env, void *data, void (*end)(void *, void *, void *), void *hint,
                                void **made);
extern int napi_set_named_property(void *env, void *object, const char *name, void *value);
static void say(const char *text) { (void)!write(1, text, 2); }
static void hook(void *data) { say("h\n"); }
static void finalize(void *env, void *data, void *hint) { say("f\n"); }
static void at_exit(void) { say("a\n"); }
__attribute__((destructor)) static void end(void) { say("d\n"); }
void *napi_register_module_v1(void *env, void *exports) {
  void *external;
  napi_add_env_cleanup_hook(env, hook, NULL);
  napi_create_external(env, NULL, finalize, NULL, &external);
  napi_set_named_property(env, exports, "external", external);
  atexit(at_exit);
  printf("buffered\n");
  return exports;
}
"""
# What V8's own threads still work on at the end.
GARBAGE = "let kept = []; for (let i = 0; i < 6e5; ++i) kept.push({ i, text: 'x' + i }); kept = null;"


@pytest.mark.parametrize("rest", [
    "", "process.exit(3)", "process.exitCode = 5", "throw new Error('x')", GARBAGE,
    "process.on('exit', () => { console.log('exit'); process.exitCode = 8; })",
])
def test_an_addon_makes_its_end_in_a_worker_that_is_put_back(folder, rest):
    shared_object(folder, "addon.node", ADDON_WITH_ENDS)
    script = folder.script("x.js", f"globalThis.addon = require('./addon.node'); console.log('main'); {rest}")
    plain = run_plainly([NODE, script])
    assert {"a", "d", "buffered", "main"} <= set(plain.stdout.decode().split())
    answers_in_one_worker(node_argv(script), plain, level="booted")


def test_an_await_that_never_ends(folder):
    answer = answers_like_plain(folder.script("x.mjs", "console.log('begin');\nawait new Promise(() => {});"))
    assert answer.code == 13


def test_a_syntax_error_is_node_s_own(folder):
    assert answers_like_plain(folder.script("x.js", "console.log('never');\nlet let = 1;\n")).code == 1


@pytest.mark.parametrize("how", [
    "process.stdout.write('x'.repeat(3_000_000))", "console.log('x'.repeat(60_000)); process.exit(0)",
    "require('fs').writeSync(1, 'x'.repeat(30000))",
    "const fs = require('fs'); for (let i = 0; i < 2000; ++i) process.stdout.write('line ' + i + '\\n')",
    "process.stdin.pipe(process.stdout)",
    "(async () => { for await (const piece of process.stdin) process.stdout.write(piece); })()",
    "process.stdin.on('data', (d) => console.log(d.length > 0)).on('end', () => console.log('end'))",
    "process.stdin.resume(); process.stdin.on('close', () => console.log('closed'))",
    "process.stdout.end('last', () => console.error('flushed'))",
    "const lines = require('readline').createInterface({ input: process.stdin });\n"
    "lines.on('line', (l) => console.log('[' + l + ']'))",
])
def test_streams(folder, how):
    script = folder.script("x.js", how + "\n")
    answers_like_plain(script, body=b"one line\nand another\n")


def test_the_null_device_as_a_body(folder):
    script = folder.script("x.js", "console.log(process.stdin.constructor.name, process.stdin.fd);"
                           "process.stdin.on('end', () => console.log('end')).resume();")
    plain = subprocess.run([NODE, script], env=REQUEST_ENV, stdin=subprocess.DEVNULL, capture_output=True)
    with Ahead(script) as ahead:
        worker = ahead.worker()
        import driver
        usual, driver.stdin_with = driver.stdin_with, lambda body: os.open("/dev/null", os.O_RDONLY)
        try:
            answer = worker.request([NODE, script])
        finally:
            driver.stdin_with = usual
    assert answer.stdout == plain.stdout


@pytest.mark.parametrize("size", [0, 4090, 4094, 4095, 9000, 30000])
def test_long_words_and_environments(folder, size):
    script = folder.script("x.js", "console.log(process.argv.slice(2), process.env.LONG?.length)")
    env = {**REQUEST_ENV, "LONG": "v" * size}
    answers_like_plain(script, words=["", "ü" * (size // 2), "x" * size, "end"], env=env)


def test_changes_of_the_environment_reach_children(folder):
    script = folder.script("x.js", """
        process.env.NEW = 'new'; delete process.env.QUERY_STRING; process.env.PATH += ':/x';
        console.log(require('child_process').execSync('env | sort') + '');""")
    answers_like_plain(script)


@pytest.mark.parametrize("before, now", [(None, "Asia/Tokyo"), ("Asia/Tokyo", None), ("UTC", "Europe/Paris")])
def test_the_time_zone_is_the_request_s(folder, before, now):
    script = folder.script("x.js", "console.log(new Date(0).toString(), process.env.TZ, "
                           "new Intl.DateTimeFormat().resolvedOptions().timeZone)")
    zone = [{} if name is None else {"TZ": name} for name in (before, now)]
    answers_like_plain(script, env={**REQUEST_ENV, **zone[1]}, launch_env={**LAUNCH_ENV, **zone[0]})


def test_a_variable_that_node_reads_at_its_start_starts_the_program_anew(folder):
    script = folder.script("x.js", "console.log(process.env.NODE_PENDING_DEPRECATION, process.argv,"
                           "new Buffer(1).length)\nprocess.kill(process.pid, 'SIGPIPE')")
    env = {**REQUEST_ENV, "NODE_PENDING_DEPRECATION": "1"}
    plain = run_plainly([NODE, script, "w"], env=env)
    with Ahead(script) as ahead:
        answer = ahead.ask(NODE, script, "w", env=env)
    assert (answer.stdout, answer.code) == (plain.stdout, plain.code)
    assert answer.done is None and any(kind == SHALLOWER for kind, _ in answer.notes)


def test_modules_of_node_options_are_not_loaded_before_the_checkpoint(folder):
    own = folder.script("own.js", "console.log('own')")
    script = folder.script("x.js", "console.log('main')")
    with Ahead(script, env={**LAUNCH_ENV, "NODE_OPTIONS": f"--require {own}"}) as ahead:
        assert not ahead.stands and "NODE_OPTIONS" in ahead.note(SHALLOWER)[0]


def test_clocks_start_with_the_request(folder):
    script = folder.script("x.js", """
        const off = () => Math.abs(performance.timeOrigin + performance.now() - Date.now());
        console.log(JSON.stringify([process.uptime(), performance.now() / 1000, performance.timeOrigin / 1000,
                                    Math.min(...Array.from({ length: 20 }, off)) / 1000]))""")
    launched = time.monotonic()
    with Ahead(script) as ahead:
        worker = ahead.worker()
        start = time.monotonic() - launched
        time.sleep(1.5 + 2 * start)
        sent, begin = time.time(), time.monotonic()
        uptime, now, origin, off = json.loads(worker.request([NODE, script]).text)
    # Like a new process, whose clocks have run for a moment when the script begins.
    asked_for, moment = time.monotonic() - begin, 1 + start
    assert 0 < uptime < asked_for + moment and 0 < now < asked_for + moment and off < 0.1
    assert sent - moment < origin < time.time() + moment


def test_random_numbers_differ(folder):
    script = folder.script("x.js", "const c = require('crypto');\nfor (let i = 0; i < 100; ++i)"
                           "console.log(Math.random(), c.randomUUID(), c.randomBytes(8).toString('hex'))")
    drawn = [word for _ in range(4) for word in ask_once(script).text.split()]
    assert len(drawn) == 1200 == len(set(drawn))


def test_threads_and_children_of_the_script(folder):
    script = folder.script("x.js", """
        const { Worker, isMainThread, parentPort } = require('worker_threads');
        const { fork } = require('child_process');
        if (!isMainThread) parentPort.postMessage([process.argv.length, process.execArgv]);
        else if (process.send) process.send([process.argv, process.execArgv]);
        else {
          new Worker(__filename).on('message', (m) => {
            console.log('thread', m);
            fork(__filename, ['child']).on('message', (m) => console.log('child', m));
          });
        }""")
    answers_like_plain(script)


def test_some_megabytes_of_objects_need_no_collection(folder):
    # A collection would need V8's threads, which the request would have to make.
    script = folder.script("x.js", """
        let collections = 0;
        const count = (list) => { collections += list.getEntries().length; };
        new (require('perf_hooks').PerformanceObserver)(count).observe({ entryTypes: ['gc'] });
        const list = (length) => JSON.parse(`[${'{"name":"x","rank":1.5},'.repeat(length)}0]`).length;
        for (let i = 0; i < 6; ++i) list(5000);
        setTimeout(() => setTimeout(() => console.log(collections), 1), 1);""")
    with stand(script) as zygote:
        worker = zygote.worker()
        for _ in range(3):
            answer = worker.request(zygote.argv, **request_of(script))
            assert (answer.text, answer.code) == ("0\n", 0)


def test_a_child_that_outlives_the_request(folder):
    script = folder.script("x.js", """
        const { spawn } = require('child_process');
        const child = spawn('sleep', ['30'], { detached: true, stdio: 'ignore' });
        child.unref(); console.log(child.pid);""")
    pid = int(ask_once(script).text)
    os.kill(pid, signal.SIGKILL)  # it was still alive


def test_builtin_modules_that_the_program_names_are_loaded_ahead(folder):
    folder.script("lib.js", "module.exports = require('node:zlib')")
    folder.script("never.js", "console.log('loaded')")
    script = folder.script("x.js", """
        const before = process.moduleLoadList.length;
        require('http'); require('./lib'); const { join } = require('path');
        console.log(process.moduleLoadList.length - before);
        if (0) require('./never');""")
    assert int(run_plainly([NODE, script]).text) > 10
    assert int(ask_once(script).text) == 0


def test_what_the_operator_asks_for_is_loaded_ahead_and_named(folder):
    lib = folder.script("node_modules/lib/index.js", "exports.at = process.argv.length;")
    script = folder.script("x.js", "console.log(require('lib').at, process.env.CGIBRIDGE_PRELOAD)")
    with Ahead(script, env={**LAUNCH_ENV, "CGIBRIDGE_PRELOAD": "lib"}) as ahead:
        assert lib in "\n".join(ahead.note(FILE)).split("\n")
        assert ahead.ask(NODE, script, "word").text == "2 undefined\n"


def test_a_preloaded_module_that_reads_the_request_is_noticed(folder):
    folder.script("node_modules/lib/index.js", "exports.who = process.env.REMOTE_USER;")
    script = folder.script("x.js", "console.log(require('lib').who)")
    with Ahead(script, env={**LAUNCH_ENV, "CGIBRIDGE_PRELOAD": "lib"}) as ahead:
        assert not ahead.stands and "REMOTE_USER" in ahead.note(SHALLOWER)[0]


def test_a_preloaded_module_that_speaks_is_noticed(folder):
    folder.script("node_modules/lib/index.js", "console.log('loaded')")
    script = folder.script("x.js", "require('lib')")
    with Ahead(script, env={**LAUNCH_ENV, "CGIBRIDGE_PRELOAD": "lib"}) as ahead:
        assert not ahead.stands and "process.std" in ahead.note(SHALLOWER)[0]


def test_a_reset_that_cannot_be_done_is_not_promised(folder):
    script = folder.script("x.js", "")
    with Ahead(script, reset="rewind") as ahead:
        assert ahead.reset == "fork" and ahead.weaker


def test_without_the_library_the_script_is_plain_cgi(folder):
    script = folder.script("x.js", LOOK_AROUND)
    plain, ours = (run_plainly(argv) for argv in ([NODE, script], node_argv(script)))
    assert ours.seen() == plain.seen()


def test_without_the_library_and_without_a_request_nothing_runs(folder):
    answer = run_plainly(node_argv(folder.script("x.js", "console.log('ran')")), env=LAUNCH_ENV)
    assert answer.stdout == b"" and answer.code != 0
