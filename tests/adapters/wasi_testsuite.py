#!/usr/bin/python3
"""Runs WASI's own tests of preview 1 with cgibridge-wasm.

    git clone --depth 1 -b prod/testsuite-base https://github.com/WebAssembly/wasi-testsuite FOLDER
    tests/adapters/wasi_testsuite.py FOLDER [RUNNER]

Each is a module and a file that says what it is given and what it must answer: in fields, of which `root`
is the folder that the module has as "/", or older ones have `dirs`, which get a slash in front of their
names, because cgibridge-wasm wants one; or in a list of `operations`. Prints those that fail, then how many
passed; ends with 1 if one failed."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 30


def in_fields(wanted):
    """What a file says, whose form may be that of operations."""
    fields = {}
    for operation in wanted.get("operations", []):
        said = {name: value for name, value in operation.items() if name != "type"}
        if operation["type"] == "read":
            fields[said.get("id", "stdout")] = said.get("payload", "")
        elif operation["type"] in ("run", "wait"):
            fields |= said
        else:
            raise ValueError(f"its operation {operation['type']} is not known")
    return fields or wanted


def given_folder(place, original, name):
    """Makes a copy of a folder beside the module, or an empty one; the switch that gives it."""
    if original.exists():
        shutil.copytree(original, place, symlinks=True)
    else:
        place.mkdir()
    return f"--dir={name}={place}"


def run(runner, module):
    """Why it failed, or None."""
    file = module.with_suffix(".json")
    wanted = in_fields(json.loads(file.read_text()) if file.exists() else {})
    folders = {name: "/" + name for name in wanted.get("dirs", [])}
    words = [folders.get(word, word) for word in wanted.get("args", [])]
    if wanted.get("root"):
        folders[wanted["root"]] = "/"
    with tempfile.TemporaryDirectory() as scratch:
        switches = [given_folder(pathlib.Path(scratch) / name, module.parent / name, given)
                    for name, given in folders.items()]
        ended = subprocess.run([runner, *switches, str(module), *words], env=wanted.get("env", {}),
                               capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS)
    if ended.returncode != wanted.get("exit_code", 0):
        return f"exit code {ended.returncode}: {ended.stderr.decode(errors='replace')[-300:]}"
    for name, printed in ("stdout", ended.stdout), ("stderr", ended.stderr):
        if printed.decode() != wanted.get(name, printed.decode()):
            return f"printed {printed[:300]} to {name}"
    return None


def main():
    folder = pathlib.Path(sys.argv[1])
    runner = sys.argv[2] if len(sys.argv) > 2 else str(TOP / "build" / "adapters" / "cgibridge-wasm")
    modules = sorted(folder.glob("tests/*/testsuite/wasm32-wasip1/*.wasm"))
    failed = 0
    for module in modules:
        try:
            why = run(runner, module)
        except ValueError as error:
            why = str(error)
        if why:
            failed += 1
            print(f"{module.parts[-4]}/{module.stem}: {why}")
    print(f"{len(modules) - failed} passed, {failed} failed")
    return 1 if failed or not modules else 0


if __name__ == "__main__":
    sys.exit(main())
