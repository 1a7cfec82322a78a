"""Modules that replace, freeze or extend what belongs to the language or to Node: what the adapter does after
the checkpoint does not depend on it, or they are not loaded ahead."""

import os

import pytest

from driver import run_plainly
from node import found_by_trial, needs_node, NODE, request_of, seen, stand

pytestmark = [needs_node, pytest.mark.skipif(os.uname().machine != "x86_64", reason="threads stay elsewhere")]

MAIN = """require('./what');
const { random } = Math;
console.log(process.pid === require('worker_threads').threadId, random() === random(), process.argv.length,
            process.argv.slice(2).join(), process.cwd(), process.env.QUERY_STRING);
"""
# Each is a module's text; whether it is still loaded ahead.
MODULES = {
    "argv frozen": ("Object.freeze(process.argv);", True),
    "argv longer": ("process.argv.push('more');", False),
    "no new properties": ("Object.preventExtensions(process);", True),
    "Error frozen": ("Object.freeze(Error);", True),
    "a getter for all objects": ("Object.prototype.get = undefined;", False),
    "chdir replaced": ("process.chdir = () => { throw new Error('replaced'); };", True),
    "defineProperty replaced": ("Object.defineProperty = () => {};", True),
    "Number replaced": ("const { Number } = globalThis;"
                        "globalThis.Number = (text) => Number(text) + 1;", False),
    "test replaced": ("const { exec } = RegExp.prototype; RegExp.prototype.test ="
                      "function (text) { return exec.call(this, text) === null; };", False),
    "shift replaced": ("Array.prototype.shift = () => { throw new Error('replaced'); };", False),
}


@pytest.fixture
def program(tmp_path):
    def program(what, main=MAIN):
        (tmp_path / "what.js").write_text(what)
        (tmp_path / "main.js").write_text(main)
        return str(tmp_path / "main.js")
    return program


def is_answered_as_plainly(zygote, script, *words):
    plain = seen(run_plainly([NODE, script, *words], **request_of(script)))
    for _ in range(2):
        assert seen(zygote.ask(*words, **request_of(script))) == plain


@pytest.mark.parametrize("what", MODULES)
def test_whatever_modules_replace_each_request_is_answered_as_plainly(program, what):
    text, is_ahead = MODULES[what]
    script = program(text)
    with stand(script) as zygote:
        assert found_by_trial(zygote)[0] == is_ahead, found_by_trial(zygote)
        is_answered_as_plainly(zygote, script)
        is_answered_as_plainly(zygote, script, "a word")
