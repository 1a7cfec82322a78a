"""Modules of a Node program are loaded ahead, up to the first that does what only a request can do. Whatever
one does, the answers are a plain process's."""

import os
import re
import time

import pytest

import driver
from driver import run_plainly
from node import NODE, found_by_trial, needs_node, request_of, seen, stand

pytestmark = [needs_node, pytest.mark.skipif(os.uname().machine != "x86_64", reason="threads stay elsewhere")]
LEVELS = {1: "linked", 2: "booted", 3: "compiled"}
MAIN = """#!/usr/bin/node
'use strict';
const first = require('./first');
const what = require('./what');
process.stdout.write(`Content-Type: text/plain\\n\\n${first} ${what.value} ${process.env.QUERY_STRING}\\n`);
"""

# The same as an ES module: its imports are loaded ahead, if all of them may be.
IMPORTS = """#!/usr/bin/node
// A comment, then
import first from './first.js';
import what from './what.js';
import * as more from './module.mjs';

const words = [first, what.value, process.env.QUERY_STRING, more.x];
process.stdout.write(`Content-Type: text/plain\\n\\n${words.join(' ')}\\n`);
"""
OF_COMMON_JS = {"main", "others"}  # look at require.main, and at an order that is not the same each time

# Each is a module's text, and the same in every process: it is loaded ahead.
AHEAD = {
    "nothing": "",
    "computes": "let sum = 0; for (let i = 0; i < 1000; ++i) sum += i; exports.value = sum;",
    "reads a file": "exports.value = require('fs').readFileSync('/etc/hostname', 'utf8').length;",
    "reads its own file": "exports.value = require('fs').readFileSync(__filename).length;",
    "opens and closes": "const fs = require('fs'); const fd = fs.openSync('/etc/hostname');"
                        "exports.value = fs.readSync(fd, Buffer.alloc(9)); fs.closeSync(fd);",
    "looks": "exports.value = require('fs').existsSync('/nonexistent');",
    "lists": "exports.value = require('fs').readdirSync('/etc/apt').length > 0;",
    "asks for a setting": "exports.value = process.env.SERVER_SOFTWARE + process.env.NONE;",
    "asks for a setting's being there": "exports.value = 'SERVER_SOFTWARE' in process.env;",
    "platform": "exports.value = process.platform + process.version + require('os').EOL + process.arch;",
    "folder": "exports.value = process.cwd();",
    "hashes": "exports.value = require('crypto').createHash('sha256').update('a').digest('hex');",
    "packs": "exports.value = require('zlib').gunzipSync(require('zlib').gzipSync('a')) + '';",
    "keeps functions":
        "const { randomBytes } = require('crypto'); const { now } = Date; const { random } = Math;"
        "exports.make = () => [randomBytes(4).length, now() > 1e12, random() < 1].join();",
    "extends": "class Own extends require('net').Socket {} exports.value = Own.name;",
    "an agent": "exports.value = new (require('https').Agent)({ keepAlive: true }).maxSockets;",
    "promises": "exports.value = 0; Promise.resolve().then(() => { exports.value = 1; });",
    "microtask": "exports.value = 0; queueMicrotask(() => { exports.value += 1; });",
    "next tick": "exports.value = 0; process.nextTick(() => { exports.value += 2; });",
    "at exit": "process.on('exit', () => require('fs').writeSync(1, 'end\\n'));",
    "isatty": "exports.value = require('tty').isatty(1);",
    "words": "exports.value = process.argv.length + process.argv.slice(2).join();",
    "the streams":
        "exports.value = [process.stdout.isTTY, process.stderr.fd, "
        "process.stdout.writableLength].join();",
    "a blocking stream": "process.stdout._handle.setBlocking(true); exports.value = 1;",
    "a type": "exports.value = typeof process.pid;",
    "promisify": "exports.value = require('util').promisify(setTimeout).name;",
    "a date's text": "exports.value = Date.parse('2020-01-01') + Date.UTC(2020);",
    "json": "exports.value = require('./data.json').x;",
    "a missing module": "try { require('./nowhere'); } catch (error) { exports.value = error.code; }",
    "patches": "const fs = require('fs'); const was = fs.readFileSync;"
               "fs.readFileSync = function (...more) { return was.apply(this, more); }; exports.value = 1;",
    "main": "exports.value = require.main.filename.slice(-8) + require.main.loaded + module.parent.loaded;",
    "itself": "exports.value = require('util').inspect(module, { depth: 0 }).split('\\n').map((l) => "
              "l.trim().split(':')[0]).join();",
    "others":
        "exports.value = Object.keys(require.cache).map((name) => name.slice(-8)).join() + JSON.stringify("
              "Object.values(require.cache).map((module) => [module.loaded, module.id.slice(-8)]));",
    "webassembly": "exports.value = WebAssembly.validate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));",
    "leaves a file open":
        "exports.value = require('fs').readSync(require('fs').openSync('/etc/hostname'), "
        "Buffer.alloc(2));",
    "rejects": "Promise.reject(new Error('rejected'));",
    "imports a file": "import('./module.mjs').then(() => process.stdout.write('imported\\n'));",
    "imports": "import('fs').then(() => process.stdout.write('imported\\n'));",
}

