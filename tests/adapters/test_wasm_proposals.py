"""What WebAssembly has had since its first version: a module either runs, or is refused in words."""

import driver
import pytest
from harness.components import run as maker
from harness.modules import RUNNER, need_runner

MEMORY = '(memory (export "memory") 1)'
WAIT = "(drop (memory.atomic.wait32 (i32.const 0) (i32.const 0) (i64.const -1)))"
# Fields of the module, what _start does, and what is said; None: it runs.
MODULES = {
    "memory64": ('(memory (export "memory") i64 1)', "(i32.store (i64.const 65532) (i32.const 1))",
                 None),
    "several memories": (MEMORY + "(memory $b 1)", "(i32.store $b (i32.const 0) (i32.const 7))", None),
    "memories beyond the limit": (MEMORY + "(memory 900) (memory 900)", "", "limit of memory is 67108864"),
    "vectors": (MEMORY, "(drop (i8x16.add (v128.const i64x2 1 2) (v128.const i64x2 3 4)))", None),
    "tail calls": (MEMORY + """(func $t (param i32) (result i32)
        (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 0))
            (else (return_call $t (i32.sub (local.get 0) (i32.const 1))))))""",
                   "(drop (call $t (i32.const 1000000)))", None),
    "shared memory": ('(memory (export "memory") 1 2 shared)', WAIT, "threads must be enabled"),
    "atomics": (MEMORY, WAIT, "threads support is not enabled"),
    "exceptions": (MEMORY + "(tag $e)", "(throw $e)", "exceptions proposal not enabled"),
    "garbage collection": (MEMORY + "(type $s (struct (field i32)))",
                           "(drop (struct.new $s (i32.const 1)))", "gc types are disabled"),
    "a table of all elements": (MEMORY + "(table 4294967295 funcref)", "", "exceeds table limits"),
    "a table that grows": (MEMORY + "(table $t 0 funcref)", """(loop $more (br_if $more
        (i32.ne (table.grow $t (ref.null func) (i32.const 100000)) (i32.const -1))))""", None),
    "recursion before _start": (MEMORY + "(func $s (call $s)) (start $s)", "", "call stack exhausted"),
    "locals that fill the stack": (MEMORY + f"(func $r (local {'i64 ' * 40000}) (call $r))", "(call $r)",
                                   "call stack exhausted"),
    "900 arguments": (MEMORY + f"(func $f (param {'i64 ' * 900}))", "(i64.const 1)" * 900 + "(call $f)",
                      None),
    "a memory that is a function": ('(memory 1) (func (export "memory"))', "", "exports no memory"),
    "a memory from elsewhere": ('(import "env" "memory" (memory 1))', "", "exports no memory"),
    "a name of 50,000 letters": (MEMORY + f"(func ${'x' * 50000} unreachable)", f"(call ${'x' * 50000})",
                                 "unreachable"),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_runs_or_is_refused_in_words(tmp_path, name):
    need_runner()
    fields, start, said = MODULES[name]
    source, module = tmp_path / "x.wat", tmp_path / "x.wasm"
    source.write_text(f'(module {fields} (func (export "_start") {start}))')
    maker("text", source, module)
    # The second time with the better compiler's code, if it could be compiled.
    for _ in range(2):
        switches = ["--memory=67108864", f"--cache={tmp_path}/cache"]
        check(driver.run_plainly([str(RUNNER), *switches, str(module)]), said)


def check(ended, said):
    if said:
        assert ended.code in (1, 134) and said in ended.stderr.decode(), ended.stderr
        assert len(ended.stderr) < 10000
    else:
        assert (ended.code, ended.stderr) == (0, b"")
