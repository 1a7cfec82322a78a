"""Builds what the test sections need."""

import os
import subprocess
import time

import report
import sections
from parts import TOP

# The sanitized build, made by clang, also has the fuzz targets. What runs inside programs is C and is never
# sanitized: it is built by gcc, as it is shipped.
OPTIONS = {
    sections.PLAIN: ["-DCMAKE_BUILD_TYPE=RelWithDebInfo"],
    sections.SANITIZED: ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_COMPILER=gcc", "-DCMAKE_CXX_COMPILER=clang++",
                         "-DCGIBRIDGE_SANITIZE=ON", "-DCGIBRIDGE_FUZZ=ON",
                         # What is not sanitized is the same in both, and made once.
                         f"-DCGIBRIDGE_WASM_TARGET={TOP / sections.PLAIN / 'wasm'}",
                         f"-DCGIBRIDGE_GO_CACHE={TOP / sections.PLAIN / 'go-cache'}"],
}


class Failed(Exception):
    """The end of the output, and the command that failed."""


def make(wanted, folder):
    """Builds what these sections need; folder: for the logs. Returns [(name, seconds)] of the steps, or
    raises Failed."""
    steps = []
    for name in sections.builds_of(wanted):
        report.say(f"\n== {name}")
        begun = time.monotonic()
        configure_and_build(name, options(name, wanted), targets(name, wanted), folder / f"{name}.log")
        steps.append((f"build of {name}/", time.monotonic() - begun))
    return steps


def options(name, wanted):
    """What a section needs must be built; anything else is built only if this machine has what it needs."""
    tested = {"unit", "sanitize", "slow", "build"} & set(wanted)
    return ["-DCGIBRIDGE_WERROR=ON", *OPTIONS[name], *(["-DCGIBRIDGE_TESTS=ON"] if tested else []),
            *([] if only(wanted, "unit", "fuzz") else ["-DCGIBRIDGE_EXAMPLES=ON"])]


def targets(name, wanted):
    if name == sections.SANITIZED and only(wanted, "fuzz"):
        return ["fuzz_targets"]
    return ["unit_tests"] if only(wanted, "unit") else ["all"]


def only(wanted, *names):
    return not set(wanted) - {*names, "tidy"}


def configure_and_build(name, options, targets, log):
    attempt(["cmake", "-S", str(TOP), "-B", str(TOP / name), "-G", "Ninja", *options], log)
    build = ["cmake", "--build", str(TOP / name), "-j", str(os.cpu_count()), "--target", *targets]
    try:
        attempt(build, log)
    except Failed as failed:
        # A package has replaced headers by others, which are older than the build: only clang notices.
        if "since the precompiled header" not in str(failed):
            raise
        for header in (TOP / name).rglob("*.pch"):
            header.unlink()
        attempt(build, log)


def attempt(words, log):
    with log.open("ab") as output:
        status = subprocess.call(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=TOP)
    if status != 0:
        end = "\n".join(log.read_text(errors="replace").splitlines()[-60:])
        raise Failed(f"{end}\ntests/run: {' '.join(words)} ended with {status}; nothing was tested")