# Each differs between processes or requests, or does something outside: a request does it.
IN_REQUEST = {
    "the time": "exports.value = Date.now() > 1e12;",
    "a date": "exports.value = new Date() > 0;",
    "a date as text": "exports.value = Date().length > 5;",
    "a date by format": "exports.value = new Intl.DateTimeFormat('en').format().length > 3;",
    "a date by constructor": "exports.value = new (new Date(0).constructor)() > 0;",
    "a clock": "exports.value = performance.now() > 0;",
    "another clock": "exports.value = process.hrtime()[0] >= 0;",
    "a big clock": "exports.value = process.hrtime.bigint() > 0n;",
    "age": "exports.value = process.uptime() > 0;",
    "origin": "exports.value = performance.timeOrigin > 0;",
    "a timer of console": "console.time('a'); exports.value = 1;",
    "random": "exports.value = Math.random() < 1;",
    "bytes": "exports.value = require('crypto').randomBytes(4).length;",
    "uuid": "exports.value = require('crypto').randomUUID().length;",
    "values": "exports.value = crypto.getRandomValues(new Uint8Array(2)).length;".replace(
        "crypto.get", "require('crypto').webcrypto.get"),
    "keys": "exports.value = require('crypto').generateKeyPairSync('ed25519').publicKey.type;",
    "a file of the kernel": "exports.value = require('fs').readFileSync('/etc/../proc/uptime').length > 1;",
    "a look at the kernel": "exports.value = require('fs').existsSync('/proc/self/fd/3') || 1;",
    "a list of the kernel": "exports.value = require('fs').readdirSync('/proc').length > 1;",
    "an event": "exports.value = new Event('x').timeStamp > 0;",
    "the urandom file": "exports.value = require('fs').openSync('/dev/urandom') > 0;",
    "uptime": "exports.value = require('os').uptime() > 0;",
    "load": "exports.value = require('os').loadavg().length;",
    "memory": "exports.value = process.memoryUsage().rss > 0;",
    "used": "exports.value = process.cpuUsage().user >= 0;",
    "heap": "exports.value = require('v8').getHeapStatistics().total_heap_size > 0;",
    "pid": "exports.value = process.pid > 1;",
    "parent": "exports.value = process.ppid > 0;",
    "a timer": "setTimeout(() => process.stdout.write('timer\\n'), 5);",
    "an interval":
        "const t = setInterval(() => { clearInterval(t); process.stdout.write('interval\\n'); }, "
        "5);",
    "an immediate": "setImmediate(() => process.stdout.write('immediate\\n'));",
    "reads later": "require('fs').readFile('/etc/hostname', () => process.stdout.write('read\\n'));",
    "promises to read":
        "require('fs').promises.readFile('/etc/hostname').then(() => "
        "process.stdout.write('read\\n'));",
    "a stream":
        "require('fs').createReadStream('/etc/hostname').on('end', () => "
        "process.stdout.write('read\\n')).resume();",
    "writes": "require('fs').writeFileSync('/nonexistent/x', '');".replace(
        "require('fs')", "try { require('fs')") + " } catch (error) { exports.value = error.code; }",
    "appends": "require('fs').appendFileSync(process.env.OWN + '/log', 'x'); exports.value = 1;",
    "opens to write": "require('fs').closeSync(require('fs').openSync(process.env.OWN + '/log', 'a'));",
    "removes": "require('fs').rmSync(process.env.OWN + '/none', { force: true }); exports.value = 1;",
    "a child": "exports.value = require('child_process').execSync('echo hello') + '';",
    "connects":
        "require('net').connect('/nonexistent').on('error', (error) => "
        "process.stdout.write(error.code));",
    "looks up": "require('dns').lookup('127.0.0.1', () => process.stdout.write('found\\n'));",
    "a thread": "new (require('worker_threads').Worker)('1', { eval: true }).on('exit', () => "
                "process.stdout.write('thread\\n'));",
    "channel": "const { port1 } = new MessageChannel(); port1.close(); exports.value = 1;",
    "all variables": "exports.value = Object.keys(process.env).sort().join();",
    "a copy of all": "const env = { ...process.env }; exports.value = env.QUERY_STRING;",
    "all as text": "exports.value = JSON.stringify(process.env).length > 9;",
    "all in a loop": "let n = 0; for (const name in process.env) n += name.length; exports.value = n;",
    "all by inspection": "exports.value = require('util').inspect(process.env).length > 9;",
    "all serialized":
        "try { exports.value = require('v8').serialize(process.env).length > 9; } "
        "catch (error) { exports.value = error.name; }",
    "all names": "exports.value = Reflect.ownKeys(process.env).length > 3;",
    "a prime": "exports.value = require('crypto').DiffieHellman(64).getPrime().length;",
    "waits": "exports.value = Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);",
    "a script elsewhere":
        "exports.value = new (require('v' + 'm').Script)('Math.random() < 1').runInNewContext();",
    "a scheduler":
        "require('timers/promises').scheduler.wait(5).then(() => process.stdout.write('waited\\n'));",
    "the query": "exports.value = process.env.QUERY_STRING;",
    "a header": "exports.value = process.env.HTTP_HOST;",
    "a header's being there": "exports.value = 'HTTP_HOST' in process.env;",
    "sets": "process.env.SET = 'x'; exports.value = process.env.SET;",
    "removes a variable": "delete process.env.SERVER_SOFTWARE; exports.value = process.env.SERVER_SOFTWARE;",
    "the input": "exports.value = require('fs').readFileSync(0, 'utf8');",
    "the input's stream": "process.stdin.on('data', (data) => process.stdout.write(data)).resume();",
    "prints": "process.stdout.write('early\\n');",
    "logs": "console.log('early');",
    "warns": "console.error('early');",
    "prints by number": "require('fs').writeSync(1, 'early\\n');",
    "prints by debugging": "process._rawDebug('early');",
    "ends": "process.exit(3);",
    "ends by its loop": "process.exitCode = 4; process.stdout.write('x');",
    "throws": "throw new Error('thrown');",
    "throws a word": "throw 'word';",
    "goes elsewhere": "process.chdir('/usr'); exports.value = process.cwd();",
    "masks": "process.umask(0o77); exports.value = process.umask();",
    "a title": "process.title = 'own'; exports.value = process.title;",
    "a signal's handler":
        "process.on('SIGUSR2', () => {}); exports.value = "
        "process.listenerCount('SIGUSR2');",
    "binding": "exports.value = typeof process.binding;"
               " try { process.binding('natives'); } catch (error) { exports.value = error.code; }",
    "compiles later": "WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])).then(() => "
                      "process.stdout.write('compiled\\n'));",
    "fetches": "exports.value = typeof fetch === 'function' && fetch.length;",
    "packs later": "require('zlib').gzip('a', () => process.stdout.write('packed\\n'));",
    "a warning": "process.emitWarning('careful'); exports.value = 1; process.stdout.write('');",
    "for long": "const end = require('fs').existsSync('/nonexistent'); let n = 0;"
                "while (n < 3e10 && !end) n += 1; exports.value = n;",
}
SLOW = {"for long"}
SEEN_LATER = {"all serialized"}  # fails for what stands for process.env in a trial


