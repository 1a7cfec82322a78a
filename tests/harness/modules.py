"""WebAssembly modules of the tests, from tests/adapters/wasm_programs, and what runs them."""

import os
import pathlib

import pytest

from harness.bridge import BUILD
from harness.compiled import compile_wasm, has_wasm_compiler

SOURCES = pathlib.Path(__file__).resolve().parents[1] / "adapters" / "wasm_programs"
RESETS = ["rewind", "fork", "none"]
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


def maker(site, make):
    """Of programs in the site's cgi-bin, by module() or component(); what they need of [bridge] is in
    `.bridge`."""
    def made(name):
        return make(name, site.cgi_bin)
    made.bridge = f'cache = "{site.folder}/cache"\n'
    return made


def settings(site, reset="rewind", more=""):
    (site.folder / "data").mkdir(exist_ok=True)
    return (f'reset = "{reset}"\nmode = "persistent"\nworkers = {{ max = 3, spare = 1 }}\n'
            f'wasm = {{ dirs = {{ "/data" = "{site.folder}/data" }}, memory = "64MiB" {more} }}\n')


def start_warm(site, program, defaults, bridge, **request):
    """A bridge with the program warm."""
    running = site.start_bridge(defaults, bridge=bridge)
    running.request(program, **request)
    running.wait_warm(program)
    return running


def seen(answer):
    return answer.status, answer.head, answer.body, answer.app_status, answer.stderr
