"""What shows a module a clock, a chance, a process or a file's times without asking for it by name ends a
trial as well: no visitor gets what another process was shown."""

import os

import pytest

from driver import run_plainly
from node import found_by_trial, needs_node, request_of, seen, stand

pytestmark = [needs_node, pytest.mark.skipif(os.uname().machine != "x86_64", reason="threads stay elsewhere")]

# Each is an expression, and differs between processes or with time.
SHOWN = {
    "a node's own times": "performance.nodeTiming.duration",
    "an event's time": "(() => { let when; const control = new AbortController(); control.signal.onabort ="
                       "(event) => { when = event.timeStamp; }; control.abort(); return when; })()",
    "an event's class": "new Event.prototype.constructor('x').timeStamp",
    "an event's class by another": "new (Object.getPrototypeOf(CustomEvent))('x').timeStamp",
    "a mark's class": "new PerformanceMark.prototype.constructor('x').startTime",
    "a key's class": "new (require('crypto').ECDH.prototype.constructor)('secp256k1').generateKeys('hex')",
    "a server's class": "typeof new (require('net').Server.prototype.constructor)().listen",
    "a descriptor": "Object.getOwnPropertyDescriptor(process, 'pid').value",
    "a reflected descriptor": "Reflect.getOwnPropertyDescriptor(process, 'pid').value",
    "all descriptors": "Object.getOwnPropertyDescriptors(process).pid.value",
    "a getter": "process.__lookupGetter__('pid') ?? process.pid",
    "an inspection": "require('util').inspect({ process }, { depth: 1 })",
    "a format": "require('util').format('%O', process)",
    "standard output": "require('fs').fstatSync(1).ino",
    "standard output's time": "require('fs').fstatSync(1, { bigint: true }).mtimeNs > 0n",
    "when a file was read": "require('fs').statSync('/etc/hostname').atimeMs",
    "a folder's time": "require('fs').lstatSync('/tmp').mtimeMs",
    "how much is in a folder": "require('fs').statSync('/tmp').nlink",
    "a whole status": "require('util').inspect(require('fs').statSync('/tmp')).length > 9",
    "a drawn name": "URL.createObjectURL(new Blob(['a']))",
    "a path by libc": "require('fs').realpathSync.native('/proc/self')",
    "a rare module": "typeof process.getBuiltinModule('node:test')",
}
# The same in every process: still loaded ahead.
ALIKE = {
    "kinds": "const { statSync } = require('fs'); exports.value = [statSync('/tmp').isDirectory(),"
             "statSync('/etc/hostname').size > 0, statSync('/etc/hostname').mtimeMs > 0].join();",
    "descriptors": "exports.value = Object.keys(Object.getOwnPropertyDescriptors({ a: 1 })).join() +"
                   "typeof Object.getOwnPropertyDescriptor(process, 'version').value;",
    "listens": "exports.value = 0; new EventTarget().addEventListener('x', () => {});",
    "classes": "class Own extends Event {} exports.value = [Own.prototype instanceof Event,"
               "require('net').Socket.prototype.constructor === require('net').Socket].join();",
    "inspects": "exports.value = require('util').inspect({ a: [1], b: new Map() });",
}


@pytest.fixture
def program(tmp_path):
    def program(what):
        (tmp_path / "what.js").write_text(what)
        (tmp_path / "main.js").write_text("console.log(require('./what').value, process.env.QUERY_STRING);")
        return str(tmp_path / "main.js")
    return program


@pytest.mark.parametrize("what", SHOWN)
def test_what_is_shown_without_being_asked_for_is_left_to_the_request(program, what):
    script = program(f"exports.value = {SHOWN[what]};")
    with stand(script) as zygote:
        assert found_by_trial(zygote)[0] == 0
        answer, plain = zygote.ask(**request_of(script)), run_plainly(zygote.argv, **request_of(script))
        assert (answer.code, answer.stderr) == (plain.code, plain.stderr)


def test_with_its_internals_exposed_a_program_has_nothing_loaded(program):
    script = program("const { internalBinding } = require('internal/test/binding');"
                     "exports.value = typeof internalBinding('os').getUptime;")
    with stand(script, switches=("--expose-internals",)) as zygote:
        assert zygote.level == 2  # booted
        request = request_of(script)
        assert seen(zygote.ask(**request)) == seen(run_plainly(zygote.argv, **request))


@pytest.mark.parametrize("what", ALIKE)
def test_what_looks_alike_is_loaded_ahead(program, what):
    script = program(ALIKE[what])
    with stand(script) as zygote:
        count, _, why = found_by_trial(zygote)
        assert count == 1, why
        request = request_of(script)
        assert seen(zygote.ask(**request)) == seen(run_plainly(zygote.argv, **request))