@pytest.fixture
def program(tmp_path):
    def program(what, main=MAIN, name="main.js"):
        for file, text in (("first.js", "module.exports = 'first';"), ("what.js", what), (name, main),
                           ("data.json", '{"x": 5}'), ("module.mjs", "export const x = 5;")):
            (tmp_path / file).write_text(text)
        return str(tmp_path / name)
    return program


def answers_as_plainly(zygote, script, times=3):
    """A plain process is asked once, because its answers differ only by the query's text."""
    plain = seen(run_plainly([NODE, script], **request_of(script, QUERY_STRING="query-0")))
    for number in range(times):
        query = b"query-%d" % number
        out, error, code = seen(zygote.ask(**request_of(script, QUERY_STRING=query.decode())))
        assert (out.replace(query, b"query-0"), error, code) == plain
        assert query in out or b"query-0" not in plain[0]


@pytest.mark.parametrize("what", AHEAD)
@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_what_is_the_same_in_every_process_is_loaded_ahead(program, reset, what):
    script = program(AHEAD[what])
    with stand(script, reset) as zygote:
        count, _, why = found_by_trial(zygote)
        assert (count, LEVELS[zygote.level]) == (3 if what == "json" else 2, "compiled"), why
        assert zygote.reset == reset
        answers_as_plainly(zygote, script)
        assert zygote.workers == (1 if reset == "rewind" else 3) and zygote.retired == []


