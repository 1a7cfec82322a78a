"""WebAssembly components of the tests, and broken files: made of C programs and of nothing by wasm_maker,
which cargo builds at the first use."""

import functools
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from harness.bridge import BUILD
from harness.compiled import WASM_COMPILER, compile_wasm, has_wasm_compiler, make_once
from harness.modules import SOURCES, need_runner

TOP = pathlib.Path(__file__).resolve().parents[2]
MAKER_SOURCE = TOP / "tests" / "adapters" / "wasm_maker"
RUNNER_SOURCE = TOP / "adapters" / "wasm"


def cargo():
    """The cargo that the build uses, and the folder that it builds in. Skips where there is none."""
    need_runner()
    text = (BUILD / "CMakeCache.txt").read_text()
    cache = dict(re.findall(r"^(CGIBRIDGE_\w+):\w+=(.*)$", text, re.MULTILINE))
    if not shutil.which(cache.get("CGIBRIDGE_CARGO", "")):
        pytest.skip("cgibridge-wasm is not built here")
    return cache["CGIBRIDGE_CARGO"], pathlib.Path(cache["CGIBRIDGE_WASM_TARGET"])


@functools.cache
def maker():
    """The path of wasm-maker. Skips where cargo cannot fetch its crates."""
    tool, target = cargo()
    target = target / "maker"
    env = {**os.environ, "CARGO_TARGET_DIR": str(target)}

    def build(*switches):
        return subprocess.run([tool, "build", "--quiet", "--release", "--locked", *switches], env=env,
                              cwd=MAKER_SOURCE, capture_output=True, text=True)
    if build("--offline").returncode != 0:
        fetched = subprocess.run([tool, "fetch", "--locked"], cwd=MAKER_SOURCE, capture_output=True,
                                 text=True)
        if fetched.returncode != 0:
            pytest.skip("the crates of wasm_maker cannot be fetched: " + fetched.stderr.partition("\n")[0])
        built = build("--offline")
        assert built.returncode == 0, built.stderr
    return target / "release" / "wasm-maker"


# A program in C that includes NAME.h is not of preview 1, but of a world: the crate that has the interfaces
# of the world, their folder, and the world.
WORLDS = {
    "command": ("wasmtime-wasi", "src/p2/wit", "wasi:cli/command"),
    "bindings": ("wasmtime-wasi-http", "wit", "bindings"),
}


def component(name, folder):
    """Makes `folder`/NAME.wasm, a component of the source NAME: of a program in C, or of a text. Skips where
    a tool is missing."""
    need_compiler()
    source = next(path for folder in (SOURCES / "components", SOURCES) for path in folder.glob(name + ".*"))
    program = pathlib.Path(folder) / f"{name}.wasm"

    def make(path):
        if source.suffix == ".wat":
            run("text", source, path)
            return
        world = re.search(r'^#include "(\w+)\.h"', source.read_text(), re.MULTILINE)
        if world:
            make_of_world(path, source, world[1])
            return
        module = f"{path}.module"
        compile_wasm(module, source)
        run("component", module, path)
        os.unlink(module)
    make_once(program, [WASM_COMPILER, maker()], b"component" + source.read_bytes(), make)
    os.chmod(program, 0o644)
    return program


def make_of_world(path, source, name):
    """A component of a source with name.h, which is generated, as are the parts that it is linked with."""
    crate, wit, world = WORLDS[name]
    place = pathlib.Path(f"{path}.d")
    place.mkdir()
    run("bindings", folder_of(crate) / wit, world, place)
    parts = [place / f"{name}.c", place / f"{name}_component_type.o"]
    # What is generated is not for -Wall.
    subprocess.run([WASM_COMPILER, "--target=wasm32-wasi", "-O2", "-mexec-model=reactor", "-w", f"-I{place}",
                    source, *parts, "-o", place / "module"], check=True)
    run("component", place / "module", path, "reactor")
    shutil.rmtree(place)


def broken(seed, count, folder, *files):
    """Makes `folder`/0.wasm and so on, of that seed: random modules and components, whole and damaged, and
    damaged copies of the files."""
    run("broken", str(seed), str(count), folder, *files)


def run(*words):
    subprocess.run([maker(), *words], check=True)


def folder_of(crate):
    """Where the source is of a crate that the runner is built with."""
    tool, _ = cargo()
    words = [tool, "metadata", "--format-version=1", "--locked", "--offline"]
    told = subprocess.run(words, cwd=RUNNER_SOURCE, capture_output=True, text=True, check=True).stdout
    return pathlib.Path(re.search(rf'"manifest_path":"([^"]*/{crate}-[0-9][^"/]*)/Cargo.toml"', told)[1])


def need_compiler():
    if not has_wasm_compiler():
        pytest.skip("no compiler for WebAssembly: clang, lld, wasi-libc, libclang-rt-dev-wasm32, wabt")
