#!/usr/bin/python3
"""Runs WASI's own tests of preview 1 with cgibridge-wasm.

    git clone --depth 1 -b prod/testsuite-base https://github.com/WebAssembly/wasi-testsuite FOLDER
    tests/adapters/wasi_testsuite.py FOLDER [RUNNER]

Each is a module and a file that says what it is given and what it must answer. The folder that a module is
given gets a slash in front of its name, which cgibridge-wasm wants. Prints those that fail, then how many
passed; ends with 1 if one failed."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 30


def given_folder(name, module, scratch):
    """A copy of a folder beside the module, or an empty one; the switch that gives it."""
    place = pathlib.Path(scratch) / name
    if (module.parent / name).exists():
        shutil.copytree(module.parent / name, place, symlinks=True)
    else:
        place.mkdir()
    return f"--dir=/{name}={place}"


def run(runner, module):
    """Why it failed, or None."""
    file = module.with_suffix(".json")
    wanted = json.loads(file.read_text()) if file.exists() else {}
    folders = wanted.get("dirs", [])
    words = ["/" + word if word in folders else word for word in wanted.get("args", [])]
    with tempfile.TemporaryDirectory() as scratch:
        switches = [given_folder(name, module, scratch) for name in folders]
        ended = subprocess.run([runner, *switches, str(module), *words], env=wanted.get("env", {}),
                               capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS)
    if ended.returncode != wanted.get("exit_code", 0):
        return f"exit code {ended.returncode}: {ended.stderr.decode(errors='replace')[-300:]}"
    if ended.stdout.decode() != wanted.get("stdout", ended.stdout.decode()):
        return f"printed {ended.stdout[:300]}"
    return None


def main():
    folder = pathlib.Path(sys.argv[1])
    runner = sys.argv[2] if len(sys.argv) > 2 else str(TOP / "build" / "adapters" / "cgibridge-wasm")
    modules = sorted(folder.glob("tests/*/testsuite/wasm32-wasip1/*.wasm"))
    failed = 0
    for module in modules:
        if why := run(runner, module):
            failed += 1
            print(f"{module.parts[-4]}/{module.stem}: {why}")
    print(f"{len(modules) - failed} passed, {failed} failed")
    return 1 if failed or not modules else 0


if __name__ == "__main__":
    sys.exit(main())