@pytest.mark.parametrize("what", [what for what in IN_REQUEST if what not in SLOW])
def test_what_only_a_request_can_do_is_left_to_it(program, what):
    script = program(IN_REQUEST[what])
    with stand(script) as zygote:
        count, level = (0, "booted") if what in SEEN_LATER else (1, "compiled")
        assert found_by_trial(zygote)[0] == count and LEVELS[zygote.level] == level
        assert not os.path.exists(os.path.join(os.path.dirname(script), "log"))
        answers_as_plainly(zygote, script)


@pytest.mark.parametrize("what", [what for what in AHEAD if what not in OF_COMMON_JS])
def test_imports_that_are_the_same_in_every_process_are_loaded_ahead(program, what):
    script = program(AHEAD[what], IMPORTS, "main.mjs")
    with stand(script) as zygote:
        count, _, why = found_by_trial(zygote)
        assert (count, LEVELS[zygote.level]) == ("imports", "compiled"), why
        answers_as_plainly(zygote, script)
        assert zygote.retired == []


@pytest.mark.parametrize("what", [what for what in IN_REQUEST if what not in SLOW])
def test_imports_that_only_a_request_can_do_are_left_to_it(program, what):
    script = program(IN_REQUEST[what], IMPORTS, "main.mjs")
    with stand(script) as zygote:
        assert found_by_trial(zygote)[0] == 0 and LEVELS[zygote.level] == "booted"
        assert not os.path.exists(os.path.join(os.path.dirname(script), "log"))
        answers_as_plainly(zygote, script)


BEGINNINGS = {
    "comments": "/* one\n two */ // three\nimport first from './first.js'; // four\nimport './what.js';",
    "a directive": "'use strict'\nimport first from './first.js'\nimport './what.js'",
    "several lines": "import {\n  x,\n} from './module.mjs';\nconst first = x;",
    "everything": "import * as all from './module.mjs';\nconst first = all.x;",
    "a builtin": "import fs, { existsSync } from 'node:fs';\nconst first = fs.existsSync === existsSync;",
    "for its effect": "import './what.js';\nconst first = 1;",
    "line ends of two": "import first from './first.js';\r\nimport './what.js';\r\n",
    "one line": "import first from './first.js'; import './what.js';",
    "no import": "const { default: first } = await import('./first.js');",
    "an export": "export const first = 1;\nimport './what.js';",
    "import.meta": "const first = import.meta.url.slice(-8);\nimport './what.js';",
    "a parenthesis": "import first from './first.js'\n(function () {})()",
    "a bracket": "import first from './first.js' // and\n[1].map(String)",
    "a byte order mark": "\ufeffimport first from './first.js';\n",
    "other letters": "// \u00fc\u20ac\U0001f600\nimport first from './first.js';\nconst word = '\u00fc';",
    "waits": "import first from './first.js';\nawait null;",
}


@pytest.mark.parametrize("end", ["", "null.x;"])
@pytest.mark.parametrize("begin", BEGINNINGS)
def test_a_module_may_begin_in_any_way(program, begin, end):
    prints = "process.stdout.write(`\\n\\n${first} ${process.env.QUERY_STRING}\\n`);"
    script = program("", "\n".join([BEGINNINGS[begin], prints, end, ""]), "main.mjs")
    with stand(script) as zygote:
        is_known = begin not in ("one line", "no import", "an export", "import.meta")
        assert (found_by_trial(zygote)[0] == "imports") == is_known
        answers_as_plainly(zygote, script)


