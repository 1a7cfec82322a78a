"""Compiles the programs and libraries of tests. Many tests compile the same text, so what a compiler made is
kept in the build folder and copied from there."""

import hashlib
import os
import pathlib
import shutil
import subprocess

from harness.bridge import BUILD

KEPT = BUILD / "test-programs"
WASM_COMPILER = "/usr/bin/clang"


def compile_program(compiler, source, program, flags):
    """Makes `program` from the file `source`, as `compiler -o program source flags` would. It is a new file,
    even if it is a copy."""
    # What a newer gcc refuses is an error everywhere.
    strict = ["-Werror=implicit-function-declaration"] if str(source).endswith(".c") else []

    def compile_to(path):
        subprocess.run([compiler, "-o", path, source, *strict, *flags], check=True)

    text = pathlib.Path(source).read_bytes()
    # With a file of the test's own, the same words may mean something else the next time.
    if b'#include "' in text or any("/" in str(flag) and not str(flag).startswith("/usr/") for flag in flags):
        compile_to(program)
        return
    make_once(program, [compiler], repr(flags).encode() + text, compile_to)


def compile_library(source, library, *flags):
    """Makes a shared library from a C file, with compile_program."""
    compile_program("cc", source, library, ["-shared", "-fPIC", *flags])


def compile_go(program, sources, flags=(), with_libc=False, go="/usr/bin/go"):
    """Makes `program` from Go files, as `go build -o program flags sources` would. with_libc: cgo may be
    used, and then some packages of the standard library use it."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(pathlib.Path(program).parent), "GO111MODULE": "off",
                   "GOTOOLCHAIN": "local", "CGO_ENABLED": "01"[with_libc], "GOCACHE": str(BUILD / "go-cache")}

    def build_to(path):
        subprocess.run([go, "build", "-o", path, *flags, *sources], check=True, env=environment)
    texts = [pathlib.Path(source).read_bytes() for source in sources]
    make_once(program, [go, "cc"], repr((flags, with_libc, texts)).encode(), build_to)


def compile_wasm(module, source, flags=()):
    """Makes a WebAssembly module from a C file for WASI, or from a .wat file. Its packages may be missing:
    has_wasm_compiler()."""
    command = ["wat2wasm"] if str(source).endswith(".wat") else [WASM_COMPILER, "--target=wasm32-wasi", "-O2"]

    def compile_to(path):
        subprocess.run([*command, *flags, source, "-o", path], check=True)
    text = pathlib.Path(source).read_bytes()
    make_once(module, [command[0]], repr((command, flags)).encode() + text, compile_to)


def has_wasm_compiler():
    return (pathlib.Path("/usr/include/wasm32-wasi").exists() and
            all(shutil.which(tool) for tool in (WASM_COMPILER, "wasm-ld", "wat2wasm")))


def make_once(program, tools, key, make):
    """Makes `program` by make(path), or copies what was made with this key by these versions of the tools."""
    found = [(tool, os.stat(shutil.which(tool))) for tool in tools]
    versions = repr([(str(tool), stat.st_size, stat.st_mtime_ns) for tool, stat in found])
    kept = KEPT / hashlib.sha256(versions.encode() + key).hexdigest()
    if not kept.exists():
        # In a guest (tests/kernels) the build folder is read-only.
        if not os.access(BUILD, os.W_OK):
            make(program)
            return
        KEPT.mkdir(exist_ok=True)
        # Compilers name their own files after the part before the dot, so that differs in each process.
        fresh = f"{kept}-{os.getpid()}"
        make(fresh)
        os.rename(fresh, kept)
    # By another process: what a child of this one holds open to write cannot be executed.
    subprocess.run(["cp", "--remove-destination", kept, program], check=True)
