"""Node with the reset `none`: one process takes requests one after another."""

import pytest

from driver import REQUEST_ENV, run_plainly
from node import NODE, Ahead, needs_node

pytestmark = needs_node


class Again(Ahead):
    def __init__(self, script, **more):
        super().__init__(script, reset="none", **more)
        self.script = script

    def ask(self, *words, **more):
        return super().ask(NODE, self.script, *words, **more)


AGAIN = r"""
globalThis.count = (globalThis.count ?? 0) + 1;
const lib = require('./lib'), kept = require('kept');
console.log(globalThis.count, ++lib.count, ++kept.count, process.argv.slice(2), process.env.QUERY_STRING);
console.log(require.main === module, process.exitCode, process.env.LEFT, process.umask(), process.cwd());
console.log(process.listenerCount('exit'), process.listenerCount('SIGTERM'), process.title);
process.on('exit', (code) => console.log('exit', code));
process.on('SIGTERM', () => {});
process.env.LEFT = 'left'; process.umask(0); process.chdir('/tmp'); process.title = 'changed';
process.exitCode = Number(process.argv[2] ?? 0);
const mine = globalThis.count;
const tick = () => { if (mine !== globalThis.count) console.log('a timer of an earlier request'); };
setInterval(tick, 1).unref();
let body = '';
process.stdin.on('data', (d) => body += d).on('end', () => setTimeout(() => console.log('body', body), 3));
process.stderr.write('error ' + process.argv[2] + '\n');
"""


def test_a_process_that_is_used_again_gets_each_request(folder):
    folder.script("lib.js", "exports.count = 0")
    folder.script("node_modules/kept/index.js", "exports.count = 0")
    script = folder.script("x.js", AGAIN)
    with Again(script) as again:
        assert again.reset == "none"
        first, *rest = [again.ask(str(n), cwd=str(folder.path), body=b"body %d" % n,
                                  env={**REQUEST_ENV, "QUERY_STRING": f"q{n}"}) for n in range(5)]
        assert first.stays
        for n, answer in enumerate(rest, 1):
            assert answer.stays and answer.code == n
            assert answer.text == (first.text.replace("1 1 1", f"{n + 1} 1 {n + 1}", 1)
                                   .replace("'0'", f"'{n}'").replace("q0", f"q{n}")
                                   .replace("body 0", f"body {n}").replace("exit 0", f"exit {n}"))
            assert answer.stderr == b"error %d\n" % n


def test_a_changed_script_is_read_anew(folder):
    script = folder.script("x.js", "console.log('one')")
    with Again(script) as again:
        assert again.ask().text == "one\n"
        folder.script("x.js", "console.log('two')")
        assert again.ask().text == "two\n"


LOADER = r"""
console.log(module, require.main === module, process.mainModule === module);
console.log(require.cache[__filename] === module);
for (const made of [require, require.resolve, require.resolve.paths, module]) {
  console.log(Object.getOwnPropertyDescriptors(made));
}
console.log(this === exports, arguments.length, arguments[1] === require, __filename, __dirname);
console.log(require.resolve('./lib'), require.resolve.paths('x'), module.parent, module.isPreloading);
const lib = require('./lib');
console.log(module.children[0].exports === lib, lib.parent === module, require('./lib') === lib);
setImmediate(() => console.log('late', module.loaded));
var kept = kept ?? 0;
console.log(++kept, (() => { try { require('./nosuch'); } catch (e) { return e.requireStack; } })());
"""


def test_the_main_module_is_as_new_in_each_request(folder):
    folder.script("lib.js", "exports.parent = module.parent")
    with Again(folder.script("x.js", LOADER)) as again:
        first, *rest = [again.ask() for _ in range(4)]
        assert first.code == 0 and "late true" in first.text
        for answer in rest:
            assert answer.stays and (answer.text, answer.stderr) == (first.text, b"")


def test_a_main_module_may_import(folder):
    folder.script("late.mjs", "export const word = 'late'")
    script = folder.script("x.js", "import('./late.mjs').then((late) => console.log(late.word))")
    with Again(script) as again:
        assert [again.ask().seen() for _ in range(3)] == [(b"late\n", b"", 0)] * 3


def test_a_script_that_breaks_between_two_requests(folder):
    script = folder.script("x.js", "console.log('whole')")
    with Again(script) as again:
        assert [again.ask().text for _ in range(3)] == ["whole\n"] * 3
        folder.script("x.js", "console.log('never');\nlet let = 1;\n")
        answer = again.ask()
        assert not answer.stays and answer.text == "" and answer.code == 1
        assert b"SyntaxError" in answer.stderr and script.encode() in answer.stderr


@pytest.mark.parametrize("end", [
    "process.exit(3)", "throw new Error('x')", "Promise.reject(new Error('x'))",
    "require('net').createServer().listen(0).unref()", "process.kill(process.pid, 'SIGTERM')",
    "process.on('exit', () => setTimeout(() => console.log('never'), 1))",
    "require('child_process').spawn('sleep', ['2'], { stdio: 'ignore' }).unref()"])
def test_an_end_after_which_a_process_is_not_used_again(folder, end):
    script = folder.script("x.js", f"console.log('begin');\n{end}\n")
    plain = run_plainly([NODE, script])
    with Again(script) as again:
        answer = again.ask()
        assert not answer.stays and answer.seen() == plain.seen()


@pytest.mark.parametrize("end", ["process.exit(3)", "throw new Error('x')", "nothing()"])
def test_an_end_in_a_later_request(folder, end):
    script = folder.script("x.js", f"console.log('begin');\nif (process.argv[2]) {end};\n")
    plain = run_plainly([NODE, script, "now"])
    with Again(script) as again:
        assert again.ask().stays
        answer = again.ask("now")
        assert not answer.stays and (answer.stdout, answer.code) == (plain.stdout, plain.code)


def test_big_outputs_of_a_process_that_is_used_again(folder):
    script = folder.script("x.js", "process.stdin.resume().on('end', () => "
                           "process.stdout.write('x'.repeat(2_000_000), () => console.log('end')))")
    with Again(script) as again:
        for _ in range(4):
            answer = again.ask(body=b"y" * 60000)
            assert answer.stays and len(answer.stdout) == 2_000_004


def test_its_memory_does_not_grow(folder):
    script = folder.script("x.js", "const all = 'x'.repeat(1e5).split('');\n"
                           "console.log(process.memoryUsage().rss)")
    with Again(script, switches=("--max-old-space-size=40",)) as again:
        sizes = [int(again.ask().text) for _ in range(600)]
    assert max(sizes[400:]) < 1.3 * max(sizes[100:200]) + 20e6


@pytest.mark.parametrize("name, package", [("x.mjs", "{}"), ("x.js", '{"type": "module"}')])
def test_an_es_module_is_not_used_again(folder, name, package):
    folder.script("package.json", package)
    script = folder.script(name, "console.log(import.meta.url)")
    with Again(script) as again:
        assert again.reset == "fork" and "ES module" in again.weaker
        answer = again.ask()
        assert not answer.stays and answer.seen() == run_plainly([NODE, script]).seen()
