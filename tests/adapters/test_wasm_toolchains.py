"""One program, compiled to WebAssembly by each toolchain that is here, plain and warm in each reset. Its
packages: clang and libc++-dev-wasm32; Rust with the library for a target (CGIBRIDGE_TESTS_RUSTC tries
another rustc); Go 1.21 or later (CGIBRIDGE_TESTS_GO another go); TinyGo."""

import os
import pathlib
import re
import shutil
import subprocess

import driver
import pytest
from harness.bridge import BUILD
from harness.compiled import WASM_COMPILER, make_once
from harness.modules import RESETS, SOURCES, need_runner
from wasm import Programs, env_of

GUESTS = SOURCES / "toolchains"
RUSTC = [os.environ.get("CGIBRIDGE_TESTS_RUSTC"), "/usr/bin/rustc", pathlib.Path.home() / ".cargo/bin/rustc"]
GO = [os.environ.get("CGIBRIDGE_TESTS_GO"), "/usr/bin/go", "/usr/local/go/bin/go"]


def need_tool(which, suits, otherwise):
    """The first of these tools that suits."""
    for tool in which:
        if tool and shutil.which(tool) and suits(str(tool)):
            return str(tool)
    pytest.skip(otherwise)


def output_of(*words):
    return subprocess.run(words, capture_output=True, text=True).stdout.strip()


def cxx():
    tool = need_tool([WASM_COMPILER], lambda _: pathlib.Path("/usr/include/wasm32-wasi/c++").exists(),
                     "no C++ for WebAssembly: clang, lld, wasi-libc, libc++-dev-wasm32")
    return [tool, "--driver-mode=g++", "--target=wasm32-wasi", "-O2", "-fno-exceptions", GUESTS / "guest.cc"]


def rust(target):
    tool = need_tool(RUSTC, lambda rustc: os.path.isdir(
        output_of(rustc, "--print", "target-libdir", "--target", target) or "/no/such"),
        f"no rustc with the library for {target}: libstd-rust-dev-wasm32, or rustup target add {target}")
    return [tool, "--edition", "2021", "-O", "--target", target, GUESTS / "guest.rs"]


def go():
    tool = need_tool(GO, lambda go: tuple(map(int, re.search(r"go(\d+)\.(\d+)", output_of(go, "version"))
                                              .groups())) >= (1, 21), "no Go that knows wasip1 (1.21)")
    return [tool, "build", GUESTS / "guest.go"]


def tinygo():
    tool = need_tool(["tinygo"], lambda _: True, "no TinyGo")
    return [tool, "build", "-target=wasip1", GUESTS / "guest.go"]


TOOLCHAINS = {"c++": cxx, "go": go, "tinygo": tinygo, "rust-wasi": lambda: rust("wasm32-wasi"),
              "rust-wasip1": lambda: rust("wasm32-wasip1"),
              "rust-wasip2": lambda: rust("wasm32-wasip2")}


@pytest.fixture(params=TOOLCHAINS)
def guest(request, tmp_path):
    need_runner()
    command = [str(word) for word in TOOLCHAINS[request.param]()]
    # Go builds what is named last.
    before, source = command[:-1], command[-1]
    environment = {**os.environ, "GOOS": "wasip1", "GOARCH": "wasm", "GO111MODULE": "off",
                   "GOTOOLCHAIN": "local", "GOCACHE": str(BUILD / "go-cache")}

    def build(path):
        subprocess.run([*before, "-o", path, source], check=True, env=environment)

    def make(_, folder):
        program = folder / "guest.wasm"
        make_once(program, command[:1], repr(before).encode() + pathlib.Path(source).read_bytes(), build)
        program.chmod(0o644)
        return program
    programs = Programs(tmp_path, make)
    # wasi:cli/exit knows only success and failure, in what Rust calls.
    programs.code = (lambda code: min(code, 1)) if request.param == "rust-wasip2" else int
    return programs


def wanted_of(env, words, body):
    lines = ["Content-Type: text/plain\r", "\r", "Hello", *(f"word {word}" for word in words),
             *(f"variable {name}={value}" for name, value in sorted(env.items())),
             f"body {body}", "runs 1", "file by the guest", ""]
    return "\n".join(lines).encode()


@pytest.mark.parametrize("reset", ["", *RESETS])
def test_a_guest_of_each_toolchain_sees_its_request_and_no_other(guest, reset):
    def check(ask):
        for code in (0, 7, 255, 0):
            words, body = ["a", "b c", "=d"][:code % 4], f"grüße {code}\n" * (code * 10)
            env = env_of(str(code), HTTP_X=f"x{code}")
            answer = ask(words, env, body.encode())
            wanted = wanted_of(env, words, body), b"told\n", guest.code(code)
            assert (answer.stdout, answer.stderr, answer.code) == wanted
    argv = guest.argv("guest")
    if not reset:
        check(lambda words, env, body: driver.run_plainly([*argv, *words], env=env, body=body))
        return
    with guest.warm("guest", reset) as warm:
        check(lambda words, env, body: warm.ask(*words, env=env, body=body))
        assert warm.reset == reset, warm.weaker
        assert warm.workers == 1 or reset == "fork"