# Node has read the module by the threads of libuv's pool, which requests use as well.
WITH_POOL = """import first from './first.js';
import { readFile } from 'fs/promises';
import { execSync } from 'child_process';
import { scrypt } from 'crypto';
import { gzip } from 'zlib';
const packed = (bytes) => new Promise((done) => gzip('x'.repeat(bytes), (error, data) => done(data.length)));
const key = new Promise((done) => scrypt('a', 'b', 16, (error, data) => done(data.toString('hex'))));
console.log('Content-Type: text/plain\\n');
const texts = await Promise.all(Array.from({ length: 20 }, () => readFile('/etc/hostname', 'utf8')));
const child = execSync('echo a child').toString();
console.log(first, texts.length, await packed(1e5), await key, child, process.env.QUERY_STRING);
END
"""


@pytest.mark.parametrize("end", ["", "process.exit(3);", "throw new Error('own');", "process.title = 'own';",
                                 "setTimeout(() => process.exit(4), 5);", "readFile('/etc/hostname');"])
@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_threads_of_the_pool_serve_each_request(program, end, reset):
    script = program("", WITH_POOL.replace("END", end), "main.mjs")
    with stand(script, reset) as zygote:
        assert found_by_trial(zygote)[0] == "imports"
        answers_as_plainly(zygote, script, times=5)
        assert zygote.retired == []


@pytest.mark.parametrize("main, name, found", [(MAIN, "main.js", 2), (IMPORTS, "main.mjs", "imports")])
def test_modules_that_the_first_line_names_come_before(program, tmp_path, main, name, found):
    script = program("", main, name)
    (tmp_path / "early.js").write_text("globalThis.early = require('./data.json').x;")
    switches = ["--require", str(tmp_path / "early.js"), "--stack-trace-limit=5"]
    with stand(script, switches=switches) as zygote:
        assert found_by_trial(zygote)[0] == found
        for query in ("a", "b"):
            request = request_of(script, QUERY_STRING=query)
            assert seen(zygote.ask(**request)) == seen(run_plainly([NODE, *switches, script], **request))


def test_a_package_may_make_it_a_module(program, tmp_path):
    (tmp_path / "package.json").write_text('{"type": "module"}')
    script = program("", BEGINNINGS["several lines"] + "\nconsole.log(first);", "main.js")
    with stand(script) as zygote:
        assert found_by_trial(zygote)[0] == "imports"
        answers_as_plainly(zygote, script)


def test_a_file_that_asks_for_its_own_text_finds_it(program):
    script = program("", IMPORTS + "import fs from 'fs';\n"
                     "process.stdout.write(fs.readFileSync(new URL(import.meta.url), 'utf8'));", "main.mjs")
    with stand(script) as zygote:
        assert found_by_trial(zygote)[0] == "imports"
        answers_as_plainly(zygote, script)


def test_a_process_that_goes_another_way_than_its_trial_loads_nothing(program):
    script = program("const isTried = require('util').types.isProxy(process.env);"
                     "require(isTried ? './data.json' : './module.js'); exports.value = 1;")
    with open(os.path.join(os.path.dirname(script), "module.js"), "w", encoding="utf-8") as file:
        file.write("exports.value = Math.random();")
    with stand(script) as zygote:
        count, _, why = found_by_trial(zygote)
        assert (count, why, LEVELS[zygote.level]) == (0, "loads other modules than before", "booted")
        answers_as_plainly(zygote, script)


def test_what_takes_long_is_left_to_the_requests(program):
    script = program(IN_REQUEST["for long"])
    with stand(script) as zygote:
        count, _, why = found_by_trial(zygote)
        assert (count, why, LEVELS[zygote.level]) == (1, "takes long", "compiled")


def test_nothing_to_load_ahead(program):
    script = program("", main="process.stdout.write('Content-Type: text/plain\\n\\nhello\\n');")
    with stand(script) as zygote:
        assert found_by_trial(zygote)[0] == 0 and LEVELS[zygote.level] == "booted"
        answers_as_plainly(zygote, script)


KEPT = """
const { randomBytes, randomUUID, randomInt } = require('crypto');
const { random } = Math;
const { now } = Date;
const { performance, process: { hrtime, uptime } } = globalThis;
exports.make = () => [randomBytes(8).toString('hex'), randomUUID(), randomInt(1e12), random(), now(),
                      performance.now() < 2000, hrtime().length, uptime() < 2].join(' ');
"""


