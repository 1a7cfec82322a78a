"""WebAssembly modules of the tests, from tests/adapters/wasm_programs, and what runs them."""

import os
import pathlib

import pytest

from harness.bridge import BUILD
from harness.compiled import compile_wasm, has_wasm_compiler

SOURCES = pathlib.Path(__file__).resolve().parents[1] / "adapters" / "wasm_programs"
RUNNER = BUILD / "adapters" / "cgibridge-wasm"


def need_runner():
    if not RUNNER.exists():
        pytest.skip("cgibridge-wasm is not built: cargo-web and rustc-web, or the crates, were missing")


def module(name, folder):
    """Makes `folder`/NAME.wasm of the source NAME, in C or as text; it has no x bit. Skips where no
    compiler for WebAssembly is."""
    need_runner()
    if not has_wasm_compiler():
        pytest.skip("no compiler for WebAssembly: clang, lld, wasi-libc, libclang-rt-dev-wasm32, wabt")
    source = next(SOURCES.glob(name + ".*"))
    program = pathlib.Path(folder) / f"{name}.wasm"
    compile_wasm(program, source)
    os.chmod(program, 0o644)
    return program