@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_functions_that_a_module_kept_give_each_request_its_own(program, reset):
    script = program(KEPT, main="const { make } = require('./what'); console.log(make());")
    with stand(script, reset) as zygote:
        assert found_by_trial(zygote)[0] == 1
        time.sleep(2.5)  # the zygote is older than its requests
        answers = [zygote.ask(**request_of(script)).text.split() for _ in range(40)]
    for drawn in zip(*(answer[:4] for answer in answers)):
        assert len(set(drawn)) == 40
    assert {tuple(answer[5:]) for answer in answers} == {("true", "2", "true")}
    times = [int(answer[4]) for answer in answers]
    assert times == sorted(times) and times[0] > time.time() * 1000 - 60_000


@pytest.mark.parametrize("what", ["words", "nothing"])
def test_a_request_with_words_gets_them(program, what):
    script = program(AHEAD[what], main=MAIN + "process.stdout.write(process.argv.slice(2).join('|'));")
    with stand(script) as zygote:
        assert ("words" in found_by_trial(zygote)[1]) == (what == "words")
        for words in (["a", "b c"], [], ["--color"]):
            request = request_of(script)
            assert seen(zygote.ask(*words, **request)) == seen(run_plainly([NODE, script, *words], **request))


@pytest.mark.parametrize("zone", ["Asia/Tokyo", None])
def test_a_request_has_its_own_time_zone(program, zone):
    script = program("exports.value = Intl.DateTimeFormat().resolvedOptions().timeZone;")
    with stand(script, TZ="Europe/Paris") as zygote:
        for env in ({"TZ": "Europe/Paris"}, {} if zone is None else {"TZ": zone}):
            request = request_of(script, **env)
            assert seen(zygote.ask(**request)) == seen(run_plainly([NODE, script], **request))


@pytest.mark.parametrize("what", ["the streams", "a blocking stream", "nothing"])
def test_a_stream_is_switched_when_node_makes_it(program, what):
    """To non-blocking, and not before."""
    script = program(AHEAD[what], main="require('./what'); const fs = require('fs');"
                     "fs.writeSync(1, /flags.*/.exec(fs.readFileSync('/proc/self/fdinfo/1'))[0]);")
    with stand(script) as zygote:
        assert ("stream1" in found_by_trial(zygote)[1]) == (what != "nothing")
        answers_as_plainly(zygote, script)


def test_many_modules_in_each_others_folders(program, tmp_path):
    lines = []
    for number in range(60):
        folder = tmp_path / "node_modules" / f"m{number}"
        folder.mkdir(parents=True)
        below = f"require('m{number + 1}');" if number < 59 else ""
        (folder / "index.js").write_text(f"{below} let calls = 0; exports.next = () => ++calls + {number};")
        lines.append(f"require('m{number}').next()")
    script = program("", main=f"console.log([{', '.join(lines)}].join());")
    with stand(script) as zygote:
        assert found_by_trial(zygote)[0] == 60
        answers_as_plainly(zygote, script)
        files = "\n".join(zygote.note(driver.FILE)).split("\n")
        assert all(f"{tmp_path}/node_modules/m{number}/index.js" in files for number in range(60))


# Called as often as is nearly enough for Node 18 and 20 to optimise it; from 22 on V8 counts otherwise.
HOT = """let sum = 0;
const hot = (x) => {
%s  return sum;
};
for (let i = 0; i < (parseInt(process.versions.v8) < 11 ? 340 : 550); ++i) hot(i);
module.exports = hot;""" % ("  sum = (sum * 3 + x) & 1023; sum = (sum ^ x) + 7;\n" * 30)
IS_OPTIMISED = """const hot = require('./what.js');
require('v8').setFlagsFromString('--allow-natives-syntax');
const status = new Function('f', 'return %GetOptimizationStatus(f)');
for (let i = 0; i < 100; ++i) hot(i);
setTimeout(() => { hot(1); console.log(parseInt(process.versions.v8) < 12 ? status(hot) & 16 : 0); }, 30);"""


def test_what_is_nearly_hot_at_the_checkpoint_is_not_optimised_in_each_request(program):
    script = program(HOT, IS_OPTIMISED)
    with stand(script) as zygote:
        assert found_by_trial(zygote)[0] == 1
        worker = zygote.worker()
        assert [worker.request(zygote.argv, **request_of(script)).text for _ in range(2)] == ["0\n"] * 2
